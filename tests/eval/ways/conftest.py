"""Tiny models of every kind in local folders, pairs that are hard to cut, and the plain way to score them."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
)

from tests.settings import custom_benchmark, custom_columns
from ucurve.eval.run import score_model
from ucurve.eval.settings import score_settings

TEXTS = [
    "The dogs see a doghouse, and the dog barks.",
    "Gizonak etxea ikusi du eta emakumeak liburuak irakurtzen ditu.",
    "Mtoto huyu mdogo anayecheza ni mzuri sana.",
    "लड़का किताब पढ़ता है और लड़की सेब खाती है।",
    "Собака видит большой дом, а кошка спит.",
    "Flickan såg en höna i trädgården.",
    "我们在学校里看书。他们在家里吃饭。",
    "Le caf\u00e9 est tr\u00e8s bon.",
] * 3
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
SPREAD = {"initializer_range": 0.3}
DROPOUT = {"hidden_dropout_prob": 0.3, "attention_probs_dropout_prob": 0.3}
CAUSAL = ("gpt2", "gpt_neox", "llama", "bytes")
MASKED = ("bert", "xlm_roberta")
_END = "<|endoftext|>"

# condition, good, bad, region of good, region of bad: Latin with capitals and punctuation, Hindi with combining marks,
# Chinese without spaces, a text that NFKC changes, one text with two regions, a region with the spaces around it
PAIRS = [
    ("The dogs", "The dogs see a doghouse.", "The dogs sees a doghouse.", "9:12", "9:13"),
    ("The dogs", "The dogs see a doghouse.", "The dogs see the dog.", "15:23", "17:20"),
    ("लड़का किताब", "लड़का किताब पढ़ता है।", "लड़का किताब पढ़ती है।", "12:17", "12:17"),
    ("我们在", "我们在学校里看书。", "我们在学校里吃书。", "6:8", "6:7"),
    ("我", "我们看书。", "我他看书。", "1:4", "1:4"),
    ("Le cafe\u0301", "Le cafe\u0301 est \uff54\uff52e\u0300s bon.", "Le cafe\u0301 sont bon.", "8:11", "8:12"),
    ("Mtoto ", "Mtoto huyu ni mzuri.", "Mtoto hawa ni mzuri.", "5:11", "6:10"),
    ("Собака", "Собака видит дом.", "Собака видят дом.", "7:12", "7:12"),
]


def _byte_bpe(trim):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=420, initial_alphabet=alphabet, special_tokens=[_END], show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=_END, eos_token=_END, unk_token=_END)


def _bytes():
    tokenizer = Tokenizer(models.BPE({piece: place for place, piece in enumerate([_END, *_letters()])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=_END)


def _letters():
    return sorted(pre_tokenizers.ByteLevel.alphabet())


def _sentencepiece_bpe():
    """Build a tokenizer as Llama's: a mark before every word, and bytes where a character is not known."""
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    known = [text for text in TEXTS if "我" not in text]
    trainer = trainers.BpeTrainer(vocab_size=480, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(known, trainer)
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = state["added_tokens"][:3]  # bytes are pieces, no special tokens
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(state)), **names)


def _wordpiece():
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=260, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def _unigram():
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=220,
        special_tokens=special,
        unk_token="<unk>",
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names, mask_token="<mask>")


def _gpt2(vocabulary):
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=vocabulary, n_embd=32, n_layer=2, n_head=2, n_positions=512, **SPREAD)
    )


def _gpt_neox(vocabulary):
    return GPTNeoXForCausalLM(
        GPTNeoXConfig(vocab_size=vocabulary, max_position_embeddings=512, **SIZES, **SPREAD)
    )


def _llama(vocabulary):
    return LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, max_position_embeddings=512, **SIZES, **SPREAD))


def _bert(vocabulary):
    sizes = {"max_position_embeddings": 256, "pad_token_id": 0}
    return BertForMaskedLM(BertConfig(vocab_size=vocabulary, **sizes, **SIZES, **SPREAD, **DROPOUT))


def _xlm_roberta(vocabulary):
    sizes = {"max_position_embeddings": 258, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    return XLMRobertaForMaskedLM(XLMRobertaConfig(vocab_size=vocabulary, **sizes, **SIZES, **SPREAD, **DROPOUT))


BUILD = {
    "gpt2": (lambda: _byte_bpe(trim=False), _gpt2),
    "gpt_neox": (lambda: _byte_bpe(trim=True), _gpt_neox),
    "llama": (_sentencepiece_bpe, _llama),
    "bytes": (_bytes, _gpt_neox),
    "bert": (_wordpiece, _bert),
    "xlm_roberta": (_unigram, _xlm_roberta),
}


@pytest.fixture(scope="session")
def models_of(tmp_path_factory):
    """Give a model by its kind: its folder with unigram counts, its tokenizer as anyone loads it, and the model."""
    made = {}

    def make(kind):
        if kind not in made:
            make_tokenizer, make_model = BUILD[kind]
            tokenizer, folder = make_tokenizer(), tmp_path_factory.mktemp(kind)
            torch.manual_seed(0)
            model = make_model(len(tokenizer)).eval()
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            np.save(folder / "unigram_counts.npy", np.arange(len(tokenizer))[::-1] % 7)
            made[kind] = SimpleNamespace(
                kind=kind, folder=folder, tokenizer=AutoTokenizer.from_pretrained(folder), model=model
            )
        return made[kind]

    return make


@pytest.fixture(scope="session")
def custom(tmp_path_factory):
    """The hard pairs as a custom benchmark."""
    names = ("condition", "sentence_good", "sentence_bad", "region_good", "region_bad")
    path = tmp_path_factory.mktemp("custom") / "hard.jsonl"
    lines = [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in PAIRS]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {
        "benchmarks": ("custom",),
        "custom": custom_benchmark(path=path, name="hard", columns=custom_columns(condition="condition")),
    }


@pytest.fixture
def stored(tmp_path):
    """Score a model and give the stored table of a benchmark and scorer, the pairs, and the facts beside the table."""

    def score(subject, benchmark, scorer, /, **settings):
        out = tmp_path / "out"
        score_model(str(subject.folder), out, score_settings(**{"linking": ("lp",)} | settings))
        path = out / "eval" / benchmark / scorer / "step-0000001.parquet"
        facts = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        facts |= facts.pop("notes")
        pairs = pd.read_parquet(out / "eval" / benchmark / "pairs.parquet")
        return SimpleNamespace(table=pd.read_parquet(path), pairs=pairs, facts=facts, out=out)

    return score


# the plain way: one sentence and one token at a time, with all logits


def ids_of(subject, text):
    return subject.tokenizer(text, add_special_tokens=False)["input_ids"]


@torch.inference_mode()
def causal_scores(subject, text, start):
    """Log probability of every token; not a number for the first one without start token."""
    ids = ids_of(subject, text)
    read = torch.tensor([ids if start is None else [start, *ids]])
    logs = subject.model(input_ids=read).logits[0].double().log_softmax(-1)
    scores = [float(logs[place, token]) for place, token in enumerate(read[0, 1:])]
    return scores if start is not None else [float("nan"), *scores]


@torch.inference_mode()
def masked_scores(subject, text, within_words):
    tokenizer, ids = subject.tokenizer, ids_of(subject, text)
    framed = tokenizer(text)["input_ids"]
    words = words_by_marks(subject, ids)
    scores = []
    for place, token in enumerate(ids):
        row = torch.tensor([framed])
        row[0, 1 + place] = tokenizer.mask_token_id
        for later in range(place + 1, len(ids)):
            if within_words and words[later] == words[place]:
                row[0, 1 + later] = tokenizer.mask_token_id
        scores.append(float(subject.model(input_ids=row).logits[0, 1 + place].double().log_softmax(-1)[token]))
    return scores


def words_by_marks(subject, ids):
    """Number words by the marks of their pieces."""
    pieces = subject.tokenizer.convert_ids_to_tokens(ids)
    opens = [not piece.startswith("##") if subject.kind == "bert" else piece.startswith("▁") for piece in pieces]
    return np.cumsum(opens).tolist()


def characters_of(subject, text):
    """The places of the characters each token stands for, white space only for tokens of nothing else."""
    offsets = subject.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    places = []
    for first, end in offsets:
        held = set(range(first, end)) or {first - 1 if first and text[first - 1].isspace() else first}
        solid = {place for place in held if not text[place].isspace()}
        places.append(solid or held)
    return places


def counting(subject, text, span):
    """Say which tokens share a character with a span."""
    return [bool(held & set(range(*span))) for held in characters_of(subject, text)]


def log_unigrams(subject):
    """Log probabilities of the counts beside the model, one added to each but those of special tokens."""
    tokenizer = subject.tokenizer
    counts = np.load(subject.folder / "unigram_counts.npy") + 1.0
    special = {*tokenizer.all_special_ids} - ({tokenizer.unk_token_id} - {tokenizer.eos_token_id})
    return np.log(counts / sum(count for token, count in enumerate(counts) if token not in special))


def expected(subject, text, scores, counts, span):
    """What the table must hold of a sentence."""
    ids, unigrams = ids_of(subject, text), log_unigrams(subject)
    chosen = [place for place, counted in enumerate(counts) if counted]
    return {
        "lp": sum(scores[place] for place in chosen),
        "n": len(chosen),
        "unigram": sum(unigrams[ids[place]] for place in chosen),
        "unk": sum(ids[place] == subject.tokenizer.unk_token_id for place in chosen),
        "chars": span[1] - span[0],
        "bytes": len(text[slice(*span)].encode()),
    }


def check(result, oracle):
    """Compare every row of a stored table with ``oracle(pair, text, side)``."""
    assert result.table["pair"].tolist() == result.pairs["pair"].tolist()
    for pair, row in zip(result.pairs.to_dict("records"), result.table.to_dict("records"), strict=True):
        for side in ("good", "bad"):
            wanted = oracle(pair, pair[side], side)
            found = {name: row[f"{name}_{side}"] for name in wanted}
            assert found == pytest.approx(wanted, abs=2e-4), (pair["pair"], side)


@pytest.fixture(scope="session")
def plain():
    return SimpleNamespace(
        ids=ids_of,
        causal=causal_scores,
        masked=masked_scores,
        characters=characters_of,
        counting=counting,
        expected=expected,
        check=check,
    )
