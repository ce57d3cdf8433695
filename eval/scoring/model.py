"""Causal models and their tokenizers from local Hugging Face folders, checked before they are used."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.scoring.sentences import Sentences
from ucurve.errors import UserError
from ucurve.files import sha256_file, sha256_json

_OURS = ("eos", "bos", "sep", "cls")  # the order in which training picks what precedes every document
_THEIRS = ("bos", "eos", "cls", "sep")
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "merges.txt", "spiece.model")
_TOKENIZER_SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json")


@dataclass(frozen=True)
class StartToken:
    """The token every sentence is scored after, and why it is this one."""

    id: int
    text: str
    rule: str


def weights_hash(folder: Path) -> str:
    """Return the SHA-256 that stands for a folder's weights: the file's own, or one over the hashes of its parts.

    Raises:
        UserError: when the folder holds no safetensors file.
    """
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise UserError(f"{folder}: no *.safetensors file, the only format weights are read from")
    hashes = {file.name: sha256_file(file) for file in files}
    return hashes[files[0].name] if len(files) == 1 else sha256_json(hashes)


def tokenizer_hash(folder: Path) -> str:
    """Return the SHA-256 of ``tokenizer.json``, or one over the files of a tokenizer that has none.

    Raises:
        UserError: when the folder holds no tokenizer.
    """
    files = _tokenizer_files(folder)
    return sha256_file(files[0]) if files[0].name == "tokenizer.json" else sha256_json([*map(sha256_file, files)])


def tokenizer_files_hash(folder: Path) -> str:
    """Return one SHA-256 over every file of a folder that a tokenizer's ids may depend on."""
    files = [folder / name for name in (*_TOKENIZER_FILES, *_TOKENIZER_SETTINGS)]
    return sha256_json({file.name: sha256_file(file) for file in files if file.is_file()})


def _tokenizer_files(folder: Path) -> list[Path]:
    files = [folder / name for name in _TOKENIZER_FILES if (folder / name).is_file()]
    if not files:
        raise UserError(f"{folder}: no tokenizer files ({', '.join(_TOKENIZER_FILES)})")
    return files


def load_tokenizer(folder: Path) -> Any:
    """Load the tokenizer of a local folder.

    Raises:
        UserError: when it is missing or does not load.
    """
    from transformers import AutoTokenizer

    _tokenizer_files(folder)  # without any, some tokenizer classes load as an empty one

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # broken files raise errors of several libraries
        raise UserError(f"{folder}: the tokenizer does not load ({_first_line(error)})") from error


def start_token(tokenizer: Any, ours: bool) -> StartToken:
    """Choose the token that sentences are scored after.

    Args:
        tokenizer: a Hugging Face tokenizer.
        ours: whether the model is one of this suite's, trained with the end-of-document token before every document.
            Any other model gets its own start token, else its end token, else what it classifies or separates with.

    Raises:
        UserError: when the tokenizer has none.
    """
    for rule in _OURS if ours else _THEIRS:
        token = getattr(tokenizer, f"{rule}_token_id")
        if token is not None:
            return StartToken(int(token), str(getattr(tokenizer, f"{rule}_token")), rule)
    raise UserError(
        f"{tokenizer.name_or_path}: the tokenizer has no bos or eos token to start a sentence with, nor cls or sep"
    )


def read_config(folder: Path) -> dict[str, Any]:
    """Read ``config.json`` of a model folder and check that it is a causal model.

    Raises:
        UserError: when the file is missing or broken, or the model is a masked one.
    """
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not a model's configuration ({_first_line(error)})") from error
    if not isinstance(config, dict):
        raise UserError(
            f"{path}: not a model's configuration (a JSON object is expected, not a {type(config).__name__})"
        )
    architectures = config.get("architectures") or []
    if any(name.endswith("ForMaskedLM") for name in architectures):
        kind = ", ".join(architectures)
        raise UserError(f"{folder}: {kind} is a masked model; the scorer 'sentence' is for causal ones")
    return dict(config)


def context_length(config: dict[str, Any]) -> int | None:
    """Return the number of positions a model has, or None when its configuration sets no limit."""
    for key in ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length"):
        if isinstance(config.get(key), int):
            return int(config[key])
    return None


def check_vocabulary(folder: Path, config: dict[str, Any], tokenizer: Any, sentences: Sentences) -> None:
    """Refuse a tokenizer whose ids the model's embedding does not have.

    Raises:
        UserError: naming both sizes.
    """
    size = config.get("vocab_size")
    largest = max(len(tokenizer) - 1, int(sentences.tokens.max()))
    if isinstance(size, int) and largest >= size:
        raise UserError(
            f"{folder}: the tokenizer does not fit the model; its ids go up to {largest}, the embedding's to {size - 1}"
        )


def load_model(folder: Path) -> Any:
    """Load a causal model from a local folder: float32 weights whatever they were saved as, no dropout.

    Returns:
        A ``PreTrainedModel`` in evaluation mode, on the accelerator if there is one.

    Raises:
        UserError: when it does not load, or weights are missing.
    """
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, local_files_only=True, use_safetensors=True, output_loading_info=True
        )
    except Exception as error:  # broken files raise errors of several libraries
        raise UserError(f"{folder}: the model does not load ({_first_line(error)})") from error
    model, report = loaded
    if report["missing_keys"]:
        raise UserError(f"{folder}: weights are missing: {', '.join(sorted(report['missing_keys'])[:5])}")
    return model.eval().to("cuda" if torch.cuda.is_available() else "cpu")


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
