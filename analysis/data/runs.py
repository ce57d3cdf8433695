"""Finds run folders and says what each one is: its identity, the line it belongs to, and how far it got."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

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

NOT_TRAINED_HERE = "not trained here"  # the status of a model that was only scored
_MARKS = (RECORD, str(ACCURACY.place))
_SEED_IN_NAME = re.compile(r"-s(\d+|i\d+d\d+)(?=-|$)")


@dataclass(frozen=True, repr=False)
class Run:
    """A run folder, or a folder of scores of a model that was not trained here."""

    folder: Path
    label: str  # the shortest end of its path that no other run of the analysis has
    group: str  # label of the line it belongs to: the runs that differ from it in the seed only
    saved: tuple[int, ...]  # steps of the checkpoints that are complete
    facts: RunFacts | None  # what run.json says; None for a model that was not trained here
    precision: str | None = None  # of the products that trained it, where the runs of the analysis differ in it
    architecture: str | None = None  # the name in transformers, where the runs of the analysis differ in it
    flops_per_token: float | None = None  # of its matrix products, which manifests record; None without a checkpoint
    suffix: str | None = None  # of its name, such as rate=wsd, where the runs of the analysis differ in it

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
        """The model's size (``size_of``)."""
        return size_of(self.model)

    @property
    def has_ended(self) -> bool:
        """Whether its last checkpoint is the end of its training."""
        return self.facts is not None and self.facts.finished

    @property
    def variant(self) -> str:
        """What distinguishes the model besides size and budget: architecture, tokenizer, text, suffix, precision."""
        if self.facts is None:
            return self.group
        parts = (self.architecture, self.facts.tokenizer, self.facts.data, self.suffix, self.precision)
        return ", ".join(filter(None, parts))

    @property
    def family(self) -> str:
        """Label of the line without the size; lines that share it are sizes of one architecture, trained alike."""
        return self._without_size(self.group)

    @property
    def recipe(self) -> str:
        """Label of the line without size and budget."""
        return self._without_size(self.series)

    def _without_size(self, label: str) -> str:
        return label.replace(f"{self.model}-", f"{self.architecture}-" if self.architecture else "", 1)

    @property
    def series(self) -> str:
        """Label of the line without the budget; lines that share it are the budgets of one model."""
        return self.group.replace(f"-{self.budget}-", "-", 1) if self.facts else self.group

    @property
    def budget(self) -> str:
        """The budget as it was given: ``10M`` tokens, ``102Mw`` words; empty for a model that was not trained here."""
        if self.facts is None:
            return ""
        words = self.facts.words
        return format_words(words.asked) if words else format_count(self.facts.tokens_budget)


def find_runs(patterns: Iterable[str]) -> list[Run]:
    """Read every run folder that matches a pattern, by size, then token budget, then the name of the folder.

    A pattern is a path with ``*``, ``?`` and ``[...]`` as wildcards; a folder that has just the name written is meant
    literally.
    """
    folders = {folder.resolve(): folder for pattern in patterns for folder in _match_runs(pattern)}
    ordered = sorted(folders.values(), key=lambda folder: (folder.name, str(folder)))
    labels = _shortest_labels([folder.resolve() for folder in ordered])
    runs = [_read_run(folder, label) for folder, label in zip(ordered, labels, strict=True)]
    return _with_differences(_with_groups(sorted(runs, key=_size_and_budget)))


def size_of(model: str) -> str:
    """Return the end of a model's name, which sizes of several architectures share: ``14m`` of ``llama-14m``."""
    return model.rpartition("-")[2]


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
    reached = Path()
    for part in Path(pattern).parts:
        if not (reached / part).is_dir():
            children = [child.name for child in reached.iterdir() if child.is_dir()]
            reached /= nearest(re.sub(r"[*?\[\]]", "", part), children) or ""
            return reached if reached != Path() and _leads_to_runs(reached) else None
        reached /= part
    return None if reached == Path() else reached


def _leads_to_runs(folder: Path) -> bool:
    return _is_run(folder) or any(_is_run(inner) for depth in ("*", "*/*") for inner in folder.glob(depth))


def _shortest_labels(folders: Sequence[Path]) -> list[str]:
    for length in range(1, max(len(folder.parts) for folder in folders) + 1):
        labels = ["/".join(folder.parts[-length:]) for folder in folders]
        if len(set(labels)) == len(labels):
            break
    return labels


def _read_run(folder: Path, label: str) -> Run:
    if not (folder / RECORD).is_file() and (folder / CONFIGURATION).is_file():
        raise DamagedError(f"{folder / RECORD}: missing, and the folder is a run's; restore it from a copy")
    whole = [path for path in checkpoints(folder) if (path / MANIFEST).exists()]
    saved = {step: path for path in whole if (step := parse_step(path.name)) is not None}
    flops_per_token = None
    for step, path in saved.items():
        manifest = read_manifest(path)
        if manifest.step != step:
            raise DamagedError(f"{path / MANIFEST}: of step {manifest.step}, in the folder of step {step}")
        if manifest.tokens:
            flops_per_token = manifest.flops_exact / manifest.tokens
    return Run(folder, label, label, tuple(sorted(saved)), read_run_facts(folder), flops_per_token=flops_per_token)


def _size_and_budget(run: Run) -> tuple[float, float]:
    return (run.parameters, run.facts.tokens_budget) if run.parameters and run.facts else (math.inf, math.inf)


def _with_groups(runs: Sequence[Run]) -> list[Run]:
    alike: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        # The cell is of the settings; the tokens tell what was built of them.
        alike[f"{run.facts.cell_sha256} {run.facts.data_sha256}" if run.facts else run.label].append(run)
    lines: list[list[Run]] = []
    for members in alike.values():
        seeds = {(run.facts.seeds.init, run.facts.seeds.data) for run in members if run.facts}
        # Copies of one run are not independent draws: where seeds are equal each run is a line of its own.
        lines += [members] if len(seeds) == len(members) else [[run] for run in members]
    shared = [{_SEED_IN_NAME.sub("", run.label, count=1) for run in line} for line in lines]
    names = [found.pop() if len(found) == 1 else line[0].label for found, line in zip(shared, lines, strict=True)]
    uses = Counter(names)
    group = {
        run.label: name if uses[name] == 1 else line[0].label
        for line, name in zip(lines, names, strict=True)
        for run in line
    }
    return [replace(run, group=group[run.label]) for run in runs]


def _with_differences(runs: list[Run]) -> list[Run]:
    """Say of each run what it was trained with, where the runs differ in that."""
    trained = {run.label: (run.folder, run.facts) for run in runs if run.facts}
    precision = {label: facts.engine.precision for label, (_, facts) in trained.items()}
    architecture = {label: _read_architecture(folder / CONFIGURATION) for label, (folder, _) in trained.items()}
    suffix = _differing_suffixes({label: facts.name for label, (_, facts) in trained.items()})
    if len(set(precision.values())) > 1:
        runs = [replace(run, precision=precision.get(run.label)) for run in runs]
    if len(set(architecture.values())) > 1:
        runs = [replace(run, architecture=architecture.get(run.label)) for run in runs]
    if len(set(suffix.values())) > 1:
        runs = [replace(run, suffix=suffix.get(run.label)) for run in runs]
    return runs


def _differing_suffixes(names: Mapping[str, str]) -> dict[str, str]:
    """Return what names have after the seed, without what all have: choices other than usual, then ``name=``."""
    parts = {label: _suffix_of(name) for label, name in names.items()}
    in_all = set.intersection(*map(set, parts.values())) if parts else set()
    return {label: ", ".join(part for part in own if part not in in_all) for label, own in parts.items()}


def _suffix_of(name: str) -> list[str]:
    seed = _SEED_IN_NAME.search(name)
    return [] if seed is None else re.split(r"-(?=[\w.]+=)", name[seed.end() :].removeprefix("-"))


def _read_architecture(configuration: Path) -> str:
    """Return the name that a run's model has in transformers; a size of Pythia's has no such key."""
    text = configuration.read_text(encoding="utf-8") if configuration.is_file() else ""
    found = re.search(r"^  architecture: (\S+)$", text, re.MULTILINE)
    return found[1] if found else "gpt_neox"
