"""What the folder of a model says without its weights: hashes, configuration, kind, context length, start token."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from ucurve.errors import UserError, did_you_mean
from ucurve.huggingface.foreign_code import WEIGHT_FILES, Weights
from ucurve.huggingface.model_files import only_gguf
from ucurve.storage.files import read_json_object, sha256_file, sha256_json

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Kind = Literal["causal", "masked", "hybrid"]  # hybrid models are scored in both ways
Bos = Literal["auto", "bos", "eos", "none"]
Start = str | int  # one of these words, or else a token or its id
_OURS = ("eos", "bos", "sep", "cls")  # the order in which training picks what precedes every document
_THEIRS = ("bos", "eos", "cls", "sep")
_EITHER_WAY = ("flaubert", "xlm")  # model types whose language models read both sides unless they are told not to
_BETWEEN_DOCUMENTS = ("<|endoftext|>", "<|end_of_text|>", "<|begin_of_text|>", "<s>", "<bos>", "</s>", "<eos>")
_ROLES = ("bos", "eos", "unk", "pad", "cls", "sep")
_MESSAGES = [
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": "b"},
    {"role": "user", "content": "c"},
]


@dataclass(frozen=True)
class StartToken:
    """The token every sentence is scored after, and the rule that chose it; without id, there is no such token."""

    id: int | None
    text: str | None
    rule: str


def hash_parts(folder: Path, weights: Weights = "safetensors") -> dict[str, str]:
    """Return the SHA-256 of each file of a folder's weights by its name."""
    files = sorted(folder.glob(WEIGHT_FILES[weights]))
    if not files:
        on_request = any(folder.glob(WEIGHT_FILES["bin"])) and "; weights=bin reads the .bin files that are there"
        raise UserError(f"{folder}: no {WEIGHT_FILES[weights]} file{on_request or only_gguf(folder)}")
    return {file.name: sha256_file(file) for file in files}


def hash_of_parts(parts: Mapping[str, str]) -> str:
    """Return the SHA-256 that stands for weights, from those of their files."""
    return next(iter(parts.values())) if len(parts) == 1 else sha256_json(dict(parts))


def start_token(tokenizer: "PreTrainedTokenizerBase", ours: bool, bos: Start = "auto") -> StartToken:
    """Choose the token that sentences are scored after.

    ``auto`` is what the model was trained with: for models of this suite (``ours``) the separator before every
    document, else the tokenizer's start token, else its end token, else what it classifies or separates with. After no
    token (``none``), the first token of each sentence has no score.
    """
    if bos == "none":
        return StartToken(None, None, "none")
    usual = _OURS if ours else _THEIRS
    if bos not in get_args(Bos):
        return _asked_token(tokenizer, bos, usual)
    for rule in usual if bos == "auto" else (bos,):
        token = getattr(tokenizer, f"{rule}_token_id")
        if token is not None:
            return StartToken(int(token), str(getattr(tokenizer, f"{rule}_token")), str(rule))
    wanted = "bos or eos token to start a sentence with, nor cls or sep" if bos == "auto" else f"{bos} token"
    raise UserError(
        f"{tokenizer.name_or_path}: the tokenizer has no {wanted}; bos=none scores without a start token, bos=TOKEN "
        "takes any other"
    )


def _asked_token(tokenizer: "PreTrainedTokenizerBase", asked: str | int, usual: tuple[str, ...]) -> StartToken:
    """Find a token by its text or its id; its rule is ``bos`` or ``eos`` if it is that token, else ``token``."""
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    texts = {number: text for text, number in vocabulary.items()}
    number = asked if isinstance(asked, int) else vocabulary.get(asked)
    if isinstance(asked, int) and number not in texts:
        raise UserError(
            f"bos={asked}: the tokenizer of {tokenizer.name_or_path} has no token of that id; its ids go from "
            f"{min(texts)} to {max(texts)}"
        )
    if number is None:
        special = [str(token) for token in tokenizer.added_tokens_decoder.values()]
        raise UserError(
            f"bos: the tokenizer of {tokenizer.name_or_path} has no token {asked!r}; allowed: "
            f"{', '.join(get_args(Bos))}, a token of its vocabulary, or an id."
            f"{did_you_mean(str(asked), [*get_args(Bos), *special])}"
        )
    words = [rule for rule in usual if rule in get_args(Bos)]
    same = (rule for rule in words if getattr(tokenizer, f"{rule}_token_id") == number)
    return StartToken(number, texts[number], next(same, "token"))


def read_config(folder: Path) -> dict[str, object]:
    """Read ``config.json`` of a model folder."""
    path = folder / "config.json"
    try:
        return read_json_object(path)
    except UserError as error:
        raise UserError(f"{path}: not a model's configuration ({error})") from error


def model_kind(config: Mapping[str, object]) -> Kind:
    """Tell a masked model from a causal one by the architecture its configuration names, never by its name.

    One that was trained as both says so by ``masked_objective``.
    """
    if config.get("model_type") in _EITHER_WAY:
        return "causal" if config.get("causal") else "masked"
    names = config.get("architectures")
    architectures = names if isinstance(names, list) else []
    # ...ForPreTraining has the head of a masked model beside another one.
    masked = any(str(name).endswith(("ForMaskedLM", "ForPreTraining")) for name in architectures)
    if masked:
        return "masked"
    return "hybrid" if config.get("masked_objective") == "mntp" else "causal"


def context_length(config: Mapping[str, object]) -> int | None:
    """Return the number of positions a model has, or None when its configuration sets no limit."""
    limits = map(config.get, ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length"))
    return next((limit for limit in limits if isinstance(limit, int)), None)


def delimits_messages(tokenizer: "PreTrainedTokenizerBase", token: str) -> bool:
    """Tell whether the chat template writes a token at every message, as ChatML's ``<|im_start|>``.

    A base model was trained with another token between documents, and its chat model saw this one before a role. A
    template that writes a token by its name alone (``bos_token``) does not count: such a token is the base model's.
    """
    template = chat_template(tokenizer)
    if token not in template:
        return False
    try:
        short, long = (
            str(tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False)).count(token)
            for messages in (_MESSAGES[:1], _MESSAGES)
        )
    except Exception:  # a template that takes no such messages; it writes the token somewhere
        return True
    return bool(short < long)


def between_documents(tokenizer: "PreTrainedTokenizerBase") -> str | None:
    """Return a special token that the chat template does not write, as a base model has between documents, if any."""
    template = chat_template(tokenizer)
    special = [str(token) for token in tokenizer.added_tokens_decoder.values()]
    named = [getattr(tokenizer, f"{role}_token") for role in _ROLES]
    others = [token for token in (*_BETWEEN_DOCUMENTS, *named) if token in special and token not in template]
    return others[0] if others else None


def chat_template(tokenizer: "PreTrainedTokenizerBase") -> str:
    """Return the chat template, or "" where the tokenizer has none."""
    try:
        return str(tokenizer.get_chat_template())
    except (AttributeError, ValueError):  # the tokenizer has none, or several without a default
        return ""
