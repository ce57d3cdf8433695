"""What scoring loads: benchmarks and tokenizers, kept from one sweep to the next, and weights of the hub, in turn."""

import errno
import os
import shutil
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

import pandas as pd

from ucurve.errors import RunError, UcurveError, UserError, first_line
from ucurve.eval.benchmarks.card import Benchmark
from ucurve.eval.benchmarks.files.unpacking import UNPACKED
from ucurve.eval.benchmarks.load import fingerprint, load_benchmark
from ucurve.eval.benchmarks.ratings.load import load_ratings, rating_files
from ucurve.eval.benchmarks.registry import card_of
from ucurve.eval.models.hub_weights import HubFile, HubWeights
from ucurve.eval.models.model_info import ModelInfo
from ucurve.eval.pairs import data_hash, full_name
from ucurve.eval.scoring.loading import Workspace
from ucurve.eval.scoring.text.sentences import Sentences, encode
from ucurve.eval.scoring.text.spans import Part
from ucurve.eval.sweep.display import Printed, ScoreTable
from ucurve.eval.sweep.table import Layout
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.huggingface.tokenizer_files import encoding_sha256
from ucurve.progress import log_line
from ucurve.storage.locks import FETCHED, hold_shared, is_alone
from ucurve.storage.run_folder import EVAL

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_BENCHMARKS = 128  # more than the languages of MultiBLiMP
_TOKENIZERS = 8
_RECENT = 8
_ROOM = 1.02  # times the bytes of files, for what a file system needs beside them


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
        # Kept for the next checkpoint, when no job has them.
        self._recent: deque[Sentences] = deque(maxlen=_RECENT)

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
        """Return what is kept for a key, or make it and count it by the name ``made``."""
        if key not in kept:
            if len(kept) >= most:
                kept.clear()  # a process such as a notebook may see any number of them
            self.made[made] += 1
            kept[key] = make()
        return kept[key]

    def benchmark(
        self, card: Benchmark, root: Path | None, revision: str | None = None, unpacked: int = UNPACKED
    ) -> pd.DataFrame:
        """Load a benchmark, or return a copy of its pairs if card and files have not changed (``load_benchmark``).

        A copy, as the caller may take a subset and gives the benchmark another name.

        Raises:
            UserError: The files are missing or broken, or the hub does not give them.
        """
        key = (repr(card), root, revision, fingerprint(card, root))
        made = f"pairs of {card.name}"
        return self._keep(self._pairs, key, made, lambda: load_benchmark(card, root, revision, unpacked)).copy()

    def ratings(self, pairs: pd.DataFrame, root: Path | None, unpacked: int = UNPACKED) -> pd.DataFrame | None:
        """Load the judgments of people about pairs, or return those of the same files and pairs (``load_ratings``).

        Raises:
            UserError: A file of judgments is broken, or a card of the user's own names one that is not there.
        """
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
        tokenizer = self._keep(
            self._tokenizers, files_sha256, "tokenizer", lambda: load_tokenizer(folder), _TOKENIZERS
        )
        tokenizer.name_or_path = str(folder)  # for messages
        return tokenizer, files_sha256

    def sentences(
        self, info: ModelInfo, pairs: pd.DataFrame, data_sha256: str, part: Part, bare: bool, leading_space: bool
    ) -> Sentences:
        """Tokenize a benchmark, once for all models with the same tokenizer.

        ``part`` is what counts of each sentence; ``bare`` ones are read without a start token.

        Raises:
            UserError: A sentence has no token, or no token that counts.
        """
        key = (info.tokenizer_files, data_sha256, part, bare, leading_space)
        sentences = self._sentences.get(key)
        if sentences is None:
            self.made["sentences"] += 1
            self._sentences[key] = sentences = encode(pairs, info.tokenizer, part, bare, leading_space)
            self._recent.append(sentences)
        return sentences


class _Ahead(threading.Thread):
    """Fetches weights that are needed next; what fails is tried again when they are needed."""

    def __init__(self, weights: HubWeights) -> None:
        super().__init__(daemon=True)  # a command that ends does not wait for it
        self.weights, self.fetched = weights, False

    def run(self) -> None:
        with suppress(Exception):
            self.weights.fetch(quietly=True)
            self.fetched = True


class WeightFetcher:
    """Gives one process the weights of one revision after the other.

    Unless they are kept, the files that were fetched for the scores of a folder are removed when the next revision is
    needed. A file beside the scores names them, so that this holds after a kill too; every process that uses the
    revision holds a shared lock on that file, and the last one removes them.
    """

    def __init__(self, folder: Path | None = None, keep: bool = True) -> None:
        self._names = None if folder is None or keep else folder / EVAL / FETCHED
        self._used: dict[HubWeights, IO[str]] = {}  # what is to be removed, by the files that say so
        self._present: HubWeights | None = None
        self._ahead: _Ahead | None = None

    def prepare(self, due: Sequence[HubWeights], done: Sequence[HubWeights]) -> None:
        """Refuse what the disk cannot hold before anything is fetched; remove what a kill left of those ``done``.

        Raises:
            UserError: The disk does not hold the weights: all of them, or the largest revision where none is kept.
        """
        for weights in self._left(done):
            self._use(weights)
        self._remove_all_but(None)
        to_be_freed = 0
        for weights in self._left(due):
            weights.remove_parts()
            to_be_freed += sum(file.size for file in weights.files) - sum(weights.bytes_to_fetch().values())
        sizes = [files for weights in dict.fromkeys(due) if (files := weights.bytes_to_fetch())]
        total = sum({key: size for files in sizes for key, size in files.items()}.values())
        if not total:
            return
        need = total if self._names is None else max(sum(files.values()) for files in sizes)
        free, place = _free(due[0])
        what = (
            f"{due[0].model}: {_say(total)} of weights (revisions: {len(sizes)}) are to be fetched into {place}"
        )
        if need * _ROOM > free + to_be_freed:
            remedy = (
                "" if self._names is not None else "keep=false removes each revision after it is scored, and "
            )
            raise UserError(
                f"{what}, {_say(need)} of them at one time, and {_say(free)} are free there: {remedy}"
                "HF_HUB_CACHE=FOLDER takes another disk"
            )
        log_line(f"{what}, where {_say(free)} are free")

    def have(self, weights: HubWeights) -> None:
        """Wait for weights; those of other revisions are no longer needed.

        Raises:
            RunError: The disk does not hold them now, or the hub does not give them.
            DamagedError: They are not what the hub lists.
        """
        if weights == self._present:
            return
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead.join()
        self._remove_all_but(weights)  # before others are fetched, so that the disk holds one revision at a time
        if ahead is None or ahead.weights != weights or not ahead.fetched:
            self._fetch(weights)
        self._present = weights

    def fetch_ahead(self, find_next: Callable[[], HubWeights | None]) -> None:
        """Begin to fetch the weights that are needed next, unless that was begun or the disk does not hold them now."""
        if self._ahead is not None or (weights := find_next()) is None:
            return
        need, (free, _) = sum(weights.bytes_to_fetch().values()), _free(weights)
        if need * _ROOM <= free:
            self._use(weights)
            self._ahead = _Ahead(weights)
            self._ahead.start()

    def finish(self) -> None:
        """Remove what was fetched for the scores, which are all there."""
        if self._ahead is not None:
            self._ahead.join()
        self._remove_all_but(None)

    def close(self) -> None:
        """Give up the locks; after an error, what was fetched stays for the same command."""
        for file in self._used.values():
            file.close()
        self._used.clear()

    def _fetch(self, weights: HubWeights) -> None:
        """Fetch weights that are needed now, if the disk holds them."""
        self._use(weights)
        need, (free, place) = sum(weights.bytes_to_fetch().values()), _free(weights)
        if need * _ROOM > free:
            raise RunError(
                f"{weights.name}: {_say(need)} of weights are to be fetched into {place}, where {_say(free)} are free; "
                "the scores made so far are kept, and the same command goes on"
            )
        if need:
            log_line(f"fetching the weights of {weights.name} ({_say(need)})")
        try:
            weights.fetch()
        except UcurveError:
            raise
        except Exception as error:  # the hub's client raises errors of several libraries
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise  # a full disk has a message of its own
            raise RunError(
                f"the hub does not give the weights of {weights.name} ({first_line(error)})"
            ) from error

    def _left(self, revisions: Sequence[HubWeights]) -> list[HubWeights]:
        """Return the revisions of which an earlier process, perhaps a killed one, has fetched what is to be removed."""
        names = self._names
        return [] if names is None else [one for one in revisions if (names / one.folder.name).exists()]

    def _use(self, weights: HubWeights) -> None:
        """Note which files of a revision are to be removed after it: those that are not here yet."""
        if self._names is None or weights in self._used:
            return
        file = hold_shared(self._names / weights.folder.name)
        file.writelines(f"{_line(weights, missing)}\n" for missing in weights.missing())
        file.flush()
        os.fsync(file.fileno())  # before the first byte is fetched: after a power cut the names must be there
        self._used[weights] = file

    def _remove_all_but(self, needed: HubWeights | None) -> None:
        """Remove what was fetched, unless it is needed or another process uses it, which removes it then."""
        for weights in [one for one in self._used if one != needed]:
            with self._used.pop(weights) as file:
                path = Path(file.name)
                if is_alone(file, path):
                    file.seek(0)  # it was opened at its end, to append
                    weights.remove_parts()
                    # Perhaps of somebody else: only what we would write is obeyed.
                    lines = set(file.read().split("\n"))
                    weights.remove(one.name for one in weights.files if _line(weights, one) in lines)
                    path.unlink()


def _line(weights: HubWeights, file: HubFile) -> str:
    """Return the line of a file that was fetched into this very cache, and not into one of a machine copied from."""
    return f"{weights.folder.stat().st_ino} {file.name}"


def _free(weights: HubWeights) -> tuple[int, Path]:
    """Return the bytes that are free where weights are fetched to, and the folder of the cache."""
    return shutil.disk_usage(weights.folder).free, weights.folder.parents[2]


def _say(size: int) -> str:
    return f"{size / 1e9:,.3g} GB" if size >= 1e9 else f"{size / 1e6:,.3g} MB"
