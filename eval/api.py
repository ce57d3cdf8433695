"""Scoring from Python, for notebooks: ``ucurve.score`` and ``ucurve.compare`` are functions of this module."""

import glob
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, overload

import pandas as pd

from ucurve.config import check
from ucurve.config_files import completed
from ucurve.errors import UserError, may_be_hub_id, missing_folder
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import TiesRule, decisions
from ucurve.eval.metrics.significance import comparison_table
from ucurve.eval.models.targets import Target, model_targets, run_targets
from ucurve.eval.pairs import data_hash, pair_table
from ucurve.eval.run import find_runs, score_asked
from ucurve.eval.scoring.scorers import find_scorer
from ucurve.eval.settings import ScoreCommand, ScoreSettings, score_settings
from ucurve.eval.store.reported import USUAL_LINKINGS, USUAL_RULE, read_reported
from ucurve.eval.store.scores import StoredScores
from ucurve.eval.store.tables import ACCURACY, FITS, STATISTICS, TableFile
from ucurve.eval.store.views import load_table
from ucurve.progress import notebook_cell
from ucurve.storage.run_folder import CHECKPOINTS, RECORD

Steps = Sequence[int] | Mapping[str, int] | Literal["all"]
_MOST_SHOWN = 20  # rows


@dataclass(frozen=True, eq=False, repr=False)
class ScoreResult:
    """What was scored; it shows itself as a table of accuracies, a row a checkpoint and a column a linking function.

    Attributes:
        accuracy: the rows of ``eval/accuracy.csv`` that were asked for.
        statistics: those of ``eval/statistics.csv``.
        fits: those of ``eval/fits.csv``; none unless parameters were fitted.
        overall: of ``accuracy`` the one row of each model, benchmark and scorer that ``score.py`` prints: all lengths,
            under the linking function, the rule for ties and the mean that the benchmark's card (or the preset) names.
        scores: every model on every benchmark by every scorer, by run and step.
    """

    accuracy: pd.DataFrame
    statistics: pd.DataFrame
    fits: pd.DataFrame
    overall: pd.DataFrame
    scores: tuple[StoredScores, ...]
    # Of a notebook, where scoring drew its table.
    _cell: int | None = field(default_factory=notebook_cell, init=False)

    def _repr_html_(self) -> str:
        if self._cell is not None and self._cell == notebook_cell():  # the table is in this cell already
            return "<p>The tables behind it: <code>.accuracy</code>, <code>.overall</code>, <code>.pairs()</code>.</p>"
        table, more = self._shown()
        return f"{table.to_html(index=False, float_format='{:.1%}'.format)}<p>{more}</p>"

    def __repr__(self) -> str:
        """Show the accuracies as text."""
        table, more = self._shown()
        return f"{table.to_string(index=False, float_format='{:.1%}'.format)}\n{more}".rstrip()

    def _shown(self) -> tuple[pd.DataFrame, str]:
        """Lay out the overall accuracies of the first checkpoints, and say how many there are more."""
        mean = self.overall[["benchmark", "paradigm", "ties_rule"]].drop_duplicates()
        rows = self.accuracy[(self.accuracy["phenomenon"] == "all") & (self.accuracy["split"] == "all")]
        table = rows.merge(mean).pivot_table(
            index=["run", "step", "benchmark", "scorer"], columns="linking", values="accuracy", sort=False
        )
        more = len(table) - _MOST_SHOWN
        return table.head(_MOST_SHOWN).reset_index(), f"and {more} more, in .accuracy" if more > 0 else ""

    def at(
        self,
        benchmark: str | None = None,
        scorer: str | None = None,
        step: int | None = None,
        run: str | None = None,
    ) -> StoredScores:
        """Return the scores of one model on one benchmark; what there is only one of need not be named.

        Raises:
            UserError: when nothing of that name was scored, or several things were and none is named.
        """
        left = self.scores
        for key, wanted in {"run": run, "benchmark": benchmark, "scorer": scorer, "step": step}.items():
            there = list(dict.fromkeys(getattr(one, key) for one in left))
            if wanted is None and len(there) > 1:
                raise UserError(f"{key}: several were scored; name one of {', '.join(map(str, there))}")
            if wanted is not None and wanted not in there:
                raise UserError(f"{key}: {wanted!r} was not scored; there is {', '.join(map(str, there))}")
            left = tuple(one for one in left if wanted is None or getattr(one, key) == wanted)
        return left[0]

    def pairs(
        self,
        benchmark: str | None = None,
        scorer: str | None = None,
        step: int | None = None,
        run: str | None = None,
    ) -> pd.DataFrame:
        """Return the pairs of one benchmark with their scores by one model (``StoredScores.pairs``)."""
        return self.at(benchmark, scorer, step, run).pairs()


@overload
def score(
    what: str | Path,
    pairs: None = None,
    *,
    steps: Steps | None = None,
    revisions: Sequence[str] | None = None,
    out: str | Path | None = None,
    keep: bool = True,
    **settings: object,
) -> ScoreResult: ...


@overload
def score(
    what: str | Path,
    pairs: Iterable[tuple[str, str]],
    *,
    steps: Steps | None = None,
    revisions: Sequence[str] | None = None,
    out: None = None,
    keep: bool = True,
    **settings: object,
) -> pd.DataFrame: ...


def score(
    what: str | Path,
    pairs: Iterable[tuple[str, str]] | None = None,
    *,
    steps: Steps | None = None,
    revisions: Sequence[str] | None = None,
    out: str | Path | None = None,
    keep: bool = True,
    **settings: object,
) -> ScoreResult | pd.DataFrame:
    """Score a run, several runs or a model on benchmarks, as ``score.py`` does, or on pairs that are given here.

    Scores of benchmarks that are stored already are read; nothing is stored of pairs that are given here.

    Args:
        what: a run folder or a pattern of several, a model folder, or ``owner/name`` on the hub.
        pairs: good and bad sentences.
        steps: checkpoints of the run, or ``"all"``; None is all, but the last one where ``pairs`` are given. Of a
            model, the steps of revisions whose names do not say them.
        revisions: of the model, as in ``ucurve.eval.models.targets.model_targets``; None for the model itself.
        out: folder that keeps the scores of a model. Without it they go when the result does.
        keep: whether the weights of a model on the hub that are fetched for benchmarks stay in its cache.
        **settings: fields of ``ucurve.eval.settings.ScoreSettings``, which are the keys of ``conf/score.yaml``.

    Returns:
        A ``ScoreResult``. For ``pairs`` a table instead: ``run`` and ``step`` (only where there are several), ``good``,
        ``bad``, the log probabilities ``lp_good`` and ``lp_bad`` in nats, ``margin`` (linked value of the good sentence
        less that of the bad one), ``right`` and ``linking``: the function that both are by, which is the first of the
        setting ``linking``, else the one by which a benchmark without a choice of its own is shown, ``slln_lp``.

    Raises:
        UserError: with the message of ``score.py``, when something is missing, unknown or does not fit.
        RunError: when a score is not finite.

    Examples:
        >>> ucurve.score("runs/demo/tiny-800K-char-demo-s0", [("这三本书很好。", "这三书很好。")])
        >>> ucurve.score("runs/demo/*", benchmarks=["demo"], linking=["slln_lp:0.8"])
    """
    checked = score_settings(**settings)  # run, model and check are keys of the command alone
    if pairs is not None:
        targets = _targets(str(what), steps, revisions, checked)
        table = pd.concat([*_score_with_each(targets, list(pairs), checked)], ignore_index=True)
        return table.drop(columns=[name for name in ("run", "step") if table[name].nunique() == 1])
    place = _run_or_model(str(what))
    kept = None
    if "model" in place and out is None:
        out = kept = tempfile.mkdtemp(prefix="ucurve-scores-")
    asked = {"steps": None if steps == "all" else steps, "revisions": revisions, "out": out, "keep": keep}
    try:
        command = check(ScoreCommand, completed("score.yaml", {**asked, **place, **vars(checked)}))
        stored = score_asked(command)
        accuracy, statistics, fits = (_read_rows(kind, command, stored) for kind in (ACCURACY, STATISTICS, FITS))
    except BaseException:  # also an interrupt, after which nobody knows the folder
        _remove(kept)
        raise
    scores = accuracy.groupby(["run", "step", "benchmark", "scorer"], sort=False)
    first = [command.reported(str(benchmark)).choose_rows(rows) for (_, _, benchmark, _), rows in scores]
    shown = pd.concat([accuracy[:0], *first])
    overall = shown[shown["phenomenon"] == "all"].reset_index(drop=True)
    scored = ScoreResult(accuracy, statistics, fits, overall, tuple(stored))
    weakref.finalize(scored, _remove, kept)
    return scored


def compare(
    first: StoredScores,
    second: StoredScores,
    linking: str | None = None,
    second_linking: str | None = None,
    ties_rule: TiesRule | None = None,
) -> pd.DataFrame:
    """Compare two models, two checkpoints or two linking functions on the same pairs.

    Args:
        first: as ``ScoreResult.at`` returns them; so is ``second``, which may be the same.
        linking: the linking function the scores are read by; None for that of the benchmark, else slln_lp.
        second_linking: another one for the second scores.
        ties_rule: what a tie counts; None for that of the benchmark, else one half.

    Returns:
        The table of ``ucurve.eval.metrics.significance.comparison_table``: accuracies, their difference with its
        interval, and McNemar's test, by paradigm, by phenomenon and overall.

    Raises:
        UserError: when the scores are not of the same pairs, or lack what a linking function reads.
    """
    pairs = first.pair_table()
    if data_hash(pairs) != data_hash(second.pair_table()):
        raise UserError(
            f"comparison: {first.benchmark} of {first.run} and {second.benchmark} of {second.run} differ"
        )
    reported = read_reported(first.folder, first.benchmark)
    linking = linking or reported.linking or USUAL_LINKINGS[0]
    one, other = parse_linking(linking), parse_linking(second_linking or linking)
    scores = (first.score_table(), one), (second.score_table(), other)
    return comparison_table(pairs, *scores, ties_rule or reported.ties_rule or USUAL_RULE)


def _targets(
    what: str, steps: Steps | None, revisions: Sequence[str] | None, settings: ScoreSettings
) -> list[Target]:
    """Find what given pairs are scored with: of runs the last checkpoint, or the steps that are asked for."""
    place = _run_or_model(what)
    if steps is not None and isinstance(steps, Mapping) == ("run" in place):
        raise UserError(
            "steps: a list of checkpoints goes with a run, a mapping of revisions to steps with a model"
        )
    if isinstance(steps, Mapping) or "model" in place:
        return model_targets(what, revisions, settings.weights, steps if isinstance(steps, Mapping) else None)
    every = [run_targets(run, None if steps == "all" else steps) for run in find_runs(place["run"])]
    return [target for targets in every for target in (targets[-1:] if steps is None else targets)]


def _score_with_each(
    targets: Sequence[Target], pairs: Sequence[tuple[str, str]], settings: ScoreSettings
) -> Iterator[pd.DataFrame]:
    """Yield for each model a row for each pair, as ``score`` returns them."""
    from ucurve.eval.sweep.compute import Computer
    from ucurve.eval.sweep.jobs import prepare
    from ucurve.eval.sweep.load import SweepCache, WeightFetcher
    from ucurve.eval.sweep.show import shown_measures

    table, cache = _given_pairs(pairs), SweepCache()
    for target in targets:
        jobs = prepare(target, [table], settings, cache)
        linking = parse_linking(
            settings.linking[0] if settings.linking else shown_measures(jobs[0], settings)[0][0]
        )
        if jobs[0].weights_to_have is not None:
            WeightFetcher().have(jobs[0].weights_to_have)
        with closing(Computer(jobs, settings, cache.workspace, None)) as computer:
            scores = computer.compute(jobs[0], with_tokens=False).scores
        if missing := linking.missing(scores):
            raise UserError(
                f"linking function {linking.name!r} reads {', '.join(missing)}, which these scores lack"
            )
        margin = linking.values(scores, "good") - linking.values(scores, "bad")
        found = table[["good", "bad"]].assign(
            run=target.name,
            step=target.step,
            margin=-margin if linking.lower_is_better else margin,
            right=decisions(scores, linking)[0],
            linking=linking.name,
            **{name: scores[name] for name in ("lp_good", "lp_bad") if name in scores},
        )
        order = ["run", "step", "good", "bad", "lp_good", "lp_bad", "margin", "right", "linking"]
        yield found[[name for name in order if name in found]]


def _given_pairs(pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Make the pair table of sentences that are given as a list, which is of no language."""
    rows = []
    for place, pair in enumerate(pairs):
        if isinstance(pair, str) or len(pair) != 2:
            raise UserError(f"pair {place}: a good and a bad sentence are expected, got {pair!r}")
        rows.append((f"pair {place}", {"UID": "given", "good": pair[0], "bad": pair[1]}))
    if not rows:
        raise UserError("pairs: the list is empty; give at least one")
    return pair_table(rows, "given", "und", ("UID", "UID", "good", "bad"))


def _run_or_model(what: str) -> dict[str, str]:
    """Tell a run or a pattern of runs from a model."""
    path = Path(what).expanduser()
    if path.is_dir():
        is_run = (path / RECORD).is_file() or (path / CHECKPOINTS).is_dir()
        return {"run" if is_run else "model": str(path)}
    if glob.has_magic(what):
        return {"run": str(path)}
    if may_be_hub_id(what):
        return {"model": what}
    raise missing_folder("run or model", path)


def _remove(folder: str | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _read_rows(kind: TableFile, settings: ScoreSettings, scores: Sequence[StoredScores]) -> pd.DataFrame:
    """Read the rows of a table that scores and settings stand for."""
    name, fitted = "family" if kind is FITS else "linking", settings.fit.families if settings.fit else ()
    wanted = {
        (one.step, one.benchmark, one.scorer, function, rule)
        for one in scores
        for function in (fitted if kind is FITS else settings.linkings(find_scorer(one.scorer), one.benchmark))
        for rule in settings.rules(one.benchmark)
    }
    folders = dict.fromkeys(one.folder for one in scores)
    table = pd.concat([load_table(kind, folder) for folder in folders], ignore_index=True)
    keys = table[["step", "benchmark", "scorer", name, "ties_rule"]].itertuples(index=False, name=None)
    return table[[key in wanted for key in keys]].reset_index(drop=True)
