"""Held-out text: documents that no model is trained on, and the sample of them that its loss is measured on.

A document is known by a hash of its text, so copies are held out together or not at all. The documents with the lowest
hashes are taken until ``SAMPLE_BYTES`` are full: the same even sample for every tokenizer and seed.
"""

import base64
import hashlib
import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence

from ucurve.training.corpus.readers import PIECE_CHARACTERS, Continuation

# Of UTF-8: about 90,000 Chinese characters, and a pass over them costs less than 30,000 training tokens.
SAMPLE_BYTES = 2**18
DEFAULT_SHARE = 0.001  # it holds where a corpus has no validation files
_HASHES = 2**64  # a hash has 8 bytes


class SetApart:
    """A share of the documents, chosen by hash, known when all documents have gone through ``watch``.

    A document is a training document or a held-out one for every run with this share, whatever its tokenizer and seeds.
    """

    left_out = 0  # copies of a document are set apart with it

    def __init__(self, share: float) -> None:
        self.share = share
        self.source = f"{share:g} of the documents"  # for people
        self._bound = int(share * _HASHES)
        self._sample = _Sample()

    def watch(self, documents: Iterable[str]) -> Iterator[str]:
        """Yield the documents that are not set apart."""
        apart = False
        for document in documents:
            if not isinstance(document, Continuation):
                number = _hash_text(document)
                apart = number < self._bound
                if apart:
                    self._sample.add(number, document)
            # The later pieces of a long document go where its first one goes.
            if not apart:
                yield document

    def sample(self) -> list[str]:
        """Return the documents that the loss is measured on, at most ``SAMPLE_BYTES`` of UTF-8."""
        return self._sample.texts()

    def state(self) -> list[tuple[int, str]]:
        """Return what is known of the documents so far, for JSON."""
        return self._sample.state()

    def go_on(self, state: Sequence[tuple[int, str]]) -> None:
        """Know what was known when ``state`` was called."""
        self._sample.go_on(state)


class OtherText:
    """Documents from elsewhere, such as validation files, without those that ``watch`` sees in the training text."""

    def __init__(self, source: str, read: Callable[[], Iterable[str]]) -> None:
        self.source = source
        self._read = read
        self._found = self._unseen = set[int]()

    def watch(self, documents: Iterable[str]) -> Iterator[str]:
        """Yield all documents; the hashes of the held-out ones alone are kept in memory."""
        self._found = {number for number, _ in self._hashed()}
        self._unseen = set(self._found)
        for document in documents:
            if not isinstance(document, Continuation):
                self._unseen.discard(_hash_text(document))
            yield document

    def sample(self) -> list[str]:
        """Return the documents that the loss is measured on; see ``SetApart.sample``."""
        sample = _Sample()
        for number, document in self._hashed():
            if number in self._unseen:
                sample.add(number, document)
        return sample.texts()

    @property
    def left_out(self) -> int:
        """How many different documents are in the training text too."""
        return len(self._found) - len(self._unseen)

    def _hashed(self) -> Iterator[tuple[int, str]]:
        # Of a long document only the first piece is taken, as only that one has a hash.
        return ((_hash_text(text), text) for text in self._read() if not isinstance(text, Continuation))


HeldOut = SetApart | OtherText


class _Sample:
    """The texts with the lowest hashes, each once; ``SAMPLE_BYTES`` bounds the memory."""

    def __init__(self) -> None:
        self._highest_first: list[tuple[int, bytes]] = []  # a heap of negative hashes
        self._hashes = set[int]()
        self._bytes = 0

    def add(self, number: int, text: str) -> None:
        """Keep a text if its hash is among the lowest; texts with higher ones make room."""
        is_full = self._bytes >= SAMPLE_BYTES
        if number in self._hashes or (is_full and number > -self._highest_first[0][0]):
            return
        # More of one text than the whole sample holds is never used.
        content = text.encode()[:SAMPLE_BYTES]
        heapq.heappush(self._highest_first, (-number, content))
        self._hashes.add(number)
        self._bytes += len(content)
        # The text with the highest hash goes if the others fill the sample without it.
        while self._bytes - len(self._highest_first[0][1]) >= SAMPLE_BYTES:
            highest, dropped = heapq.heappop(self._highest_first)
            self._hashes.remove(-highest)
            self._bytes -= len(dropped)

    def state(self) -> list[tuple[int, str]]:
        return [
            (-negative, base64.b64encode(content).decode()) for negative, content in sorted(self._highest_first)
        ]

    def go_on(self, state: Sequence[tuple[int, str]]) -> None:
        # Sorted, so a heap.
        self._highest_first = [(-number, base64.b64decode(content)) for number, content in state]
        self._hashes = {number for number, _ in state}
        self._bytes = sum(len(content) for _, content in self._highest_first)

    def texts(self) -> list[str]:
        """Return the texts by ascending hash; the last one is cut where the bound is reached."""
        texts, left = [], SAMPLE_BYTES
        for _, content in sorted(self._highest_first, reverse=True):
            # The cut may fall within a character, whose bytes are then left out.
            text = content[:left].decode(errors="ignore")
            left -= len(text.encode())
            texts += [text] if text.strip() else []
        return texts


def _hash_text(text: str) -> int:
    """Hash a document, of a long one the part that is always in its first piece."""
    return int.from_bytes(hashlib.blake2b(text[:PIECE_CHARACTERS].encode(), digest_size=8).digest())
