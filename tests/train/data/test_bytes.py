"""The bytes behind bits per byte are those of the text as read, whatever a tokenizer makes of it."""

import csv
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer, ByT5Tokenizer, PreTrainedTokenizerFast

from tests.settings import corpus_settings
from ucurve.token_stream.order import Batches
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.data.store import build_token_store
from ucurve.training.run.run import train_run
from ucurve.training.tokenizer.vocabulary import count_unknown_bytes

TEXTS = [
    "the small dog sees  the cats .",
    "Ｔｈｅ ﬁne café — naïve",
    "天地玄黄，宇宙洪荒。",
    "tabs\tand  spaces ",
    "x",
]
LINES = [f"{text} {number}" for number in range(40) for text in TEXTS]
NORMALIZERS = {
    "none": None,
    "nfkc": normalizers.NFKC(),
    "nfd": normalizers.NFD(),
    "lowercase": normalizers.Lowercase(),
    "strip": normalizers.Strip(),
    "bert": normalizers.BertNormalizer(),
    "prepend": normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
}


def save(folder, tokenizer, trainer, unknown=None):
    tokenizer.train_from_iterator(LINES, trainer)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", unk_token=unknown).save_pretrained(
        folder
    )
    return folder


def byte_level(folder, normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return save(
        folder, tokenizer, trainers.BpeTrainer(vocab_size=300, special_tokens=["</s>"], initial_alphabet=alphabet)
    )


def like_llama(folder, normalizer=NORMALIZERS["prepend"]):
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    strip = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(strip)
    special = ["<unk>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    return save(folder, tokenizer, trainers.BpeTrainer(vocab_size=400, special_tokens=special), "<unk>")


def word_piece(folder, normalizer=NORMALIZERS["bert"]):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    return save(
        folder, tokenizer, trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]", "</s>"]), "[UNK]"
    )


def unigram(folder, normalizer=NORMALIZERS["nfkc"]):
    tokenizer = Tokenizer(models.Unigram())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=["</s>", "<unk>"], unk_token="<unk>")
    return save(folder, tokenizer, trainer, "<unk>")


def of_words(folder, normalizer=None):
    """Most words are unknown."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return save(
        folder, tokenizer, trainers.WordLevelTrainer(vocab_size=6, special_tokens=["</s>", "<unk>"]), "<unk>"
    )


def in_python(folder, _=None):
    """A tokenizer of Python's own, without offsets."""
    ByT5Tokenizer().save_pretrained(folder)
    return folder


KINDS = {make.__name__: make for make in (byte_level, like_llama, word_piece, unigram, of_words, in_python)}


def corpus_of(folder, lines, held_out):
    folder.mkdir(parents=True)
    (folder / "train.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "validation.txt").write_text("\n".join(held_out) + "\n", encoding="utf-8")
    return Corpus(corpus_settings(kind="text", path=str(folder), unit="line", holdout=None))


def size(lines):
    return sum(len(line.encode()) for line in lines)


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizers")
    there = {}

    def find(kind, normalizer):
        if (kind, normalizer) not in there:
            there[kind, normalizer] = KINDS[kind](folder / f"{kind}-{normalizer}", NORMALIZERS[normalizer])
        return there[kind, normalizer]

    return find


# Lines of text as a file has them: not empty, and each one line.
LINE = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1).filter(
    lambda text: text.strip()
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(sorted(KINDS)),
    normalizer=st.sampled_from(sorted(NORMALIZERS)),
    lines=st.lists(LINE, min_size=1, max_size=8),
)
def test_the_bytes_of_a_text_do_not_depend_on_the_tokenizer(
    tokenizers, tmp_path_factory, kind, normalizer, lines
):
    folder, held_out = tmp_path_factory.mktemp("any"), [f"{LINES[0]} and more", "another 天 line"]
    corpus = corpus_of(folder / "text", [*lines, *LINES], held_out)
    store = build_token_store(corpus, tokenizers(kind, normalizer), folder / "cache", processes=1)
    assert store.held_out.facts.bytes == size(held_out)
    # The targets of all positions but the first, which is a separator, are the whole text.
    whole = store.windows(np.array([0]), store.length)
    assert store.count_bytes(np.array([0]), whole) == pytest.approx(size([*lines, *LINES]), rel=1e-12)


def test_a_step_has_the_bytes_of_the_part_that_it_is_of(tokenizers, tmp_path):
    """Of a part whose tokens leave out the spaces, and of one whose tokens are all of the text."""
    texts = {"spaces": "a b c d e f g h", "dense": "abcdefgh"}
    folder = tokenizers("word_piece", "bert")
    for name, text in texts.items():
        corpus_of(tmp_path / name, [text] * 60, [text])
    parts = [
        {"name": name, "data": {"kind": "text", "path": str(tmp_path / name), "unit": "line"}} for name in texts
    ]
    corpus = Corpus(corpus_settings(kind="stages", parts=(parts[0] | {"tokens": 256}, parts[1])))
    batches = Batches.over(build_token_store(corpus, folder, tmp_path / "cache", processes=1), 0, 16, 8)
    pieces = AutoTokenizer.from_pretrained(folder)
    for step, text in ((1, texts["spaces"]), (4, texts["dense"])):
        windows = batches.of_step(step)
        tokens = np.count_nonzero(batches.store.token_bytes[windows[:, 1:]])
        of_a_token = len(text) / len(pieces(text, add_special_tokens=False)["input_ids"])
        assert batches.count_bytes(step, windows) / tokens == pytest.approx(of_a_token, rel=0.02)


def test_the_bytes_of_unknown_tokens_are_those_of_the_text_they_are_of(tokenizers):
    words = AutoTokenizer.from_pretrained(tokenizers("of_words", "none"))
    known = [token for token in words.get_vocab() if token not in ("</s>", "<unk>")]
    assert known
    assert count_unknown_bytes(words, [f"{known[0]} 玄x {known[0]}"]) == len("玄x".encode())
    assert count_unknown_bytes(words, []) == 0
    assert count_unknown_bytes(AutoTokenizer.from_pretrained(tokenizers("byte_level", "none")), ["玄x"]) == 0


def test_the_bytes_of_what_becomes_no_token_are_unknown_but_for_white_space():
    library = Tokenizer(models.BPE({"</s>": 0, "a": 1}, []))
    library.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=library, eos_token="</s>")
    assert count_unknown_bytes(tokenizer, ["a 玄 aa x", "a a"]) == len("玄x".encode())


@pytest.fixture(scope="module")
def six(tmp_path_factory):
    folder = tmp_path_factory.mktemp("six")
    return {kind: make(folder / kind) for kind, make in KINDS.items()}


def test_six_tokenizers_have_equal_bytes_in_what_a_run_writes(six, tmp_path, settings_of):
    held_out = [f"{text} held out" for text in TEXTS]
    corpus_of(tmp_path / "text", LINES, held_out)
    found = {}
    for kind, folder in six.items():
        given = [
            f"data.path={tmp_path / 'text'}",
            "data.unit=line",
            "tokenizer=hub",
            f"tokenizer.path={folder}",
            f"name={kind}",
        ]
        request = settings_of(*given, "tokens=256", "batch.sequences=2", "schedule.count=2")
        train_run(request)
        run = request.folder
        facts = json.loads((run / "run.json").read_text())["held_out"]
        for row in csv.DictReader((run / "held_out.csv").open()):
            nats = float(row["loss"]) * int(row["scored_tokens"])
            bits = (float(row["bits_per_byte"]) + float(row["separator_bits"])) * int(row["scored_bytes"])
            assert bits == pytest.approx(nats / np.log(2), rel=1e-9)
            assert int(row["scored_bytes"]) == facts["bytes"]
        steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        assert all(step["bits_per_byte"] > 0 and step["separator_bits"] >= 0 for step in steps)
        found[kind] = facts["bytes"], facts["unknown_bytes"] > 0.001 * facts["bytes"]
    assert {size for size, _ in found.values()} == {size(held_out)}
    assert found["of_words"][1]
    assert not found["byte_level"][1]
