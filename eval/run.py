"""Scoring as a command and as a hook."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from rich.text import Text

from ucurve import invocation
from ucurve.config import check
from ucurve.errors import RunError, UcurveError, UserError, missing_folder
from ucurve.eval.benchmarks.custom import own_cards
from ucurve.eval.benchmarks.registry import expand_benchmarks, use_card
from ucurve.eval.models.averages import average_runs
from ucurve.eval.models.targets import Target, has_checkpoint, model_targets, run_targets
from ucurve.eval.pairs import subset_pairs
from ucurve.eval.scoring.sharing import ProcessGroup, agreeing
from ucurve.eval.settings import ScoreCommand, ScoreSettings
from ucurve.eval.store.scores import StoredScores, check_out
from ucurve.eval.sweep.load import SweepCache
from ucurve.eval.watch import watch_runs
from ucurve.gather import gather
from ucurve.progress import log_line, print_line
from ucurve.storage.run_folder import CHECKPOINTS, match_folders

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def score_command(values: dict[str, object]) -> None:
    """Do what a composed configuration asks ``score.py`` for (``execute``)."""
    execute(check(ScoreCommand, values))


def execute(command: ScoreCommand) -> None:
    """Do what ``score.py`` was asked for.

    Raises:
        UserError: Something that was asked for is missing, unknown or does not fit.
        RunError: A score is not finite, or a run of several could not be scored.
    """
    if command.list:
        from ucurve.eval.benchmarks.listing import list_benchmarks

        print(list_benchmarks())  # noqa: T201 - what the command is for
    elif command.check:
        report_data(command)
    elif command.run is not None and command.watch:
        score_as_they_appear(command.run, command)
    else:
        score_asked(command)
    print_line(Text(f"next: {next_command(command)}"))


def next_command(command: ScoreCommand) -> str:
    """Return what may follow a command, as it is typed: looking at scores, or making them."""
    if command.list:
        return invocation.command("score", "check=true benchmarks=demo")
    if not command.check:
        # The names of the folders of means begin with that of their run.
        scored = (
            str(command.out)
            if command.run is None
            else command.run.rstrip("*") + "*" * (command.average is not None)
        )
        return invocation.command("analyze", f"runs={shlex.quote(scored)}")
    place = command.run or (None if command.model else "RUN")
    given = {"run": place, "model": command.model, "out": "DIR" if command.model else None}
    given |= {"benchmarks": ",".join(command.benchmarks)}
    given |= {"benchmark_root": None if command.benchmark_root is None else str(command.benchmark_root)}
    words = [f"{name}={value}" for name, value in given.items() if value is not None]
    return invocation.command("score", shlex.join(words))


def score_asked(command: ScoreCommand) -> list[StoredScores]:
    """Score the run, the runs or the model of a command, and return where every score is."""
    if command.run is not None:
        runs = find_runs(command.run)
        if command.average is not None:
            runs = average_runs(runs, command.average)
        return _score_each(
            ((run, command.run_steps) for run in runs), command, SweepCache(), alone=len(runs) == 1
        )
    assert command.model is not None and command.out is not None
    return score_model(
        command.model, command.out, command, command.revisions, command.revision_steps, command.keep
    )


def score_as_they_appear(pattern: str, settings: ScoreSettings) -> None:
    """Score the checkpoints of runs that are trained at the same time, until all runs have ended (``watch_runs``)."""
    cache = SweepCache()
    load_benchmarks(settings, cache)  # a mistake shows before the first checkpoint
    _score_each(watch_runs(pattern), settings, cache, alone=not has_magic(pattern), watching=True)
    cache.end_tables()


def _score_each(
    asked: Iterable[tuple[Path, Sequence[int] | None]],
    settings: ScoreSettings,
    cache: SweepCache,
    alone: bool,
    watching: bool = False,
) -> list[StoredScores]:
    """Score steps of runs; errors are raised after the last one, or at once where a run is scored ``alone``."""
    scored: list[StoredScores] = []
    runs: set[Path] = set()
    failures: dict[Path, UcurveError] = {}
    for run, steps in asked:
        runs.add(run)
        try:
            scored += score_run(run, settings, steps, cache)
        except (UserError, RunError) as error:
            if alone:
                raise
            if watching:  # the end, where all errors are named, may be far
                log_line(f"{run}: {error}")
            failures[run] = error
        if not watching:
            cache.end_tables()
    if failures:
        kind = UserError if all(isinstance(error, UserError) for error in failures.values()) else RunError
        # Each message once, as many runs have the same mistake.
        having = gather((str(error), str(run)) for run, error in failures.items())
        lines = "".join(f"\n  {', '.join(names)}: {message}" for message, names in having.items())
        raise kind(f"{len(failures)} of {len(runs)} runs were not scored:{lines}")
    return scored


def report_data(command: ScoreCommand) -> None:
    """Print duplicates, odd lines and lengths of each benchmark, in tokens too where a run or a model is given."""
    from ucurve.eval.benchmarks.datacheck import data_report
    from ucurve.huggingface.pretrained import load_tokenizer

    targets: list[Target] = []
    if command.model is not None:
        targets = model_targets(command.model, None, command.weights)
    elif command.run is not None:
        targets = [target for run in find_runs(command.run) for target in run_targets(run)[:1]]
    benchmarks = load_benchmarks(command)
    tokenizers: list[PreTrainedTokenizerBase | None] = [load_tokenizer(target.folder) for target in targets] or [
        None
    ]
    for pairs in benchmarks:
        for tokenizer in tokenizers:
            print(data_report(pairs, tokenizer).text())  # noqa: T201 - what the command is for


def find_runs(pattern: str) -> list[Path]:
    """Return the run folders of a path or a pattern, sorted; of several, those without a checkpoint are passed over.

    Raises:
        UserError: There is no such run, or none of them has a checkpoint.
    """
    if Path(pattern).is_dir():  # also one whose name looks like a pattern
        return [Path(pattern)]
    runs = [path for path in match_folders(pattern) if (path / CHECKPOINTS).is_dir()]
    if not runs and has_magic(pattern):
        raise UserError(f"run: no run folder matches {pattern!r}")
    if not runs:
        raise missing_folder("run", Path(pattern))
    empty = [run for run in runs if not has_checkpoint(run)]
    if len(empty) == len(runs):
        raise UserError(f"run: no checkpoint yet in {', '.join(map(str, runs))}")
    for run in empty:
        log_line(f"{run}: no checkpoint yet; passed over")
    return [run for run in runs if run not in empty]


def score_run(
    run: Path,
    settings: ScoreSettings,
    steps: Sequence[int] | None = None,
    cache: SweepCache | None = None,
    group: ProcessGroup | None = None,
) -> list[StoredScores]:
    """Score checkpoints of a run, None for all, on the benchmarks, unless scores of the same key are stored.

    All processes of a ``group`` call this and score together. After a ``UserError`` nothing has been scored; after a
    ``RunError``, a score that is not finite, scores before it are kept.
    """
    with agreeing(group):
        targets = run_targets(run, steps)
    return _score(run, targets, settings, cache, group)


def score_model(
    model: str,
    out: Path,
    settings: ScoreSettings,
    revisions: Sequence[str] | None = None,
    steps: Mapping[str, int] | None = None,
    keep: bool = True,
) -> list[StoredScores]:
    """Score a model that was not trained as a run here, into the files of a run's eval folder below ``out``.

    ``revisions`` and ``steps`` are as in ``model_targets``. Unless they are to be kept, weights that were fetched from
    the hub for these scores are removed after them.
    """
    check_out(out)  # before anything is fetched
    targets = model_targets(model, revisions, settings.weights, steps)
    check_out(out, targets[0].name, {target.step: target.weights_sha256() for target in targets})
    cache = SweepCache()
    scored = _score(out, targets, settings, cache, keep=keep)
    cache.end_tables()
    return scored


def load_benchmarks(settings: ScoreSettings, cache: SweepCache | None = None) -> list[pd.DataFrame]:
    """Load the pair tables of the settings, families expanded, subsets taken and marked."""
    tables, cache, subset = [], cache or SweepCache(), settings.pairs_kept()
    own = own_cards(settings.benchmarks, settings.custom)
    named = [use_card(own[name]).name if name in own else name for name in settings.benchmarks]
    for card in expand_benchmarks(named, settings.benchmark_root):
        root, revision = settings.benchmark_root, settings.revision(card.name)
        pairs = cache.benchmark(card, root, revision, settings.benchmark_unpacked)
        if subset is not None:
            pairs = subset_pairs(pairs, subset.size, first=subset.first)
            pairs["benchmark"] = subset.name(str(pairs["benchmark"].iloc[0]))
        tables.append(pairs)
    return tables


def check_benchmarks(
    settings: ScoreSettings,
    tokenizer: "PreTrainedTokenizerBase",
    context: int,
    cache: SweepCache | None = None,
    masked: bool = False,
) -> None:
    """Check that benchmarks and their ratings are complete, and that ``context`` tokens hold what is to be scored."""
    from ucurve.eval.models.folder import start_token
    from ucurve.eval.scoring.masked.frame import read_frame
    from ucurve.eval.scoring.text.sentences import TooLongError, check_length, encode

    around = 0
    if masked:
        frame = read_frame(tokenizer)
        around = len(frame.before) + len(frame.after)
    else:
        start_token(tokenizer, True, settings.start())
    cache = cache or SweepCache()
    for pairs in load_benchmarks(settings, cache):
        encoded = encode(pairs, tokenizer, leading_space=settings.leading_space)
        try:
            check_length(pairs, encoded, context, trainable=True, around=around)
        except TooLongError as error:
            if settings.too_long == "error" or not error.fits.any():
                raise
        cache.ratings(pairs, settings.benchmark_root, settings.benchmark_unpacked)


def _score(
    folder: Path,
    targets: Sequence[Target],
    settings: ScoreSettings,
    cache: SweepCache | None = None,
    group: ProcessGroup | None = None,
    keep: bool = True,
) -> list[StoredScores]:
    """Load the benchmarks, and score models on them into a folder."""
    cache = cache or SweepCache()
    with agreeing(group):
        from ucurve.eval.sweep.sweep import score_targets

        benchmarks = load_benchmarks(settings, cache)
    return score_targets(folder, targets, benchmarks, settings, cache, group, keep)
