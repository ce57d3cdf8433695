"""Tokenizer folders whose class and ``tokenizer.json`` do not agree: every class of a list with every pipeline."""

import json
from functools import cache
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

END, UNKNOWN = "<|endoftext|>", "<unk>"
CLASSES = {  # the type of model that config.json beside it has; None for a folder of a tokenizer alone
    "GPT2Tokenizer": "llama",
    "GPT2TokenizerFast": "gpt2",
    "GPTNeoXTokenizerFast": "gpt_neox",
    "CodeGenTokenizer": "phi",
    "Qwen2Tokenizer": "qwen3",
    "CohereTokenizerFast": "cohere",
    "LlamaTokenizer": "mistral",
    "LlamaTokenizerFast": None,
    "T5Tokenizer": "t5",
    "XLMRobertaTokenizer": "xlm-roberta",
    "CamembertTokenizer": "camembert",
    "DebertaV2Tokenizer": "deberta-v2",
    "XGLMTokenizer": "xglm",
    "NllbTokenizer": "m2m_100",
    "BertTokenizer": "bert",
    "RobertaTokenizerFast": "roberta",
    "MPNetTokenizerFast": "mpnet",
    "BloomTokenizerFast": "bloom",
    "PreTrainedTokenizerFast": "olmo2",
    "TokenizersBackend": None,
}
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
TRAINING = [
    "In 2023 the Dog saw 12345 cats, and they'd left.",
    "The café isn't far; où sont les élèves?",
    '"Dogs (cats) see" it .\n\nThe dog sees it.',
    "他说：“我们去看ABC，好吗？”今天天气很好。",
]
TEXTS = [
    'He said "Dogs (cats) see it" .',
    "They WEREN'T there , said  1984 .",
    " ﬁve ＡＢＣ dogs，see it",
    "Les e\u0301le\u0300ves ÉTAIENT à l'école.\n\nOui !",
    "我們今天去看12345隻貓🐈。",
    "x\ty  z ",
    f"a{END}b {UNKNOWN} <s>c</s> [MASK]",
    "▁a <0x41> ##ing </w>",
]


def _bytes(prefix: bool = False, regex: bool = True):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)


_SPACES = {
    "always": pre_tokenizers.Metaspace(prepend_scheme="always"),
    "never": pre_tokenizers.Metaspace(prepend_scheme="never"),
}
_WORDS = pre_tokenizers.BertPreTokenizer()
_CASED = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
_WIDTHS = normalizers.NFKC()
PIPELINES = {  # model, normalizer, pre-tokenizer, decoder
    "bytes": ("bpe", None, _bytes(), decoders.ByteLevel()),
    "bytes-prefix": ("bpe", None, _bytes(prefix=True), decoders.ByteLevel()),
    "bytes-lowercase": ("bpe", normalizers.Lowercase(), _bytes(), decoders.ByteLevel()),
    "bytes-nfkc": ("bpe", _WIDTHS, _bytes(), decoders.ByteLevel()),
    "bytes-cl100k": (
        "bpe",
        None,
        pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(_SPLIT), "isolated"), _bytes(regex=False)]),
        decoders.ByteLevel(),
    ),
    "bytes-digits": (
        "bpe",
        None,
        pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), _bytes()]),
        decoders.ByteLevel(),
    ),
    "spaces-prefix": ("bpe", None, _SPACES["always"], decoders.Metaspace(prepend_scheme="always")),
    "spaces-nfkc": ("bpe", _WIDTHS, _SPACES["never"], decoders.Metaspace(prepend_scheme="never")),
    "llama-2": (
        "fallback",
        normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
        None,
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
    ),
    "unigram": ("unigram", _WIDTHS, _SPACES["always"], decoders.Metaspace(prepend_scheme="always")),
    "unigram-lowercase": ("unigram", normalizers.Lowercase(), _SPACES["never"], decoders.Metaspace()),
    "wordpiece-cased": ("wordpiece", _CASED, _WORDS, decoders.WordPiece()),
    "wordpiece-uncased": ("wordpiece", normalizers.BertNormalizer(), _WORDS, decoders.WordPiece()),
    "words": ("words", None, pre_tokenizers.Whitespace(), None),
    "word-ends": ("suffix", normalizers.NFD(), pre_tokenizers.WhitespaceSplit(), decoders.BPEDecoder()),
}


@cache
def pipeline_text(name: str) -> str:
    """Return the ``tokenizer.json`` of a pipeline, trained on a few lines."""
    model, normalizer, splitter, decoder = PIPELINES[name]
    special = {"special_tokens": [UNKNOWN, END], "show_progress": False}
    alphabet = pre_tokenizers.ByteLevel.alphabet() if name.startswith("bytes") else []
    base, trainer = {
        "bpe": (
            models.BPE(unk_token=UNKNOWN),
            trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, **special),
        ),
        "fallback": (
            models.BPE(unk_token=UNKNOWN, byte_fallback=True, fuse_unk=True),
            trainers.BpeTrainer(vocab_size=420, initial_alphabet=[], **special),
        ),
        "suffix": (
            models.BPE(unk_token=UNKNOWN, end_of_word_suffix="</w>"),
            trainers.BpeTrainer(vocab_size=200, end_of_word_suffix="</w>", **special),
        ),
        "unigram": (models.Unigram(), trainers.UnigramTrainer(vocab_size=200, unk_token=UNKNOWN, **special)),
        "wordpiece": (models.WordPiece(unk_token=UNKNOWN), trainers.WordPieceTrainer(vocab_size=250, **special)),
        "words": (models.WordLevel(unk_token=UNKNOWN), trainers.WordLevelTrainer(vocab_size=250, **special)),
    }[model]
    tokenizer = Tokenizer(base)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if splitter is not None:
        tokenizer.pre_tokenizer = splitter
    if decoder is not None:
        tokenizer.decoder = decoder
    tokenizer.train_from_iterator(TRAINING * 20, trainer)
    return tokenizer.to_str()


def write_folder(folder: Path, name: str, pipeline: str, model_type: str | None = None, **settings) -> Path:
    """Write a tokenizer folder that names a class, with the type of a model beside it."""
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_text(pipeline_text(pipeline), encoding="utf-8")
    named = {"tokenizer_class": name, "bos_token": END, "eos_token": END} | settings
    (folder / "tokenizer_config.json").write_text(json.dumps(named))
    if model_type is not None:
        (folder / "config.json").write_text(json.dumps({"model_type": model_type, "vocab_size": 420}))
    return folder
