"""Encodes documents into token ids, in order and in several processes."""

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.huggingface.tokenizer_files import character_table, code_points
from ucurve.training.corpus.parallel import map_batches
from ucurve.training.corpus.readers import Continuation, Mark
from ucurve.training.tokenizer.folder import end_of_document

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

Encoder = Callable[[list[str]], list[Sequence[int] | NDArray[np.int64]]]


@dataclass(frozen=True)
class Recipe:
    """What a worker process needs for encoding."""

    folder: Path
    document_token: int  # id of the token that precedes every document
    dtype: str  # NumPy's, of the ids
    from_file: (
        bool  # whether ``tokenizer.json`` alone gives the tokenizer, so that a worker need not load transformers
    )


@dataclass(frozen=True)
class Encoded:
    """Token ids of some documents, each with the end-of-document token in front."""

    # The shape is [tokens]; the first ones may continue an earlier document.
    tokens: NDArray[np.uint16] | NDArray[np.uint32]
    starts: NDArray[np.int64]  # indices of the tokens that begin a document, shape [documents]
    text_bytes: int  # of the documents as read, in UTF-8
    mark: Mark | None = None  # that comes after them


def make_recipe(folder: Path, tokenizer: "PreTrainedTokenizerBase", dtype: str) -> Recipe:
    """Choose how to encode with the tokenizer that was loaded from a folder."""
    from_file = tokenizer.is_fast and (folder / "tokenizer.json").is_file()
    if from_file:
        # transformers may change what the file says when it loads a folder.
        from_file = _read_pipeline(_load_backend(folder)) == _read_pipeline(tokenizer.backend_tokenizer)
    return Recipe(folder, end_of_document(tokenizer), dtype, from_file)


def encode_documents(documents: Iterable[str], recipe: Recipe, processes: int) -> Iterator[Encoded]:
    """Encode documents in batches; the ids depend neither on the number of processes nor on cuts of long documents."""
    texts = _join_unsafe_cuts(documents, recipe)
    yield from map_batches(functools.partial(encode, recipe), texts, processes, "tokenizes")


def encode(recipe: Recipe, texts: list[str]) -> Encoded:
    """Encode some documents, or parts of them, and perhaps a mark behind them."""
    *_, last = texts
    mark = last if isinstance(last, Mark) else None
    texts = texts if mark is None else texts[:-1]
    begins = np.array([not isinstance(text, Continuation) for text in texts], dtype=bool)
    ids = _encoder(recipe)(texts)
    # int64[documents]: where each ends, with its separator in front
    ends = np.cumsum(begins + np.array([len(one) for one in ids], dtype=np.int64))
    tokens = np.empty(ends[-1] if len(ends) else 0, dtype=recipe.dtype)
    for one, end in zip(ids, ends, strict=True):
        tokens[end - len(one) : end] = one
    starts = np.concatenate([[0], ends])[:-1][begins]
    tokens[starts] = recipe.document_token
    return Encoded(tokens, starts, sum(len(text.encode()) for text in texts), mark)


def _join_unsafe_cuts(documents: Iterable[str], recipe: Recipe) -> Iterator[str]:
    """Join the parts of a document again where the cut would change its ids."""
    held = None
    for document in documents:
        if held is not None and isinstance(document, Continuation):
            line, next_line = held[held.rfind("\n", 0, -1) + 1 :], document[: document.find("\n") + 1] or document
            # The two adjacent lines must have the same ids together and separately.
            whole, first, second = (list(ids) for ids in _encoder(recipe)([line + next_line, line, next_line]))
            if whole != first + second:
                held = type(held)(held + document)
                continue
        if held is not None:
            yield held
        held = document
    if held is not None:
        yield held


@functools.lru_cache(maxsize=1)
def _encoder(recipe: Recipe) -> Encoder:
    """Return what encodes texts in this process; one is kept, since a worker encodes with one tokenizer."""
    if recipe.from_file:
        backend = _load_backend(recipe.folder)
        return character_encoder(_read_pipeline(backend)) or _rust_encoder(backend)
    tokenizer = load_tokenizer(recipe.folder)
    if tokenizer.is_fast:
        return _rust_encoder(tokenizer.backend_tokenizer)
    return lambda texts: tokenizer(texts, add_special_tokens=False)["input_ids"]


def character_encoder(pipeline: dict[str, Any]) -> Encoder | None:
    """Return a table look-up in place of a ``tokenizer.json`` whose tokens are single characters; else None."""
    table = character_table(pipeline)
    return None if table is None else lambda texts: [table[code_points(text)] for text in texts]


def _rust_encoder(backend: "Tokenizer") -> Encoder:
    backend.no_truncation()
    backend.no_padding()
    # Text that looks like a special token is encoded as text.
    backend.encode_special_tokens = True
    return lambda texts: [one.ids for one in backend.encode_batch_fast(texts, add_special_tokens=False)]


def _load_backend(folder: Path) -> "Tokenizer":
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def _read_pipeline(backend: "Tokenizer") -> dict[str, Any]:
    """Return everything that determines the ids of a text."""
    parts: dict[str, Any] = json.loads(backend.to_str())
    return {name: part for name, part in parts.items() if name not in ("truncation", "padding")}
