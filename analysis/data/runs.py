"""Finds run folders, says what each one is (its identity, its line, how far it got), and lists them as a table."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import pandas as pd

from ucurve.analysis.data.design import NO_DESIGN, Design, make_design
from ucurve.errors import DamagedError, UserError, nearest
from ucurve.eval.models.same_weights import describe_equal, find_equal
from ucurve.eval.store.keys import find_key, scores_below
from ucurve.eval.store.tables import ACCURACY
from ucurve.fields import format_count, format_words
from ucurve.invocation import command
from ucurve.storage.facts import RunFacts, read_manifest, read_run_facts
from ucurve.storage.run_folder import (
    CONFIGURATION,
    EVAL,
    MANIFEST,
    RECORD,
    STEPS,
    checkpoints,
    match_folders,
    parse_step,
)
from ucurve.training.factors import read_factors

NOT_TRAINED_HERE = "not trained here"  # the status of a model that was only scored
_MARKS = (RECORD, str(ACCURACY.place))
_MOST_RUNS = 20  # that are listed


@dataclass(frozen=True, repr=False)
class Run:
    """A run folder, or a folder of scores of a model that was not trained here."""

    folder: Path
    label: str  # the shortest end of its path that no other run of the analysis has
    saved: tuple[int, ...]  # steps of the checkpoints that are complete
    facts: RunFacts | None  # what run.json says; None for a model that was not trained here
    # of its matrix products, which manifests record; None without a checkpoint
    flops_per_token: float | None = None
    design: Design = NO_DESIGN  # of all runs of the analysis
    is_alone: bool = False  # a copy of another run, or one that has a copy: no seed of its line

    def __repr__(self) -> str:
        """Name it, without all that its files record."""
        return f"Run({self.label}, {self.status}, {len(self.saved)} checkpoints)"

    @property
    def status(self) -> str:
        """That of ``run.json``, or ``not trained here``."""
        return self.facts.status if self.facts else NOT_TRAINED_HERE

    @property
    def planned(self) -> tuple[int, ...]:
        """Steps at which checkpoints were planned; empty for a model that was not trained here."""
        return self.facts.checkpoint_steps if self.facts else ()

    @property
    def model(self) -> str:
        """The model's size, as named in the configuration."""
        return self.facts.model if self.facts else self.label

    @property
    def parameters(self) -> int | None:
        """All parameters of the model; None for one that was not trained here."""
        return self.facts.parameters["total"] if self.facts else None

    @property
    def size(self) -> str:
        """The level of the factor ``size``; empty for a model that was not trained here."""
        return str(self.design.level(self.label, "size") or "")

    @property
    def line(self) -> str:
        """Label of its line: the runs that differ from it in the seed only."""
        lines = self.design.lines()
        if self.label in lines and not self.is_alone:
            return lines[self.label]
        return f"{self.label} ({self.status})" if self.label in lines.values() else self.label

    def line_without(self, *factors: str) -> str:
        """Return the label of the runs that are equal to it in all factors but some."""
        return self.design.lines(*factors).get(self.label, self.label)

    @property
    def has_ended(self) -> bool:
        """Whether its last checkpoint is the end of its training."""
        return self.facts is not None and self.facts.finished

    @property
    def budget(self) -> str:
        """The budget as it was given: ``10M`` tokens, ``102Mw`` words; empty for a model that was not trained here."""
        if self.facts is None:
            return ""
        words = self.facts.words
        return format_words(words.asked) if words else format_count(self.facts.tokens_budget)


def find_runs(patterns: Iterable[str]) -> list[Run]:
    """Read every run folder that matches a pattern, by size, then token budget, line and seeds, then its folder's name.

    A pattern is a path with ``*``, ``?`` and ``[...]`` as wildcards; a folder that has just the name written is meant
    literally.

    Raises:
        UserError: when a pattern matches no run folder, or a file of a run is broken.
        DamagedError: when ``run.json`` or a manifest is not what was written.
    """
    folders = {folder.resolve(): folder for pattern in patterns for folder in _match_runs(pattern)}
    ordered = sorted(folders.values(), key=lambda folder: (folder.name, str(folder)))
    # A label is the shortest end of its path that no other run has, as long for all.
    paths = [folder.resolve() for folder in ordered]
    for length in range(1, max(len(path.parts) for path in paths) + 1):
        labels = ["/".join(path.parts[-length:]) for path in paths]
        if len(set(labels)) == len(labels):
            break
    runs = [_read_run(folder, label) for folder, label in zip(ordered, labels, strict=True)]
    # Runs are placed by their lines, which only a design knows.
    placed = sorted(_with_design(runs), key=_place)
    return _with_design(placed)  # whose levels are in the order of the runs, not of the names of folders


def equal_steps(run: Run) -> str:
    """Describe which scored steps of a model from elsewhere have weights of one hash; empty where none have."""
    if run.status != NOT_TRAINED_HERE:  # each step has a manifest
        return ""
    weights: dict[int, str] = {}
    for file in sorted((run.folder / EVAL).rglob(f"{STEPS}.json")):
        step = parse_step(file.stem)
        if step is not None and step >= 0 and step not in weights and (key := find_key(file)) is not None:
            weights[step] = key.weights_sha256
    return describe_equal(find_equal(dict(sorted(weights.items()))))


def describe_copies(runs: Iterable[Run]) -> list[str]:
    """Name folders that hold one and the same run, which keep the runs of their settings from being seeds of a line."""
    first: dict[object, Run] = {}
    found = []
    for run in runs:
        if run.facts is None:
            continue
        same = first.setdefault((run.facts.cell_sha256, run.facts.data_sha256, run.facts.seeds), run)
        if same is not run:
            found.append(
                f"{same.folder} and {run.folder} hold one run, {run.facts.name}: a copy is no other seed, so every run "
                "of these settings is a line by itself; leave one of the two out of runs="
            )
    return found


def _match_runs(pattern: str) -> list[Path]:
    """Return the run folders of a pattern; a ``UserError`` with what may have been meant where there are none."""
    paths = match_folders(pattern)
    if found := [path for path in paths if _is_run(path)]:
        return found
    if inner := [path for path in paths if path.is_dir() and any(map(_is_run, path.iterdir()))]:
        raise UserError(f"{pattern!r} is not a run folder but holds some: give runs='{inner[0]}/*'")
    close = _nearest_folder(pattern)
    hint = f" The nearest folder is {str(close)!r}." if close else ""
    raise UserError(
        f"no run folder matches {pattern!r}; a run folder holds {', '.join(_MARKS[:-1])} or {_MARKS[-1]}, and "
        f"'{command('train', 'model=14m tokens=10M')}' makes one in runs/.{hint}"
    )


def _is_run(path: Path) -> bool:
    return path.is_dir() and (
        any((path / mark).is_file() for mark in _MARKS) or next(scores_below(path), None) is not None
    )


def _nearest_folder(pattern: str) -> Path | None:
    """Return the folder with runs whose path is most like a pattern that none matches; None where none is near."""
    reached = Path()
    for part in Path(pattern).parts:
        if not (reached / part).is_dir():
            children = [child.name for child in reached.iterdir() if child.is_dir()]
            # Wildcards would count as letters in which the names differ.
            reached /= nearest(re.sub(r"[*?\[\]]", "", part), children) or ""
            near = chain([reached], reached.glob("*"), reached.glob("*/*"))
            return reached if reached != Path() and any(map(_is_run, near)) else None
        reached /= part
    return None if reached == Path() else reached


def _read_run(folder: Path, label: str) -> Run:
    """Read what a run folder says of itself, without the design of all runs."""
    # A folder of scores alone has neither of these files, a run both.
    if not (folder / RECORD).is_file() and (folder / CONFIGURATION).is_file():
        raise DamagedError(f"{folder / RECORD}: missing, and the folder is a run's; restore it from a copy")
    whole = [path for path in checkpoints(folder) if (path / MANIFEST).exists()]
    saved = {step: path for path in whole if (step := parse_step(path.name)) is not None}
    flops_per_token = None
    for step, path in saved.items():
        manifest = read_manifest(path)
        if manifest.step != step:
            raise DamagedError(f"{path / MANIFEST}: of step {manifest.step}, in the folder of step {step}")
        if manifest.tokens:  # step 0 has none, and each other step has the same ratio
            flops_per_token = manifest.flops_exact / manifest.tokens
    return Run(folder, label, tuple(sorted(saved)), read_run_facts(folder), flops_per_token=flops_per_token)


def _place(run: Run) -> tuple[float, float, str, int, int]:
    if run.facts is None:  # models from elsewhere come last
        return math.inf, math.inf, "", 0, 0
    seeds = run.facts.seeds
    return run.facts.parameters["total"], run.facts.tokens_budget, run.line_without(), seeds.init, seeds.data


def _with_design(runs: Sequence[Run]) -> list[Run]:
    """Tell each run the design of all, and whether it is one of several copies."""
    facts = {run.label: run.facts for run in runs if run.facts}
    factors = {run.label: run.facts.factors or read_factors(run.folder, run.facts) for run in runs if run.facts}
    design = make_design(factors, {label: (one.data_sha256, one.cell_sha256) for label, one in facts.items()})
    lines = design.lines()
    # Copies of one run are not independent draws: where seeds are equal each run is a line of its own.
    uses = Counter((lines[label], one.seeds.init, one.seeds.data) for label, one in facts.items())
    with_copies = {line for (line, *_), count in uses.items() if count > 1}
    return [replace(run, design=design, is_alone=lines.get(run.label) in with_copies) for run in runs]


class RunList(list[Run]):
    """The runs of a study, which show themselves as a table."""

    def _repr_html_(self) -> str:
        return table_html(describe_runs(self))

    def __repr__(self) -> str:
        return table_text(describe_runs(self))


def describe_runs(runs: Collection[Run]) -> pd.DataFrame:
    """Tabulate model, tokens, seed and status of each run."""
    rows = []
    for run in runs:
        facts = run.facts
        seeds = sorted({facts.seeds.init, facts.seeds.data}) if facts else []
        rows.append(
            {
                "run": run.label,
                "model": run.model,
                "tokens": format_count(facts.tokens_budget) if facts else "",
                "seed": " and ".join(map(str, seeds)),
                "status": facts.status if facts else NOT_TRAINED_HERE,
            }
        )
    return pd.DataFrame(rows)


def table_html(table: pd.DataFrame) -> str:
    """Write the first rows of a table of runs as HTML."""
    more = f"<p>and {len(table) - _MOST_RUNS} more runs</p>" if len(table) > _MOST_RUNS else ""
    named = table.rename(columns=lambda name: str(name).replace("_", " "))
    return str(named.head(_MOST_RUNS).to_html(index=False)) + more


def table_text(table: pd.DataFrame) -> str:
    """Write the first rows of a table of runs as text."""
    more = f"\nand {len(table) - _MOST_RUNS} more runs" if len(table) > _MOST_RUNS else ""
    return str(table.head(_MOST_RUNS).to_string(index=False)) + more
