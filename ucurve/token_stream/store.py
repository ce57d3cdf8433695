"""The token stream of a corpus as it lies in the cache: shards, memory-mapped and checked by their hash."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ucurve.huggingface.tokenizer_files import UNIGRAM_COUNTS
from ucurve.storage.facts import HeldOutFacts, InterventionFacts
from ucurve.storage.files import read_json_object, read_json_or_empty, sha256_file, sha256_json
from ucurve.token_stream.joining import Joining, Mixture, describe_joining, read_joining

INDEX, TOKEN_BYTES, HELD_OUT_TOKENS, DOCUMENTS = "index.json", "token_bytes.npy", "held_out.npy", "documents.bin"
_READ_AT_ONCE = 2**24  # bytes


@dataclass(frozen=True)
class StreamSize:
    """The size of a token stream: its documents, and its length in tokens."""

    documents: int
    length: int
    parts: Sequence["StreamSize"] = field(default=(), kw_only=True)  # the streams that one of several consists of


@dataclass(frozen=True, eq=False)
class HeldOutTokens:
    """The held-out text as tokens, every document preceded by the end-of-document token."""

    ids: NDArray[np.int64]  # shape [tokens]
    facts: HeldOutFacts


@dataclass(frozen=True, eq=False)
class TokenStore(StreamSize):
    """A token stream on disk. Every document is preceded by the end-of-document token."""

    sha256: (
        str  # of all ids as little-endian integers of 2 bytes, or 4 for a vocabulary of more than 65,536 tokens
    )
    token_bytes: NDArray[np.int32]  # UTF-8 bytes of text of each token, 0 for special tokens; shape [vocabulary]
    unigram_counts: NDArray[np.int64]  # of each token in the stream; shape [vocabulary]
    held_out: HeldOutTokens | None
    # Of each stream that this one consists of: where it ends, and the UTF-8 bytes of its documents as read, divided by
    # those of its tokens. Tokenizers mark words and drop spaces, so the two differ.
    _byte_ratios: tuple[tuple[int, float], ...]
    _shards: tuple[NDArray[np.generic], ...]
    _document_starts: NDArray[np.int64]
    interventions: tuple[InterventionFacts, ...] = ()  # what was done to the text before it was tokenized
    joining: Joining | None = None  # how the parts follow each other
    parts: tuple["TokenStore", ...] = field(default=(), kw_only=True)

    def windows(self, starts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        """Return the token ids, shape [n, length], from each of ``starts``, shape [n]; windows may span shards."""
        # Of int64, shape [n, length].
        positions = np.asarray(starts, dtype=np.int64)[:, None] + np.arange(length)
        if positions.size and (positions.min() < 0 or positions.max() >= self.length):
            raise IndexError(f"a window of {length} tokens leaves the stream of {self.length} tokens")
        ends = np.cumsum([len(shard) for shard in self._shards])
        owners = np.searchsorted(ends, positions, side="right")
        gathered = np.empty(positions.shape, dtype=np.int64)
        for owner in np.unique(owners):
            mask = owners == owner
            shard = self._shards[owner]
            gathered[mask] = shard[positions[mask] - (ends[owner] - len(shard))]
        return gathered

    def count_bytes(self, starts: NDArray[np.int64], windows: NDArray[np.int64]) -> float:
        """Return the UTF-8 bytes of text of all tokens but the first of ``windows``, shape [n, length].

        The windows begin at ``starts``, shape [n]. A token counts as many bytes as it has, times the ratio of the bytes
        of the documents as read to those of the tokens in its stream; so those of a whole epoch add up to the bytes of
        the text whatever the tokenizer.
        """
        ends, ratios = np.array(self._byte_ratios).T  # both float64[streams]
        of_windows = self.token_bytes[windows[:, 1:]].sum(axis=1)  # int64[n]
        return float(of_windows @ ratios[np.searchsorted(ends, starts, side="right")])

    def find_document(self, position: int) -> int:
        """Return the 0-based index of the document that holds the token at ``position``."""
        if not 0 <= position < self.length:
            raise IndexError(f"position {position} is not in the stream of {self.length} tokens")
        return int(np.searchsorted(self._document_starts, position, side="right")) - 1


def stream_folder(cache: Path, key: str) -> Path:
    """Return the folder of the stream of ``key`` in a cache."""
    return cache / f"tokens-{key[:16]}"


def is_complete_store(folder: Path, key: str, read_all: bool = True) -> bool:
    """Tell whether a folder holds the stream of ``key``, byte for byte or by index and sizes of files alone.

    The streams that one of several consists of are in folders of their own.
    """
    try:
        index = read_json_or_empty(folder / INDEX)
        # The name of a folder has only the first 16 digits of its key, so the key itself is compared.
        if index.pop("index_sha256", None) != sha256_json(index) or index["key"] != key:
            return False
        if "parts" in index:
            return all(
                is_complete_store(stream_folder(folder.parent, part), part, read_all) for part in index["parts"]
            )
        if read_all:
            same = all(sha256_file(folder / name) == digest for name, digest in index["files"].items())
            return same and _stream_hash(folder, index) == index["sha256"]
        item = np.dtype(index["dtype"]).itemsize
        whole = [(folder / shard["file"]).stat().st_size == shard["tokens"] * item for shard in index["shards"]]
        return all(whole) and all((folder / name).is_file() for name in index["files"])
    except (OSError, ValueError):  # the file is absent or torn
        return False


def _stream_hash(folder: Path, index: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    for shard in index["shards"]:
        with (folder / shard["file"]).open("rb") as file:
            while part := file.read(_READ_AT_ONCE):
                digest.update(part)
    return digest.hexdigest()


def open_store(folder: Path) -> TokenStore:
    """Open the token store that a complete folder holds."""
    index = read_json_object(folder / INDEX)
    if "parts" in index:
        parts = [open_store(stream_folder(folder.parent, key)) for key in index["parts"]]
        return join_stores(parts, read_joining(index["joining"]))
    held_out = None
    if "held_out" in index:
        ids = np.load(folder / HELD_OUT_TOKENS).astype(np.int64)
        held_out = HeldOutTokens(ids, HeldOutFacts.model_validate(index["held_out"]))
    token_bytes, counts = np.load(folder / TOKEN_BYTES), np.load(folder / UNIGRAM_COUNTS)
    return TokenStore(
        length=index["length"],
        documents=index["documents"],
        sha256=index["sha256"],
        token_bytes=token_bytes,
        unigram_counts=counts,
        held_out=held_out,
        _byte_ratios=((index["length"], index["text_bytes"] / max(1, int(counts @ token_bytes))),),
        _shards=tuple(
            np.memmap(folder / shard["file"], dtype=index["dtype"], mode="r") for shard in index["shards"]
        ),
        _document_starts=np.memmap(folder / DOCUMENTS, dtype="<i8", mode="r"),
        interventions=tuple(InterventionFacts.model_validate(one) for one in index.get("interventions", ())),
    )


def join_stores(parts: Sequence[TokenStore], joining: Joining) -> TokenStore:
    """Return streams of one tokenizer as one, in which they lie one after the other."""
    offsets = np.cumsum([0, *(part.length for part in parts)])
    starts = [part._document_starts + offset for part, offset in zip(parts, offsets, strict=False)]
    return TokenStore(
        length=int(offsets[-1]),
        documents=sum(part.documents for part in parts),
        sha256=sha256_json({"joining": describe_joining(joining), "parts": [part.sha256 for part in parts]}),
        token_bytes=parts[0].token_bytes,
        unigram_counts=_join_counts(parts, joining),
        held_out=_join_held_out([part.held_out for part in parts if part.held_out is not None]),
        _byte_ratios=tuple(
            (int(offset) + end, ratio)
            for part, offset in zip(parts, offsets, strict=False)
            for end, ratio in part._byte_ratios
        ),
        _shards=tuple(shard for part in parts for shard in part._shards),
        _document_starts=np.concatenate(starts),
        joining=joining,
        parts=tuple(parts),
    )


def _join_counts(parts: Sequence[TokenStore], joining: Joining) -> NDArray[np.int64]:
    """Add up the counts of tokens; those of a mixture in the proportion in which its parts are trained on."""
    counts = [part.unigram_counts for part in parts]
    if isinstance(joining, Mixture):
        length, total = sum(part.length for part in parts), sum(joining.weights)
        factors = [length * w / total / part.length for w, part in zip(joining.weights, parts, strict=True)]
        counts = [np.rint(one * factor).astype(np.int64) for one, factor in zip(counts, factors, strict=True)]
    joined: NDArray[np.int64] = np.sum(counts, axis=0)
    return joined


def _join_held_out(found: Sequence[HeldOutTokens]) -> HeldOutTokens | None:
    """Put held-out texts one after the other, of each part what it has alone, whatever the weights are."""
    if not found:
        return None
    facts = [one.facts for one in found]
    joined = HeldOutFacts(
        source="; ".join(one.source for one in facts),
        documents=sum(one.documents for one in facts),
        bytes=sum(one.bytes for one in facts),
        unknown_bytes=sum(one.unknown_bytes for one in facts),
        tokens=sum(one.tokens for one in facts),
        left_out=sum(one.left_out for one in facts),
        sha256=sha256_json([one.sha256 for one in facts]),
    )
    return HeldOutTokens(np.concatenate([one.ids for one in found]), joined)
