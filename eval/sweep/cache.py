"""What a process keeps from one sweep to the next, so that a hook after each checkpoint does not make it again."""

from collections import Counter, deque
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

import pandas as pd

from ucurve.eval.benchmarks.card import Benchmark
from ucurve.eval.benchmarks.files.unpacking import UNPACKED
from ucurve.eval.benchmarks.load import fingerprint, load_benchmark
from ucurve.eval.benchmarks.ratings.load import load_ratings, rating_files
from ucurve.eval.benchmarks.registry import card_of
from ucurve.eval.models.model_info import ModelInfo
from ucurve.eval.pairs import data_hash, full_name
from ucurve.eval.scoring.loading import Workspace
from ucurve.eval.scoring.text.sentences import Sentences, encode
from ucurve.eval.scoring.text.spans import Part
from ucurve.eval.sweep.display import Printed, ScoreTable
from ucurve.eval.sweep.table import Layout
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.huggingface.tokenizer_files import encoding_sha256

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_BENCHMARKS = 128  # more than the languages of MultiBLiMP
_TOKENIZERS = 8
_RECENT = 8


class SweepCache:
    """Benchmarks, tokenizers and tokenized benchmarks, which are the same for every checkpoint of a run."""

    def __init__(self) -> None:
        self.tables: dict[Path, ScoreTable] = {}  # what is shown of each folder
        self.printed = Printed()
        self.logged: set[str] = set()  # messages that are not logged again
        self.made: Counter[str] = Counter()  # how many times what is kept was made: `pairs of blimp`, `tokenizer`
        self.workspace = Workspace(self.made)  # what scorers have loaded
        self._pairs: dict[Hashable, pd.DataFrame] = {}
        self._ratings: dict[Hashable, pd.DataFrame | None] = {}
        self._tokenizers: dict[str, PreTrainedTokenizerBase] = {}  # by the hash of their files
        self._sentences: WeakValueDictionary[tuple[str, str, Part, bool, bool], Sentences] = WeakValueDictionary()
        self._recent: deque[Sentences] = deque(maxlen=_RECENT)  # kept for the next checkpoint, when no job has them

    def table(self, folder: Path, make: Callable[[], Layout]) -> ScoreTable:
        """Return the table of a folder, which goes on over several sweeps."""
        if folder not in self.tables:
            self.tables[folder] = ScoreTable(make(), self.printed)
        return self.tables[folder]

    def end_tables(self) -> None:
        """Say what stands out in the tables that were shown, and begin others for what is scored from now on."""
        for table in self.tables.values():
            table.end()
        self.tables.clear()

    def _keep(
        self, kept: dict[Key, Value], key: Key, made: str, make: Callable[[], Value], most: int = _BENCHMARKS
    ) -> Value:
        if key not in kept:
            if len(kept) >= most:
                kept.clear()
            self.made[made] += 1
            kept[key] = make()
        return kept[key]

    def benchmark(
        self, card: Benchmark, root: Path | None, revision: str | None = None, unpacked: int = UNPACKED
    ) -> pd.DataFrame:
        """Load a benchmark, or return a copy of its pairs if card and files have not changed (``load_benchmark``)."""
        key = (repr(card), root, revision, fingerprint(card, root))
        made = f"pairs of {card.name}"
        return self._keep(self._pairs, key, made, lambda: load_benchmark(card, root, revision, unpacked)).copy()

    def ratings(self, pairs: pd.DataFrame, root: Path | None, unpacked: int = UNPACKED) -> pd.DataFrame | None:
        """Load the judgments of people about pairs, or return those of the same files and pairs (``load_ratings``)."""
        card = card_of(full_name(str(pairs["benchmark"].iloc[0])))
        files = rating_files(card, root)
        if not files:
            return None
        stats = tuple((file, file.stat().st_size, file.stat().st_mtime_ns) for file in files)
        key = (repr(card), data_hash(pairs), stats)
        made = f"ratings of {card.name}"
        return self._keep(self._ratings, key, made, lambda: load_ratings(card, root, pairs, unpacked))

    def tokenizer(self, folder: Path) -> "tuple[PreTrainedTokenizerBase, str]":
        """Load the tokenizer of a folder, or return one of equal files, and the hash of these files."""
        files_sha256 = encoding_sha256(folder)
        tokenizer = self._keep(self._tokenizers, files_sha256, "tokenizer", lambda: load_tokenizer(folder), _TOKENIZERS)
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
