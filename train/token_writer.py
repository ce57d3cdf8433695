"""Writes a token stream to disk: shards of ids, and where each document starts."""

import contextlib
import hashlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from train.encoding import Encoded
from ucurve.progress import say

DOCUMENTS = "documents.bin"
_TOKENS_BETWEEN_LINES = 50_000_000


class StreamWriter(contextlib.AbstractContextManager["StreamWriter"]):
    """Writes a stream shard by shard and keeps its counts and hash; use as a context manager.

    Attributes:
        length: tokens written.
        documents: documents written.
        unigram_counts: how often each token was written, shape [vocabulary].
    """

    def __init__(self, folder: Path, vocabulary: int, shard_tokens: int) -> None:
        self._folder, self._shard_tokens = folder, shard_tokens
        self._hash = hashlib.sha256()
        self._shards: list[dict[str, Any]] = []
        self._shard: BinaryIO | None = None
        self._starts = (folder / DOCUMENTS).open("wb")
        self._next_line = _TOKENS_BETWEEN_LINES
        self.length = self.documents = 0
        self.unigram_counts: NDArray[np.int64] = np.zeros(vocabulary, dtype=np.int64)

    def __exit__(self, *_: object) -> None:
        self._starts.close()
        if self._shard is not None:
            self._shard.close()

    def append(self, encoded: Encoded) -> None:
        """Add documents to the end of the stream."""
        self._starts.write((self.length + encoded.starts).astype("<i8").tobytes())
        self._hash.update(encoded.tokens.tobytes())
        self.unigram_counts += np.bincount(encoded.tokens, minlength=len(self.unigram_counts))
        self.length += len(encoded.tokens)
        self.documents += len(encoded.starts)
        rest = encoded.tokens
        while len(rest):
            rest = rest[self._fill_shard(rest) :]
        if self.length >= self._next_line:
            say(f"{self.length:,} tokens in {self.documents:,} documents so far")
            self._next_line += _TOKENS_BETWEEN_LINES

    def index(self) -> dict[str, Any]:
        """Describe what was written."""
        return {
            "length": self.length,
            "documents": self.documents,
            "sha256": self._hash.hexdigest(),
            "shards": self._shards,
        }

    def _fill_shard(self, tokens: NDArray[Any]) -> int:
        if self._shard is None or self._shards[-1]["tokens"] == self._shard_tokens:
            self._open_shard()
        assert self._shard is not None
        taken: int = min(len(tokens), self._shard_tokens - self._shards[-1]["tokens"])
        self._shard.write(tokens[:taken].tobytes())
        self._shards[-1]["tokens"] += taken
        return taken

    def _open_shard(self) -> None:
        if self._shard is not None:
            self._shard.close()
        name = f"shard-{len(self._shards):05d}.bin"
        self._shard = (self._folder / name).open("wb")
        self._shards.append({"file": name, "tokens": 0})
