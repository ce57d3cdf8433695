"""Scoring as a hook on saved checkpoints: the only file of training that knows ``ucurve.eval.run``."""

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from ucurve import invocation
from ucurve.eval.pairs import parse_subset
from ucurve.eval.run import check_benchmarks, load_benchmarks, score_run
from ucurve.eval.scoring.sharing import ProcessGroup
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.store.reported import read_reported
from ucurve.eval.store.tables import ACCURACY
from ucurve.eval.store.views import load_table
from ucurve.eval.sweep.load import SweepCache
from ucurve.progress import log_line

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_cache = SweepCache()  # the benchmarks are the same for every checkpoint that this process scores


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class EvalSettings(ScoreSettings):
    """Scoring settings, and when to score: at ``each`` checkpoint, at the ``end``, ``later`` by score.py, ``never``."""

    when: Literal["each", "end", "later", "never"]

    @property
    def scores_here(self) -> bool:
        """Whether the process that trains scores."""
        return self.when in ("each", "end") and bool(self.benchmarks)

    @property
    def score_arguments(self) -> list[str]:
        """The arguments by which ``score.py`` takes the same pairs, of the demo where there is no benchmark."""
        given = [f"benchmarks={','.join(self.benchmarks) or 'demo'}"]
        given += [] if self.benchmark_root is None else [f"benchmark_root={self.benchmark_root}"]
        return given + ([] if self.subset is None else [f"subset={parse_subset(self.subset).asked}"])


def check_benchmarks_exist(settings: EvalSettings) -> None:
    """Check that every benchmark is there and complete.

    Raises:
        UserError: naming the benchmark and the place of what is wrong.
    """
    if settings.when != "never":
        load_benchmarks(settings, _cache)


def check_pairs_fit(
    settings: EvalSettings, tokenizer: "PreTrainedTokenizerBase", context: int, masked: bool = False
) -> None:
    """Check that the model's context holds every sentence.

    Raises:
        UserError: naming the pair that does not fit.
    """
    if settings.when != "never" and settings.benchmarks:
        check_benchmarks(settings, tokenizer, context, _cache, masked)


def log_what_is_not_scored(run: Path, settings: EvalSettings, runs: Iterable[Path] = ()) -> None:
    """Log once how to score a run, or the runs of a pattern, where no command or another one scores them."""
    if str(run) in _cache.logged or settings.when == "never":
        return
    given = [f"run={run}", *["watch=true"] * (settings.when == "later"), *settings.score_arguments]
    command = invocation.command("score", shlex.join(given))
    if settings.when == "later":
        log_line(
            f"scored beside the training or later by this, with the other keys given below eval.:\n  {command}"
        )
    elif not settings.benchmarks:
        log_line(f"nothing is scored, as benchmarks= names no benchmark; later, for example:\n  {command}")
    _cache.logged.update(map(str, [run, *runs]))


def score_checkpoint(run: Path, settings: EvalSettings, step: int, group: ProcessGroup | None = None) -> None:
    """Score the checkpoint just written when the settings ask for each; every process of the run calls this."""
    if settings.when == "each" and settings.benchmarks:
        score_run(run, settings, steps=[step], cache=_cache, group=group)


def score_at_end(run: Path, settings: EvalSettings, group: ProcessGroup | None = None) -> None:
    """Score every checkpoint of a finished run that has no valid score yet; see ``score_checkpoint``."""
    if group is None or group.rank == 0:
        log_what_is_not_scored(run, settings)
    if settings.scores_here:
        score_run(run, settings, cache=_cache, group=group)
        _cache.end_tables()


def read_accuracies(run: Path) -> dict[int, dict[str, float]]:
    """Read the accuracies of every scored checkpoint, by step, overall and by phenomenon.

    The names are ``accuracy/<benchmark>/<phenomenon>``, with the way to score after the benchmark where it has several.
    Linking function, rule for ties and overall number are those that scoring logs (``ucurve.eval.store.reported``).
    """
    table = load_table(ACCURACY, run)
    several = table.groupby("benchmark")["scorer"].transform("nunique") > 1
    named = table.assign(name=table["benchmark"].where(~several, table["benchmark"] + "/" + table["scorer"]))
    found: dict[int, dict[str, float]] = {}
    for (_, benchmark, name), rows in named.groupby(["step", "benchmark", "name"]):
        shown = read_reported(run, str(benchmark)).choose_rows(rows)
        for step, phenomenon, accuracy in shown[["step", "phenomenon", "accuracy"]].itertuples(
            index=False, name=None
        ):
            found.setdefault(step, {})[f"accuracy/{name}/{phenomenon}"] = accuracy
    return found
