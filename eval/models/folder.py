"""What the folder of a model says without its weights: hashes, configuration, kind, context length, start token."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ucurve.errors import UserError
from ucurve.huggingface.foreign_code import WEIGHT_FILES, Weights
from ucurve.huggingface.model_files import only_gguf
from ucurve.storage.files import read_json_object, sha256_file, sha256_json

Kind = Literal["causal", "masked"]
Bos = Literal["auto", "bos", "eos", "none"]
_OURS = ("eos", "bos", "sep", "cls")  # the order in which training picks what precedes every document
_THEIRS = ("bos", "eos", "cls", "sep")
_EITHER_WAY = ("flaubert", "xlm")  # model types whose language models read both sides unless they are told not to


@dataclass(frozen=True)
class StartToken:
    """The token every sentence is scored after, and why it is this one; without id, sentences are read without one."""

    id: int | None
    text: str | None
    rule: str


def weights_hash(folder: Path, weights: Weights = "safetensors") -> str:
    """Return the SHA-256 that stands for a folder's weights: the file's own, or one over the hashes of its parts.

    Raises:
        UserError: when the folder holds no weights in that form.
    """
    return hash_of_parts(hash_parts(folder, weights))


def hash_parts(folder: Path, weights: Weights = "safetensors") -> dict[str, str]:
    """Return the SHA-256 of each file of a folder's weights by its name.

    Raises:
        UserError: when the folder holds no weights in that form.
    """
    files = sorted(folder.glob(WEIGHT_FILES[weights]))
    if not files:
        on_request = any(folder.glob(WEIGHT_FILES["bin"])) and "; weights=bin reads the .bin files that are there"
        raise UserError(f"{folder}: no {WEIGHT_FILES[weights]} file{on_request or only_gguf(folder)}")
    return {file.name: sha256_file(file) for file in files}


def hash_of_parts(parts: Mapping[str, str]) -> str:
    """Return the SHA-256 that stands for weights, from those of their files."""
    return next(iter(parts.values())) if len(parts) == 1 else sha256_json(dict(parts))


def start_token(tokenizer: Any, ours: bool, bos: Bos = "auto") -> StartToken:
    """Choose the token that sentences are scored after.

    Args:
        ours: whether the model is one of this suite's, trained with the end-of-document token before every document.
        bos: ``auto`` is what the model was trained with: for models of this suite its separator, else the tokenizer's
            start token, else its end token, else what it classifies or separates with. ``bos`` and ``eos`` ask for that
            token, ``none`` for no token; the first token of each sentence then has no score.

    Raises:
        UserError: when the tokenizer does not have the token.
    """
    if bos == "none":
        return StartToken(None, None, "none")
    rules = (_OURS if ours else _THEIRS) if bos == "auto" else (bos,)
    for rule in rules:
        token = getattr(tokenizer, f"{rule}_token_id")
        if token is not None:
            return StartToken(int(token), str(getattr(tokenizer, f"{rule}_token")), rule)
    wanted = "bos or eos token to start a sentence with, nor cls or sep" if bos == "auto" else f"{bos} token"
    raise UserError(f"{tokenizer.name_or_path}: the tokenizer has no {wanted}; bos=none scores without a start token")


def read_config(folder: Path) -> dict[str, Any]:
    """Read ``config.json`` of a model folder.

    Raises:
        UserError: when the file is missing or broken.
    """
    path = folder / "config.json"
    try:
        return read_json_object(path)
    except UserError as error:
        raise UserError(f"{path}: not a model's configuration ({error})") from error


def model_kind(config: dict[str, Any]) -> Kind:
    """Tell a masked model from a causal one by the architecture its configuration names, never by its name."""
    architectures = config.get("architectures") or []
    if config.get("model_type") in _EITHER_WAY:
        return "causal" if config.get("causal") else "masked"
    masked = any(name.endswith(("ForMaskedLM", "ForPreTraining")) for name in architectures)
    return "masked" if masked else "causal"


def context_length(config: dict[str, Any]) -> int | None:
    """Return the number of positions a model has, or None when its configuration sets no limit."""
    for key in ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length"):
        if isinstance(config.get(key), int):
            return int(config[key])
    return None
