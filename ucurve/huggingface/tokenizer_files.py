"""Which files of a folder make a tokenizer, the hash of them, and the table of one whose tokens are characters."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ucurve.errors import UserError
from ucurve.storage.files import sha256_file, sha256_json

TOKENIZER = "tokenizer.json"
SENTENCEPIECE_MODEL = "tokenizer.model"
STATISTICS = "statistics.json"  # what this suite adds to a tokenizer it built
UNIGRAM_COUNTS = "unigram_counts.npy"  # of the training tokens, int64 of shape [vocabulary]
# These are the names that the tokenizers of transformers have for the files of their vocabularies.
VOCABULARY_FILES = (
    TOKENIZER,
    SENTENCEPIECE_MODEL,
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "spiece.model",
    "spm.model",
    "sentencepiece.bpe.model",
    "bpe.codes",
    "sentencepiece.model",
    "spm_char.model",
    "source.spm",
    "target.spm",
    "dict.txt",
    "emoji.json",
    "prophetnet.tokenizer",
)
SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
TOKENIZER_FILES = (*VOCABULARY_FILES, *SETTINGS, "chat_template.jinja", "config.json")


def tokenizer_sha256(folder: Path) -> str:
    """Return the SHA-256 of ``tokenizer.json``, or one over vocabulary and settings of a tokenizer without it."""
    if (folder / TOKENIZER).is_file():
        return sha256_file(folder / TOKENIZER)
    if not has_tokenizer(folder):
        raise no_tokenizer(folder)
    # Without ``config.json`` it is the same for a tokenizer alone and for one beside a model.
    return sha256_json(_hashes(folder, (*VOCABULARY_FILES, *SETTINGS)))


def encoding_sha256(folder: Path) -> str:
    """Return one SHA-256 over every file that the ids of a sentence or of a chat may depend on."""
    return sha256_json(_hashes(folder, TOKENIZER_FILES))


def has_tokenizer(folder: Path) -> bool:
    """Tell whether a folder has files of a tokenizer; one that reads bytes has settings alone."""
    return any((folder / name).is_file() for name in (*VOCABULARY_FILES, "tokenizer_config.json"))


def one_file_tokenizer(file: Path) -> dict[str, Path]:
    """Return the files of a tokenizer that is given as one file, by the names that libraries look for.

    Settings beside a file that has such a name, as in a folder of transformers, are the tokenizer's too.
    """
    name = TOKENIZER if file.suffix == ".json" else SENTENCEPIECE_MODEL
    settings = [file.parent / one for one in SETTINGS if file.name == name]
    return {name: file} | {one.name: one for one in settings if one.is_file()}


def no_tokenizer(folder: Path) -> UserError:
    """Build the error for a folder without a tokenizer."""
    return UserError(f"{folder}: no tokenizer files ({', '.join(VOCABULARY_FILES)})")


def _hashes(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    return {name: sha256_file(folder / name) for name in names if (folder / name).is_file()}


ANY_CHARACTER = r"[\s\S]"
CODE_POINTS = 0x110000  # of Unicode


def code_points(text: str) -> NDArray[np.uint32]:
    """Return the code points of a text, shape [characters]."""
    # UTF-32 has four bytes for every code point.
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4")


def character_table(pipeline: dict[str, Any]) -> NDArray[np.int64] | None:
    """Return the id of every code point when the tokens of a ``tokenizer.json`` are single characters; else None.

    Looking 21 million characters up takes a second, splitting them by a regular expression twenty.
    """
    splitter = {"type": "Split", "pattern": {"Regex": ANY_CHARACTER}, "behavior": "Isolated", "invert": False}
    model, special = pipeline["model"], {token["content"] for token in pipeline["added_tokens"]}
    if any(not token["special"] for token in pipeline["added_tokens"]):
        return None
    plain = (pipeline["normalizer"], pipeline["pre_tokenizer"], model["type"]) == (None, splitter, "WordLevel")
    if not plain or any(len(token) != 1 for token in model["vocab"] if token not in special):
        return None
    # A character without a token of its own is unknown.
    table = np.full(CODE_POINTS, model["vocab"][model["unk_token"]], dtype=np.int64)
    for token, number in model["vocab"].items():
        if token not in special:
            table[ord(token)] = number
    return table
