import hashlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer, BertTokenizerFast, ByT5Tokenizer, PreTrainedTokenizerFast

from tests.hub_repositories import sentencepiece_model
from tests.settings import corpus_settings
from tests.settings import tokenizer_settings as usual_settings
from ucurve.errors import UserError
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.storage.files import new_file
from ucurve.templates.demo import training_text
from ucurve.training.tokenizer.build import (
    build_tokenizer,
    check_tokenizer,
    expected_vocabulary,
    say_script,
)
from ucurve.training.tokenizer.characters import contains_han, survey
from ucurve.training.tokenizer.folder import end_of_document, read_statistics, tokenizer_files
from ucurve.training.tokenizer.training import _learn, as_transformers, train_bpe, train_char, train_word
from ucurve.training.tokenizer.vocabulary import count_tokens, token_bytes, token_contents, vocabulary_size

ROOT = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("UCURVE_SHARED", ROOT.parent / "shared"))
TEXT = "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。\n天地 an <eos> <unk>\t天地、日月\n\n 日月 éé 🎈\r\n"

SPECIAL = {"<eos>", "<unk>"}
EOS, BOS = {"eos_token": "<eos>"}, {"bos_token": "<s>", "unk_token": "<unk>"}


def corpus_file(folder, text=TEXT, name="mini.txt"):
    path = folder / name
    path.write_bytes(text.encode())
    return corpus_settings(kind="text", path=str(path))


def tokenizer_settings(kind, **values):
    """Settings of a small tokenizer; ``char`` and ``word`` have every character."""
    sizes = {"word": 60, "bpe": 300}
    coverage = {"coverage": 1.0} if kind in ("char", "word") else {}
    return usual_settings(kind, **{"vocab_size": sizes.get(kind), **coverage, **values})


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The three kinds, trained on one text: kind -> (folder, tokenizer)."""
    root = tmp_path_factory.mktemp("built")
    corpus = corpus_file(root)
    folders = {
        kind: build_tokenizer(tokenizer_settings(kind), corpus, root / "out") for kind in ("char", "word", "bpe")
    }
    return {kind: (folder, load_tokenizer(folder)) for kind, folder in folders.items()}


def ids_of(tokenizer, text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


class TestRoundTrip:
    @pytest.mark.parametrize("kind", ["char", "word", "bpe"])
    @given(text=st.text(alphabet=sorted(set(TEXT))))
    @settings(max_examples=60, deadline=None)
    def test_text_of_the_corpus_comes_back_and_its_bytes_are_counted(self, built, kind, text):
        tokenizer = built[kind][1]
        ids = ids_of(tokenizer, text)
        assert tokenizer.decode(ids) == text
        assert token_bytes(tokenizer)[ids].sum() == len(text.encode())
        assert not set(ids) & {tokenizer.eos_token_id, tokenizer.unk_token_id}

    @given(text=st.text())
    @settings(max_examples=60, deadline=None)
    def test_bytes_cover_every_text(self, built, text):
        tokenizer = built["bpe"][1]
        ids = ids_of(tokenizer, text)
        assert tokenizer.decode(ids) == text
        assert token_bytes(tokenizer)[ids].sum() == len(text.encode())

    @pytest.mark.parametrize("kind", ["char", "word"])
    def test_unknown_character_is_unknown_and_has_no_bytes(self, built, kind):
        tokenizer = built[kind][1]
        ids = ids_of(tokenizer, "天鑫")
        assert ids[-1] == tokenizer.unk_token_id == 1
        assert token_bytes(tokenizer)[ids].tolist() == [3, 0]

    def test_report(self, built):
        for folder, _ in built.values():
            report = read_statistics(folder)["round_trip"]
            assert report["documents"] == {"checked": 1, "failed": 0, "examples": []}
            assert report["characters"] == {"checked": len(set(TEXT)), "failed": 0, "examples": []}


class TestFolder:
    def test_loads_as_an_ordinary_tokenizer_beside_a_model(self, built, tmp_path):
        for folder, tokenizer in built.values():
            beside = tmp_path / folder.name
            tokenizer.save_pretrained(beside)
            (beside / "config.json").write_text(json.dumps({"model_type": "gpt_neox"}))
            again = AutoTokenizer.from_pretrained(beside, local_files_only=True)
            assert ids_of(again, TEXT) == ids_of(tokenizer, TEXT)
            assert again.decode(ids_of(again, TEXT)) == TEXT
            assert again(TEXT)["input_ids"] == ids_of(again, TEXT)
            assert (again.eos_token_id, again.bos_token_id) == (0, 0)

    def test_name_and_content(self, built):
        folder = built["char"][0]
        assert folder.name.startswith("char-mini-")
        assert len(folder.name.removeprefix("char-mini-")) == 8
        assert {file.name for file in folder.iterdir()} == {
            "tokenizer.json",
            "tokenizer_config.json",
            "statistics.json",
        }

    def test_is_built_once_and_again_when_damaged(self, tmp_path):
        corpus, root = corpus_file(tmp_path), tmp_path / "out"
        folder = build_tokenizer(tokenizer_settings("char"), corpus, root)
        before = (folder / "tokenizer.json").stat().st_ino
        assert build_tokenizer(tokenizer_settings("char"), corpus, root) == folder
        assert (folder / "tokenizer.json").stat().st_ino == before
        (folder / "tokenizer.json").write_text("{}")
        build_tokenizer(tokenizer_settings("char"), corpus, root)
        assert load_tokenizer(folder).decode(ids_of(load_tokenizer(folder), TEXT)) == TEXT

    def test_folder_follows_corpus_and_settings(self, tmp_path):
        root = tmp_path / "out"
        one = build_tokenizer(tokenizer_settings("bpe"), corpus_file(tmp_path), root)
        two = build_tokenizer(tokenizer_settings("bpe", vocab_size=280), corpus_file(tmp_path), root)
        three = build_tokenizer(tokenizer_settings("bpe"), corpus_file(tmp_path, TEXT * 2), root)
        assert len({one, two, three}) == 3

    def test_nothing_is_left_of_a_failure(self, tmp_path):
        root = tmp_path / "out"
        with pytest.raises(UserError, match=r"vocab_size=9 is too small: tokenizer\.coverage=1\.0 makes"):
            build_tokenizer(tokenizer_settings("word", vocab_size=9), corpus_file(tmp_path), root)
        assert not root.exists()

    def test_folder_without_a_tokenizer(self, tmp_path):
        with pytest.raises(UserError, match="no tokenizer files"):
            load_tokenizer(tmp_path)


def test_what_another_run_is_writing_beside_a_tokenizer_is_no_part_of_it(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    whole = tokenizer_files(tmp_path)
    with new_file(tmp_path / "unigram_counts.npy") as temporary:
        temporary.write_bytes(b"half")
        assert tokenizer_files(tmp_path) == whole


class TestTable4:
    def test_char_and_word_have_the_same_single_characters(self, built):
        char, word = (count_tokens(built[kind][1]) for kind in ("char", "word"))
        assert char["single_character"] == word["single_character"] == sum(map(contains_han, set(TEXT)))
        assert char["multi_character"] == 0
        assert word["multi_character"] > 0
        assert char["all"] == len(set(TEXT)) + 2
        assert read_statistics(built["word"][0])["tokens"]["multi_character"] == word["multi_character"]

    def test_words_are_merged_within_runs_of_one_kind(self):
        text = "天地日月，。”Latin天地 2024年\n　　天地日月，。”Latin \n　　2024天地" * 9
        words = {token for token in train_word(survey([text], 10**6), 60).get_vocab() if len(token) > 1} - SPECIAL
        assert {"天地日月", "Latin", "2024", "，。”"} <= words
        kinds = ["天地日月年", "Latin", "2024", "，。”"]
        assert all(any(set(word) <= set(kind) for kind in kinds) for word in words)

    def test_merged_words_without_a_chinese_character_are_among_the_other_tokens(self):
        found = survey(["天地 玄黄, the 1999 天地 ... the 玄黄"] * 9, 10**6)
        counts = count_tokens(as_transformers(train_word(found, 60)))
        assert (counts["single_character"], counts["multi_character"]) == (4, 2)
        others = counts["all"] - counts["single_character"] - counts["multi_character"]
        single = sum(not contains_han(character) for character in found.counts)
        assert others == len(SPECIAL) + single + len(["th", "the", "99", "19", "1999", "..", "..."])

    def test_byte_level_tokens_are_counted_by_the_text_they_stand_for(self):
        tokenizer = train_bpe(survey(["天地 日 日 天地 日"] * 9, 10**6), 300)
        fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **EOS)
        texts = {content.decode(errors="replace") for content in token_contents(fast) if content}
        assert {"天地", " 日"} <= texts
        counts = count_tokens(fast)
        contained = [text.strip() for text in texts if contains_han(text) and "\ufffd" not in text]
        assert counts["single_character"] == sum(len(text) == 1 for text in contained) > 0
        assert counts["multi_character"] == sum(len(text) > 1 for text in contained) > 0

    def test_a_token_of_byte_level_bpe_that_is_not_made_of_bytes_stands_for_itself(self):
        pipeline = json.loads(train_bpe(survey(["天地"] * 9, 10**6), 300).to_str())
        pipeline["model"]["vocab"]["[未]"] = 300
        fast = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(pipeline)), **EOS)
        assert token_contents(fast)[300] == "[未]".encode()

    @pytest.mark.parametrize("character", "一鿿㐀々〇⺀豈𠀀𲎯")
    def test_chinese_characters(self, character):
        assert contains_han(character)

    @pytest.mark.parametrize("character", "，。ａかカ가a1・「\n　")
    def test_other_characters(self, character):
        assert not contains_han(character)


class TestTraining:
    def test_characters_are_all_there_and_the_commonest_come_first(self):
        tokenizer = train_char(survey(["bca", "cb", "c"], 1), coverage=1)
        vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
        assert [token for token, _ in vocabulary] == ["<eos>", "<unk>", "c", "b", "a"]

    @pytest.mark.parametrize(
        ("coverage", "kept"), [(None, "cb"), (0.5, "c"), (0.51, "cb"), (0.8, "cb"), (0.9, "cba"), (1, "cba")]
    )
    def test_coverage_chooses_the_commonest_characters(self, coverage, kept):
        found = survey(["bca", "cb", "c"], 1)
        assert found.choose_characters(coverage) == [*kept]
        unknown = found.count_unknown([*kept])
        assert (unknown.kinds, unknown.characters) == (3 - len(kept), {"c": 3, "cb": 1, "cba": 0}[kept])

    @pytest.mark.parametrize("kind", ["char", "word"])
    def test_characters_seen_once_are_unknown_and_counted(self, tmp_path, capsys, kind):
        corpus = corpus_file(tmp_path, "天地玄黄宇\n天地玄黄宙\n天地玄黄\n")
        folder = build_tokenizer(tokenizer_settings(kind, coverage=None), corpus, tmp_path / "out")
        tokenizer = load_tokenizer(folder)
        assert ids_of(tokenizer, "宇宙") == [tokenizer.unk_token_id] * 2
        assert read_statistics(folder)["unknown"] == {"kinds": 2, "characters": 2, "share": 2 / 17}
        assert (
            "2 of 7 different characters are unknown (tokenizer.coverage), 11.8 % of" in capsys.readouterr().err
        )

    @pytest.mark.long
    def test_web_text_leaves_merges_and_a_coverage_that_does_not_fit_is_refused(self):
        han, others = [chr(0x4E00 + n) for n in range(20_991)], [chr(0xAC00 + n) for n in range(5_000)]
        lines = ["".join(han[n : n + 40]) for n in range(0, len(han), 40)] + ["".join(others)]
        found = survey([*lines, *lines, "天地玄黄" * 50_000], 10**6)
        vocabulary = train_word(found, 20_276).get_vocab()
        assert len(vocabulary) <= 20_276
        assert "天地玄黄" in vocabulary
        assert sum(len(token) == 1 for token in vocabulary) == 20_276 * 3 // 4
        assert train_char(found).get_vocab_size() == 25_991 + len(SPECIAL)
        with pytest.raises(UserError, match=r"coverage=1 makes 25991 characters tokens.*at least 25993"):
            train_word(found, 20_276, coverage=1)

    def test_word_size_that_knows_less_than_half_of_the_text(self):
        with pytest.raises(
            UserError, match="vocab_size=8 is too small: its 6 commonest characters are only 30 % of"
        ):
            train_word(survey(["天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往"] * 2, 10**6), 8)

    def test_both_halves_of_a_corpus_contribute_merges(self):
        chance = random.Random(0)
        halves = [
            ["".join(chance.choices(two, k=20)) for _ in range(500)] for two in (["天地", "玄"], ["日月", "盈"])
        ]
        found = survey([*halves[0], *halves[1]], 4_000)
        assert sum(map(len, found.sample)) <= 4_000
        assert {"天地", "日月"} <= {*train_word(found, 30).get_vocab()}

    def test_word_size_is_reached_and_not_passed(self):
        generator = random.Random(5)
        text = "".join(chr(generator.randrange(0x4E00, 0x4E40)) for _ in range(4000))
        assert train_word(survey([text], 10**6), 200).get_vocab_size() == 200

    def test_ctrl_c_does_not_wait_until_the_merges_are_learned(self):
        finished = []

        class Slow:
            def train_from_iterator(self, *_):  # compiled code, as the library's, that no signal ends
                hashlib.pbkdf2_hmac("sha256", b"", b"", 3_000_000)
                finished.append(True)

        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            _learn(Slow(), survey(["x"], 1), None)
        assert not finished

    def test_byte_level_size_that_does_not_hold_the_bytes(self):
        with pytest.raises(UserError, match="vocab_size=256 is too small: byte-level BPE needs 257"):
            train_bpe(survey(["x"], 1), 256)
        with pytest.raises(UserError, match="vocab_size=256 is too small"):  # before the corpus is read
            check_tokenizer(tokenizer_settings("bpe", vocab_size=256))

    @given(texts=st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=40), bound=st.integers(1, 60))
    @settings(deadline=None)
    def test_survey_counts_everything_and_samples_evenly(self, texts, bound):
        found = survey(iter(texts), bound)
        assert (found.documents, found.characters) == (len(texts), sum(map(len, texts)))
        assert found.counts == {c: "".join(texts).count(c) for c in set("".join(texts))}
        assert list(found.counts.values()) == sorted(found.counts.values(), reverse=True)
        assert any(list(found.sample) == texts[:: 2**n] for n in range(7))
        assert sum(map(len, found.sample)) <= bound or len(found.sample) == 1

    @pytest.mark.parametrize("kind", ["char", "word", "bpe"])
    def test_two_processes_give_the_same_bytes(self, tmp_path, kind):
        generator = random.Random(1)
        lines = ["".join(chr(generator.randrange(0x4E00, 0x4E30)) for _ in range(12)) for _ in range(300)]
        corpus_file(tmp_path, "\n".join(lines))
        content = [self.trained_elsewhere(tmp_path, kind, seed) for seed in (1, 2)]
        assert content[0] == content[1]

    def trained_elsewhere(self, folder, kind, seed):
        code = (
            "import sys; from pathlib import Path; from ucurve.training.tokenizer.characters import survey; from ucurve.training.tokenizer.training "
            "import train; text = Path(sys.argv[1]).read_text(); sys.stdout.write(train(sys.argv[2], "
            "survey(text.split(), 10**6), 400).to_str())"
        )
        variables = os.environ | {"PYTHONHASHSEED": str(seed), "RAYON_NUM_THREADS": str(seed)}
        command = [sys.executable, "-c", code, str(folder / "mini.txt"), kind]
        return subprocess.run(command, capture_output=True, check=True, cwd=ROOT, env=variables).stdout


def save_sentence_piece(folder, **specials):
    vocabulary = {"<s>": 0, "<unk>": 1, "▁": 2, "中": 3, "▁a": 4, "a": 5} | {
        f"<0x{n:02X}>": 6 + n for n in range(256)
    }
    tokenizer = Tokenizer(models.BPE(vocabulary, [("▁", "a")], byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens(["<s>"])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **specials)
    fast.save_pretrained(folder)
    return folder


def unigram_lines():
    chance = random.Random(0)
    words = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyzé</>", k=chance.randint(2, 8))) for _ in range(300)
    ]
    return [" ".join(chance.choices(words, k=8)) for _ in range(300)]


def unigram_model(lines, **options):
    model = io.BytesIO()
    options = {"vocab_size": 200, "hard_vocab_limit": False, "minloglevel": 2} | options
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, **options)
    return model.getvalue()


def save_bert(folder):
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "中", "play", "##ing", "a"]
    BertTokenizerFast(vocab={token: n for n, token in enumerate(vocabulary)}).save_pretrained(folder)
    return folder


class TestForeign:
    def build(self, tmp_path, source, text=TEXT, **keys):
        values = tokenizer_settings("hub", name="mine", path=str(source), **keys)
        return build_tokenizer(values, corpus_file(tmp_path, text), tmp_path / "out")

    def test_byte_fallback_and_space_marks(self, tmp_path):
        folder = self.build(tmp_path, save_sentence_piece(tmp_path / "source", **BOS), "中 a\n¡")
        tokenizer = load_tokenizer(folder)
        assert folder.name.startswith("mine-mini-")
        assert end_of_document(tokenizer) == 0
        ids = ids_of(tokenizer, "中 a\n¡")
        assert token_bytes(tokenizer)[ids].tolist() == [3, 2, 1, 1, 1]
        assert token_bytes(tokenizer)[:6].tolist() == [0, 0, 1, 3, 2, 1]
        assert read_statistics(folder)["tokens"] == {"all": 262, "single_character": 1, "multi_character": 0}

    @pytest.mark.parametrize("named", [True, False])
    def test_ids_are_sentencepieces_own_whether_or_not_a_class_is_named(self, tmp_path, named):
        source, lines = tmp_path / "source", list(islice(training_text(), 300))
        source.mkdir()
        content = sentencepiece_model(lines)
        (source / "tokenizer.model").write_bytes(content)
        if named:
            (source / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "LlamaTokenizer"}))
        tokenizer = load_tokenizer(self.build(tmp_path, source))
        theirs = sentencepiece.SentencePieceProcessor(model_proto=content)
        lines += ["鑫森淼 é 🎈", "两个  空格 ", "<s>不是</s>记号", "2024年12月"]
        assert [ids_of(tokenizer, line) for line in lines] == theirs.encode(lines)
        assert (tokenizer.unk_token_id, tokenizer.bos_token_id, end_of_document(tokenizer)) == (
            0,
            1,
            theirs.eos_id(),
        )

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"byte_fallback": True, "vocab_size": 600},
            {"remove_extra_whitespaces": False, "normalization_rule_name": "identity"},
            {"add_dummy_prefix": False},
            {"user_defined_symbols": "ZZ"},
        ],
    )
    def test_a_unigram_model_alone_gives_the_ids_of_sentencepiece(self, tmp_path, options):
        lines = unigram_lines()
        content = unigram_model(lines, **options)
        (tmp_path / "mine.model").write_bytes(content)
        tokenizer = load_tokenizer(self.build(tmp_path, tmp_path / "mine.model"))
        theirs = sentencepiece.SentencePieceProcessor(model_proto=content)
        lines += ["  two  spaces ", "Ünï 天 x", "ﬁ ２", "tab\tand\nline", "qZZ a", "a</s>b"]
        assert [ids_of(tokenizer, line) for line in lines] == theirs.encode(lines)
        assert (tokenizer.unk_token_id, end_of_document(tokenizer)) == (0, theirs.eos_id())
        assert tokenizer.decode(ids_of(tokenizer, lines[0])) == lines[0]

    @pytest.mark.parametrize("kind", ["char", "word"])
    def test_another_kind_of_sentencepiece_model_is_refused(self, tmp_path, kind):
        lines = [f"{one} <" for one in unigram_lines()]
        (tmp_path / "mine.model").write_bytes(unigram_model(lines, model_type=kind))
        with pytest.raises(UserError, match="a SentencePiece model that is neither BPE nor unigram"):
            self.build(tmp_path, tmp_path / "mine.model")

    def test_a_file_is_taken_as_its_folder_would_be(self, tmp_path):
        source = save_sentence_piece(tmp_path / "source", **BOS)
        folder = self.build(tmp_path, source / "tokenizer.json")
        assert tokenizer_files(folder) == tokenizer_files(self.build(tmp_path, source))
        (tmp_path / "elsewhere.json").write_bytes((source / "tokenizer.json").read_bytes())
        with pytest.raises(UserError, match=r"elsewhere\.json does not say which token .*special tokens: <s>"):
            self.build(tmp_path, tmp_path / "elsewhere.json")

    def test_a_file_that_is_no_tokenizer(self, tmp_path):
        (tmp_path / "notes.txt").write_text("no model")
        with pytest.raises(UserError, match=r"^\S*notes\.txt: not a SentencePiece model"):
            self.build(tmp_path, tmp_path / "notes.txt")

    @pytest.mark.parametrize(
        "model",
        [models.WordLevel({"</s>": 0, "中": 1}), models.Unigram([("</s>", 0.0), ("中", -1.0)])],
        ids=["word level", "unigram"],
    )
    def test_one_without_a_token_for_unknown_text(self, tmp_path, model):
        fast = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(model), eos_token="</s>")
        fast.save_pretrained(tmp_path / "source")
        with pytest.raises(UserError, match=r"source: the tokenizer has no token for text that it does not know"):
            self.build(tmp_path, tmp_path / "source", "中")

    def test_a_document_token_that_is_named(self, tmp_path):
        source = save_sentence_piece(tmp_path / "source")
        with pytest.raises(UserError, match=r"document_token=</s>: no token of .*Did you mean '<s>'"):
            self.build(tmp_path, source, document_token="</s>")
        tokenizer = load_tokenizer(self.build(tmp_path, source, document_token="<s>"))
        assert end_of_document(tokenizer) == 0
        assert 0 not in ids_of(tokenizer, "<s>")
        assert self.build(tmp_path, source, document_token="<s>") != self.build(
            tmp_path, source, document_token="a"
        )

    def test_text_is_never_read_as_a_special_token(self, tmp_path):
        folder = self.build(tmp_path, save_sentence_piece(tmp_path / "source", **BOS))
        tokenizer = load_tokenizer(folder)
        ids = ids_of(tokenizer, "<s>")
        assert 0 not in ids
        assert tokenizer.decode(ids) == "<s>"

    def test_is_the_same_wherever_it_came_from_and_whatever_weights_lie_beside_it(self, tmp_path):
        sources = [save_bert(tmp_path / name / "source") for name in ("one", "two")]
        (sources[1] / "model.safetensors").write_bytes(b"weights")
        folders = [self.build(source.parent, source) for source in sources]
        assert folders[0].name == folders[1].name
        assert tokenizer_files(folders[0]) == tokenizer_files(folders[1])

    def test_what_does_not_round_trip_is_reported(self, tmp_path):
        folder = self.build(tmp_path, save_bert(tmp_path / "source"), "中a 丙")
        tokenizer = load_tokenizer(folder)
        assert end_of_document(tokenizer) == tokenizer.sep_token_id == 3
        assert token_bytes(tokenizer).tolist() == [0, 0, 0, 0, 0, 3, 4, 3, 1]
        report = read_statistics(folder)["round_trip"]
        assert report["documents"]["failed"] == 1
        assert report["documents"]["examples"] == [{"text": "a 丙", "decoded": " a [UNK]"}]
        assert (report["characters"]["checked"], report["characters"]["failed"]) == (4, 2)

    def test_python_tokenizer(self, tmp_path):
        ByT5Tokenizer(extra_ids=0).save_pretrained(tmp_path / "source")
        tokenizer = load_tokenizer(self.build(tmp_path, tmp_path / "source", "aé中"))
        assert not tokenizer.is_fast
        assert token_bytes(tokenizer)[ids_of(tokenizer, "aé中")].tolist() == [1] * 6

    def test_tokenizer_that_cannot_separate_documents(self, tmp_path):
        with pytest.raises(UserError, match=r"source does not say which token .*document_token=TOKEN"):
            self.build(tmp_path, save_sentence_piece(tmp_path / "source"))

    def test_hub_out_of_reach(self, tmp_path, monkeypatch):
        def fail(*_, **__):
            raise OSError("no network")

        monkeypatch.setattr("ucurve.training.tokenizer.folder.fetch", fail)
        message = r"tokenizer\.path: no folder 'owner/name' here, and the hub does not give it \(no net"
        with pytest.raises(UserError, match=message):
            self.build(tmp_path, "owner/name")

    def test_ids_with_holes(self):
        tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 7}))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
        assert vocabulary_size(fast) == 8
        assert token_bytes(fast).tolist() == [1, 0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("gpt2", "gpt2"),
        ("EleutherAI/pythia-14m", "pythia_14m"),
        ("mine/tokenizer.json", "mine"),
        ("runs/14m-4M-char-nl-s0/tokenizer", "14m_4M_char_nl_s0"),
        ("spm/wiki.unigram.model", "wiki_unigram"),
        ("tokenizer.model", "tokenizer"),
    ],
)
def test_a_tokenizer_is_named_after_its_path(path, name):
    assert usual_settings("hub", path=path, name=None).name == name


@pytest.mark.parametrize(
    ("text", "share"), [("the cat sleeps", "100%"), ("猫在睡觉", None), ("猫在睡觉 cat dogs", "64%")]
)
def test_the_script_that_the_default_is_made_for_is_said(tmp_path, capsys, text, share):
    say_script.cache_clear()
    corpus = corpus_file(tmp_path, text)
    say_script(tokenizer_settings("hub", name="cllama", path="hfl/chinese-llama-lora-7b"), corpus)
    say_script(tokenizer_settings("char"), corpus)
    said = capsys.readouterr().err
    assert (share is None and said == "") or f"made for Chinese and fetched from the hub; {share} of" in said


class TestExpectedVocabulary:
    def expected(self, settings, corpus, root):
        return expected_vocabulary(settings, corpus, root)

    def test_of_a_tokenizer_that_is_built_and_one_that_is_not(self, tmp_path):
        corpus, root, size = corpus_file(tmp_path), tmp_path / "out", len(set(TEXT)) + 2
        wanted = tokenizer_settings("char", vocab_size=12142)
        note = "(expected by all of the text; the tokenizer is not built yet)"
        assert self.expected(wanted, corpus, root) == (size, note)
        assert not root.exists()
        folder = build_tokenizer(wanted, corpus, root)
        assert self.expected(wanted, corpus, root) == (size, f"(of {folder})")
        masked = expected_vocabulary(wanted, corpus, root, with_mask=True)
        assert masked == (size + 1, f"(of {folder})")

    def test_of_a_text_that_is_not_here(self, tmp_path):
        wanted = tokenizer_settings("char", vocab_size=12142)
        corpus = corpus_settings(kind="hub", dataset="owner/name")
        note = "(expected; the tokenizer is not built yet)"
        assert self.expected(wanted, corpus, tmp_path) == (12142, note)

    def test_without_a_corpus(self, tmp_path):
        assert self.expected(tokenizer_settings("word"), corpus_settings(kind="text"), tmp_path)[0] == 60

    @pytest.mark.parametrize("expected", [None, 60])
    def test_of_a_folder_that_is_here(self, tmp_path, expected):
        wanted = tokenizer_settings(
            "hub", name="mine", path=str(save_bert(tmp_path / "bert")), vocab_size=expected
        )
        found = self.expected(wanted, corpus_file(tmp_path), tmp_path / "out")
        assert found == (9, f"(of {tmp_path / 'bert'})")
        assert self.expected(wanted, corpus_settings(kind="text"), tmp_path / "out") == found
        assert not (tmp_path / "out").exists()

    def test_of_a_folder_that_cannot_be_read(self, tmp_path):
        save_bert(tmp_path / "bert")
        (tmp_path / "bert/tokenizer.json").write_text("{")
        wanted = tokenizer_settings("hub", name="mine", path=str(tmp_path / "bert"))
        with pytest.raises(UserError, match=r"bert: .*tokenizer"):
            self.expected(wanted, corpus_file(tmp_path), tmp_path / "out")

    def test_unknown_size(self, tmp_path):
        with pytest.raises(
            UserError, match=r"tokenizer=mine is not built yet and tokenizer\.vocab_size is not set"
        ):
            wanted = tokenizer_settings("hub", name="mine", path="some/id")
            self.expected(wanted, corpus_settings(kind="text"), tmp_path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "hub"}, "path: no tokenizer given"),
        ({"kind": "char", "path": "x"}, "path is for tokenizer=hub only; this is tokenizer.kind=char"),
        ({"kind": "word", "vocab_size": None}, "vocab_size: no value given; tokenizer=word needs one"),
        (
            {"kind": "bpe", "coverage": 0.9},
            "coverage is for tokenizer=char and word only; this is tokenizer.kind=bpe",
        ),
        ({"kind": "char", "coverage": 0}, "coverage: got 0"),
        ({"kind": "chars"}, "kind: got 'chars'"),
        ({"kind": "bpe", "vocab_size": 0}, "vocab_size: got 0"),
        ({"kind": "bpe", "name": "a-b"}, "name: got 'a-b'"),
    ],
)
def test_settings_that_are_not_allowed(values, message):
    with pytest.raises(UserError, match=message):
        tokenizer_settings(**values)


@pytest.mark.skipif(
    not (SHARED / "benchmarks" / "zhoblimp").is_dir(), reason="needs ../shared/benchmarks/zhoblimp"
)
def test_characters_split_the_published_pairs_as_published():
    files = sorted((SHARED / "benchmarks" / "zhoblimp").glob("*.jsonl"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    pairs = [(json.loads(line)["sentence_good"], json.loads(line)["sentence_bad"]) for line in lines]
    tokenizer = train_char(survey((text for pair in pairs for text in pair), 1))
    encoded = tokenizer.encode_batch_fast([text for pair in pairs for text in pair], add_special_tokens=False)
    lengths = np.array([len(one.ids) for one in encoded]).reshape(-1, 2)
    difference = lengths[:, 0] - lengths[:, 1]
    assert [int((difference == 0).sum()), int((difference > 0).sum()), int((difference < 0).sum())] == [
        23347,
        6198,
        5855,
    ]
