"""The scores of every pair at every checkpoint of a run, read by column from disk as they are needed.

The Parquet files of a run, one a checkpoint, are copied once into one file a column, which is then mapped into memory:
a curve under any linking function passes over two columns, and the pairs of one paradigm read only their own rows.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.files import read_stored, scored_steps
from ucurve.analysis.data.frames import AGGREGATES, score_frame
from ucurve.analysis.data.groups import Ids, Mask, Pairs
from ucurve.analysis.data.pair_scores import in_order_of
from ucurve.analysis.data.runs import Run
from ucurve.analysis.items.histories import verdicts_of
from ucurve.errors import UserError
from ucurve.eval.linking import Linking
from ucurve.eval.metrics.accuracy import Split, decisions, split_masks
from ucurve.eval.models.targets import MODEL_STEP
from ucurve.eval.store.keys import check_pairs, check_scores
from ucurve.eval.store.reported import Reported, read_reported
from ucurve.eval.store.scores import pairs_path, score_path
from ucurve.eval.store.tables import ACCURACY
from ucurve.progress import log_line
from ucurve.storage.facts import read_manifest
from ucurve.storage.locks import build_once
from ucurve.storage.run_folder import checkpoint_folder

_STEPS_AT_ONCE, _PAIRS_AT_ONCE = 12, 12_288  # decided together, so that all of it stays in the processor's cache
_THREADS = 2
_SOME = 50  # files copied between two messages
_CHECKPOINTS = "checkpoints.json"
_FORMAT = 1  # of the copies; a change makes older ones be made again

Array = npt.NDArray[np.float64]


class Facts(TypedDict):
    """What is kept beside the copied columns."""

    signature: str
    columns: list[str]
    broken: list[str]
    tokens: list[float]
    flops: list[float]


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """One run on one benchmark by one scorer."""

    run: Run
    benchmark: str
    scorer: str
    steps: Ids  # int64[steps], ascending; only -1 for a model that is not a checkpoint
    tokens: Array  # float64[steps], training tokens; NaN where they are not known
    flops: Array  # float64[steps], likewise
    shared: Pairs  # the pairs, the same object for all runs that have them
    # what is stored, by name: [steps, pairs], or [pairs] where it is the same at every step
    columns: Mapping[str, Array]
    broken: frozenset[str]  # the columns that hold a missing value
    signature: str  # changes when one of the files does that it was read from

    @property
    def pairs(self) -> pd.DataFrame:
        """The pair table with all that is published, one row per pair."""
        return self.shared.table

    @property
    def reported(self) -> Reported:
        """What is shown first of the benchmark, as its card or a preset says."""
        return read_reported(self.run.folder, self.benchmark)

    def split(self, name: Split) -> Mask:
        """Mark the counted pairs of a length split, bool[pairs]; a set is in it when all its pairs are."""
        if name == "all":
            return self.shared.counted
        n_good, n_bad = (self.columns[f"n_{side}"] for side in ("good", "bad"))
        if n_good.ndim == 2 or n_bad.ndim == 2:
            raise UserError(
                f"{self.run.label}: its checkpoints count the tokens of sentences differently; no length split"
            )
        return np.asarray(
            self.shared.sets.whole(split_masks(n_good.astype(np.int64), n_bad.astype(np.int64))[name])
            & self.shared.counted
        )

    def missing(self, linking: Linking) -> tuple[str, ...]:
        """Name the columns that a linking function reads and that are not there or hold a missing value."""
        return tuple(name for name in _columns_of(linking) if name not in self.columns or name in self.broken)

    def counts(self, linking: Linking, groups: Ids, number: int) -> tuple[Ids, Ids]:
        """Count right and tied pairs of groups at every step, both int64[steps, groups].

        ``groups`` is the group of each pair, int64[pairs]; -1 for pairs in no group.
        """
        order = np.flatnonzero(groups >= 0)
        order = order[np.argsort(groups[order], kind="stable")]
        present, starts = np.unique(groups[order], return_index=True)
        # The pairs of a benchmark stand together by paradigm as a rule: then nothing needs to be moved.
        chosen = slice(None) if np.array_equal(order, np.arange(len(groups))) else order
        right, ties = (np.zeros((len(self.steps), number), dtype=np.int64) for _ in range(2))

        def count(place: slice) -> None:
            for into, decided in zip((right, ties), self._decide(linking, place, slice(None)), strict=True):
                into[place, present] = np.add.reduceat(decided[:, chosen], starts, axis=1, dtype=np.int32)

        if len(order):
            self._for_each_stretch(count)
        return right, ties

    def verdicts(self, linking: Linking, rows: Ids | slice = slice(None)) -> npt.NDArray[np.uint8]:
        """Decide pairs at every step, uint8[steps, rows]: ``RIGHT``, ``TIE`` or ``WRONG``.

        A pair of a set has the verdict of its set.
        """
        chosen = slice(None) if self.shared.has_sets else rows
        number = len(self.pairs) if isinstance(chosen, slice) else len(chosen)
        found = np.empty((len(self.steps), number), dtype=np.uint8)

        def decide(place: slice) -> None:
            found[place] = verdicts_of(*self._decide(linking, place, chosen))

        self._for_each_stretch(decide)
        return found[:, rows] if self.shared.has_sets else found

    def values(self, linking: Linking, row: int) -> dict[str, list[float]]:
        """Return the linked values of both members of a pair at every step, ``good`` and ``bad``, and the ``margin``.

        The margin is by how much the good one is preferred, below 0 where the bad one is.
        """
        table = self._table(linking, slice(None), np.array([row]))
        shape = np.broadcast_shapes((len(self.steps), 1))
        sides = {side: linking.values(table, side) for side in ("good", "bad")}
        apart = sides["good"] - sides["bad"]
        found = {**sides, "margin": -apart if linking.lower_is_better else apart}
        return {name: np.broadcast_to(values, shape)[:, 0].tolist() for name, values in found.items()}

    def _decide(self, linking: Linking, place: slice, rows: Ids | slice) -> tuple[Mask, Mask]:
        """Mark the pairs that are right and those that are tied, both bool[steps, rows], at a stretch of steps."""
        number = len(self.pairs) if isinstance(rows, slice) else len(rows)
        right, ties = (np.empty((place.stop - place.start, number), dtype=bool) for _ in range(2))
        for start in range(0, number, _PAIRS_AT_ONCE):
            block = slice(start, start + _PAIRS_AT_ONCE)
            table = self._table(linking, place, block if isinstance(rows, slice) else rows[block])
            right[:, block], ties[:, block] = decisions(table, linking)
        if not self.shared.has_sets:
            return right, ties
        judged = [self.shared.sets.judge(*both) for both in zip(right, ties, strict=True)]
        return np.array([one for one, _ in judged]), np.array([one for _, one in judged])

    def _table(self, linking: Linking, place: slice, rows: Ids | slice) -> dict[str, Array]:
        """Take what a linking function reads: [steps, rows], or [rows] where it is the same at every step."""
        found = {name: self.columns[name] for name in _columns_of(linking)}
        return {
            name: values[place][:, rows] if values.ndim == 2 else values[rows] for name, values in found.items()
        }

    def _for_each_stretch(self, work: Callable[[slice], None]) -> None:
        """Do the work for all steps, in threads, those that are decided together in one call."""
        starts = range(0, len(self.steps), _STEPS_AT_ONCE)
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(lambda start: work(slice(start, min(start + _STEPS_AT_ONCE, len(self.steps)))), starts))


def _columns_of(linking: Linking) -> list[str]:
    return [f"{name}_{side}" for name in linking.reads for side in ("good", "bad")]


def open_matrix(
    run: Run,
    benchmark: str,
    scorer: str,
    cache: Path,
    read_pairs: Callable[[Path], Pairs],
    opened: ScoreMatrix | None,
) -> ScoreMatrix:
    """Open the scores of a run; they are copied into ``cache`` first where that was not done or they have changed.

    ``read_pairs`` reads a file of pairs or returns those of an equal file; ``opened`` is returned where no file has
    changed since.
    """
    steps = stored_steps(run.folder, benchmark, scorer)
    if not steps:
        raise UserError(f"{run.label}: {benchmark} has no scores by {scorer} there")
    pairs_file = pairs_path(run.folder, benchmark)
    files = {step: score_path(run.folder, benchmark, scorer, step) for step in steps}
    signature = _signature([pairs_file, ACCURACY.path(run.folder), *files.values()])
    if opened is not None and opened.signature == signature:
        return opened
    check_pairs(pairs_file)
    pairs = read_pairs(pairs_file)
    place = cache / hashlib.sha256(f"{run.folder.resolve()}\0{benchmark}\0{scorer}".encode()).hexdigest()[:24]

    def copy(folder: Path) -> None:
        tokens, flops = _places(run, benchmark, scorer, steps)
        names, broken = _copy(run, files.values(), pairs.table, folder)
        facts = Facts(signature=signature, columns=names, broken=broken, tokens=tokens, flops=flops)
        (folder / _CHECKPOINTS).write_text(json.dumps(facts), encoding="utf-8")

    def is_copied(there: Path) -> bool:
        found = _read_facts(there)
        return found is not None and found["signature"] == signature

    facts = _read_facts(build_once(place, is_copied, copy))
    assert facts is not None, "it is copied"
    # Mapped into memory, so that only what is asked for is read.
    columns = {name: np.load(place / f"{name}.npy", mmap_mode="r") for name in facts["columns"]}
    return ScoreMatrix(
        run, benchmark, scorer, np.array(steps, dtype=np.int64), np.array(facts["tokens"], dtype=np.float64),
        np.array(facts["flops"], dtype=np.float64), pairs, columns, frozenset(facts["broken"]), signature,
    )  # fmt: skip


def stored_steps(folder: Path, benchmark: str, scorer: str) -> list[int]:
    """Return the steps whose scores are stored, in order; only -1 for a model that is not a checkpoint."""
    steps = scored_steps(folder, benchmark, scorer)
    return steps or [MODEL_STEP] * score_path(folder, benchmark, scorer, MODEL_STEP).is_file()


def _copy(run: Run, files: Collection[Path], pairs: pd.DataFrame, folder: Path) -> tuple[list[str], list[str]]:
    """Write the columns of all files, one a step, and return their names and the names of those with missing values.

    A column that is the same at all steps is written once, and while reading it takes memory once.
    """
    columns: dict[str, list[Array]] = {}
    for number, path in enumerate(files, start=1):
        check_scores(run.folder, path)
        scores = in_order_of(pairs, read_stored(path), path)
        own = {str(name): scores[name].to_numpy(np.float64) for name in scores.columns if name != "pair"}
        columns = columns or {name: [] for name in own}
        if absent := columns.keys() - own.keys():
            raise UserError(f"{path}: no column {min(absent)}, which other checkpoints have; score it again")
        for name, values in columns.items():
            is_first = bool(values) and np.array_equal(own[name], values[0], equal_nan=True)
            values.append(values[0] if is_first else own[name])
        if number % _SOME == 0 or number == len(files):
            log_line(f"{run.label}: {number} of {len(files)} files of scores copied from {path.parent}")
    for name, values in columns.items():
        same = all(one is values[0] for one in values)
        np.save(folder / f"{name}.npy", values[0] if same else np.stack(values))
    return list(columns), sorted(
        name for name, values in columns.items() if any(np.isnan(one).any() for one in values)
    )


def _places(run: Run, benchmark: str, scorer: str, steps: Sequence[int]) -> tuple[list[float], list[float]]:
    """Return training tokens and FLOPs of each step, as the checkpoint says, or else the table of accuracies."""
    known = pd.DataFrame(index=list(steps), columns=["tokens", "flops"], dtype=float)
    for step in set(steps) & set(run.saved):
        manifest = read_manifest(checkpoint_folder(run.folder, step))
        known.loc[step] = float(manifest.tokens), float(manifest.flops)
    if known["tokens"].isna().any():  # checkpoints that were deleted; the table of accuracies takes long to read
        import pyarrow.compute

        column = pyarrow.compute.field
        named = (
            (column("benchmark") == benchmark) & (column("scorer") == scorer) & (column("phenomenon") == "all")
        )
        rows = score_frame([run], AGGREGATES & named).drop_duplicates("step").set_index("step")
        known = known.combine_first(rows[["tokens", "flops"]].astype(float)).loc[list(steps)]
    return known["tokens"].tolist(), known["flops"].tolist()


def _signature(paths: Sequence[Path]) -> str:
    """Return what changes when one of the files does."""
    stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path.exists()]
    return hashlib.sha256(json.dumps([_FORMAT, stats]).encode()).hexdigest()


def _read_facts(place: Path) -> Facts | None:
    """Read what is kept beside copied columns; None where there is nothing that can be read."""
    try:
        facts: Facts = json.loads((place / _CHECKPOINTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) else None
