"""Scoring as a command and as a hook: what may be asked for, checked at the border."""

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_validator
from pydantic.dataclasses import dataclass

from eval.benchmarks import REGISTRY, load_benchmark
from eval.linking import Linking, parse_linking
from eval.metrics import TiesRule
from eval.results import check_out
from eval.targets import Target, has_checkpoint, model_target, run_targets
from ucurve.errors import UserError, missing_folder, unknown_name
from ucurve.progress import say

LINKING = ("lp", "mean_lp", "pen_lp", "slln_lp", "slor")
Value = TypeVar("Value")


def _some(values: tuple[Value, ...]) -> tuple[Value, ...]:
    if not values:
        raise ValueError("the list is empty; give at least one")
    return tuple(dict.fromkeys(values))


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class ScoreSettings:
    """What to score and how.

    Attributes:
        benchmarks: registered names.
        benchmark_root: folder with one folder per benchmark; None takes benchmarks from the hub.
        linking: linking functions of ``accuracy.csv``; a parameter follows the name, ``slln_lp:0.3``. One that needs
            unigrams is an error for a model without counts, unless it is only there by default.
        ties_rules: what a tie counts in ``accuracy.csv``; one set of rows for each.
        batch_tokens: most tokens of one forward pass (a longer sentence goes alone); changes no decision.
    """

    benchmarks: tuple[str, ...] = ()
    benchmark_root: Path | None = None
    linking: Annotated[tuple[str, ...], AfterValidator(_some)] = LINKING
    ties_rules: Annotated[tuple[TiesRule, ...], AfterValidator(_some)] = ("half",)
    batch_tokens: int = Field(default=4096, ge=1)

    @field_validator("benchmarks")
    @classmethod
    def _known_benchmarks(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in REGISTRY:
                raise ValueError(str(unknown_name("benchmark", name, REGISTRY)))
        return tuple(dict.fromkeys(names))

    @field_validator("linking")
    @classmethod
    def _known_linking(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return tuple(dict.fromkeys(parse_linking(name).name for name in names))
        except UserError as error:
            raise ValueError(str(error)) from error


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class ScoreCommand(ScoreSettings):
    """The configuration of ``score.py``: the settings, and either a run or a model.

    Attributes:
        run: a run folder, or a pattern that matches several.
        steps: checkpoints of the run; None for all.
        model: a local model folder, or ``owner/name`` on the hub.
        out: with a model, the folder that gets the files.
    """

    run: str | None = None
    steps: Annotated[tuple[int, ...], AfterValidator(_some)] | None = None
    model: str | None = None
    out: Path | None = None

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        if (self.run is None) == (self.model is None):
            raise ValueError("give exactly one of run=RUN and model=PATH_OR_HUB_ID")
        if (self.model is None) != (self.out is None):
            raise ValueError("out=DIR goes with model=, and model= needs it; the scores of a run go into the run")
        if self.model is not None and self.steps is not None:
            raise ValueError("steps= goes with run=; a model has no steps")
        if not self.benchmarks:
            raise ValueError(f"give benchmarks=[...]; there are {', '.join(sorted(REGISTRY))}")
        return self


def execute(command: ScoreCommand) -> None:
    """Do what ``score.py`` was asked for.

    Raises:
        UserError: when a run, model, step or benchmark is missing or does not fit.
        RunError: when a score is not finite.
    """
    if command.model is not None and command.out is not None:
        score_model(command.model, command.out, command)
    elif command.run is not None:
        for run in find_runs(command.run):
            score_run(run, command, command.steps)


def find_runs(pattern: str) -> list[Path]:
    """Return the run folders a path or a pattern such as ``runs/14m-*`` stands for, sorted.

    A run of a pattern that has no checkpoint yet is passed over, and that is said.

    Raises:
        UserError: when there is none.
    """
    if Path(pattern).is_dir():
        return [Path(pattern)]
    found = glob.glob(pattern)  # noqa: PTH207 - Path.glob takes no absolute pattern
    runs = sorted(path for path in map(Path, found) if (path / "checkpoints").is_dir())
    if not runs and glob.has_magic(pattern):
        raise UserError(f"run: no run folder matches {pattern!r}")
    if not runs:
        raise missing_folder("run", Path(pattern))
    empty = [run for run in runs if not has_checkpoint(run)]
    if len(empty) == len(runs):
        raise UserError(f"run: no checkpoint yet in {', '.join(map(str, runs))}")
    for run in empty:
        say(f"{run}: no checkpoint yet; passed over")
    return [run for run in runs if run not in empty]


def score_run(run: Path, settings: ScoreSettings, steps: Sequence[int] | None = None) -> None:
    """Score checkpoints of a run on the benchmarks of the settings and refresh ``eval/accuracy.csv``.

    A score whose key matches is not computed again.

    Args:
        run: the run folder.
        settings: what to score and how.
        steps: the checkpoints; None for all.

    Raises:
        UserError: when something is missing, broken or does not fit; then nothing has been scored.
        RunError: when a score is not finite; scores before it are kept.
    """
    _score(run, run_targets(run, steps), settings)


def score_model(model: str, out: Path, settings: ScoreSettings) -> None:
    """Score one model, with step -1, into the files of a run's eval folder below ``out``.

    Args:
        model: a local folder, or ``owner/name`` on the hub.
        out: the folder that gets ``eval/``.
        settings: what to score and how.

    Raises:
        UserError: as ``score_run``, or ``out`` is no folder for this model's scores.
        RunError: as ``score_run``.
    """
    check_out(out)
    target = model_target(model)
    check_out(out, target.weights_sha256())
    _score(out, [target], settings)


def check_benchmarks(settings: ScoreSettings, tokenizer: Any, context: int) -> None:
    """Check that every benchmark is there and whole, and that the context holds its sentences.

    Args:
        settings: names and root of the benchmarks.
        tokenizer: the Hugging Face tokenizer that is going to be used.
        context: positions of the model.

    Raises:
        UserError: naming the benchmark and, for a sentence that does not fit, the pair.
    """
    from eval.scoring.sentences import check_length, encode

    for name in settings.benchmarks:
        pairs = load_benchmark(name, settings.benchmark_root)
        check_length(pairs, encode(pairs, tokenizer), context)


def _score(folder: Path, targets: Sequence[Target], settings: ScoreSettings) -> None:
    from eval.sweep import Sweep

    benchmarks = [load_benchmark(name, settings.benchmark_root) for name in settings.benchmarks]
    linkings = [parse_linking(name) for name in settings.linking]
    _check_unigrams(targets, linkings, asked=settings.linking != LINKING)
    Sweep(folder, benchmarks, linkings, settings.ties_rules, settings.batch_tokens).score(targets)


def _check_unigrams(targets: Sequence[Target], linkings: Sequence[Linking], asked: bool) -> None:
    needing = ", ".join(linking.name for linking in linkings if linking.needs_unigrams)
    without = [target for target in targets if not target.counts.exists()]
    if not needing or not without:
        return
    if asked:
        raise UserError(f"linking: {needing} needs unigram counts, and there is no {without[0].counts}")
    say(f"no {without[0].counts}: {needing} is left out")
