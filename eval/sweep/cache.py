"""What a process keeps from one sweep to the next, so that a hook after each checkpoint does not make it again."""

from collections import Counter, deque
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import pandas as pd

from eval.benchmarks.card import Benchmark
from eval.benchmarks.files.unpacking import UNPACKED
from eval.benchmarks.load import fingerprint, load_benchmark
from eval.benchmarks.ratings.load import load_ratings, rating_files
from eval.benchmarks.registry import card_of
from eval.models.model_info import ModelInfo
from eval.pairs import data_hash, full_name
from eval.scoring.loading import Workspace
from eval.scoring.text.sentences import Sentences, encode
from eval.scoring.text.spans import Part
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.huggingface.tokenizer_files import encoding_sha256

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_BENCHMARKS = 128  # more than the languages of MultiBLiMP
_TOKENIZERS = 8
_RECENT = 8


class SweepCache:
    """Benchmarks, tokenizers and tokenized benchmarks, which are the same for every checkpoint of a run.

    Attributes:
        workspace: what scorers have loaded.
        logged: messages about benchmarks that were logged and are not logged again.
        made: how many times what is kept was made, by what it is: ``pairs of blimp``, ``tokenizer``,
            ``sentences``, ``n-grams``, ``model step00000512``.
    """

    def __init__(self) -> None:
        self.logged: set[str] = set()
        self.made: Counter[str] = Counter()
        self.workspace = Workspace(self.made)
        self._pairs: dict[Hashable, pd.DataFrame] = {}
        self._ratings: dict[Hashable, pd.DataFrame | None] = {}
        self._tokenizers: dict[str, PreTrainedTokenizerBase] = {}  # by the hash of their files
        self._sentences: WeakValueDictionary[tuple[str, str, Part, bool, bool], Sentences] = WeakValueDictionary()
        self._recent: deque[Sentences] = deque(maxlen=_RECENT)  # kept for the next checkpoint, when no job has them

    def benchmark(
        self, card: Benchmark, root: Path | None, revision: str | None = None, unpacked: int = UNPACKED
    ) -> pd.DataFrame:
        """Load a benchmark, or return a copy of its pairs if card and files have not changed (``load_benchmark``)."""
        key = (repr(card), root, revision, fingerprint(card, root))
        if key not in self._pairs:
            if len(self._pairs) >= _BENCHMARKS:
                self._pairs.clear()
            self.made[f"pairs of {card.name}"] += 1
            self._pairs[key] = load_benchmark(card, root, revision, unpacked)
        return self._pairs[key].copy()

    def ratings(self, pairs: pd.DataFrame, root: Path | None, unpacked: int = UNPACKED) -> pd.DataFrame | None:
        """Load the judgments of people about pairs, or return those of the same files and pairs (``load_ratings``)."""
        card = card_of(full_name(str(pairs["benchmark"].iloc[0])))
        files = rating_files(card, root)
        if not files:
            return None
        stats = tuple((file, file.stat().st_size, file.stat().st_mtime_ns) for file in files)
        key = (repr(card), data_hash(pairs), stats)
        if key not in self._ratings:
            if len(self._ratings) >= _BENCHMARKS:
                self._ratings.clear()
            self.made[f"ratings of {card.name}"] += 1
            self._ratings[key] = load_ratings(card, root, pairs, unpacked)
        return self._ratings[key]

    def tokenizer(self, folder: Path) -> "tuple[PreTrainedTokenizerBase, str]":
        """Load the tokenizer of a folder, or return one of equal files, and the hash of these files."""
        files_sha256 = encoding_sha256(folder)
        if files_sha256 not in self._tokenizers:
            if len(self._tokenizers) >= _TOKENIZERS:
                self._tokenizers.clear()
            self.made["tokenizer"] += 1
            self._tokenizers[files_sha256] = load_tokenizer(folder)
        tokenizer = self._tokenizers[files_sha256]
        tokenizer.name_or_path = str(folder)  # for messages
        return tokenizer, files_sha256

    def sentences(
        self, info: ModelInfo, pairs: pd.DataFrame, data_sha256: str, part: Part, bare: bool, leading_space: bool
    ) -> Sentences:
        """Tokenize a benchmark, once for all models with the same tokenizer."""
        key = (info.tokenizer_files, data_sha256, part, bare, leading_space)
        sentences = self._sentences.get(key)
        if sentences is None:
            self.made["sentences"] += 1
            self._sentences[key] = sentences = encode(pairs, info.tokenizer, part, bare, leading_space)
            self._recent.append(sentences)
        return sentences
