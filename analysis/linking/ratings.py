"""Correlation of linking functions with people's ratings of sentences (ZhoBLiMP, appendix A, Table 7)."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ucurve.analysis.data.files import known_linking, scored_steps, stored_pairs, stored_scores
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.linking.tables import linking_order
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView
from ucurve.errors import UserError, did_you_mean
from ucurve.eval.linking import FAMILIES, Linking
from ucurve.eval.metrics.ratings import FEWEST_RATED, SENTENCE, rating_correlation, read_ratings
from ucurve.fields import format_names
from ucurve.storage.run_folder import EVAL
from ucurve.storage.tabular import read_rows

_PAIR_COLUMNS = ("good", "bad")
_FUNCTIONS = ("lp", "mean_lp", "pen_lp", "slln_lp", "slor")
_VIEW = (
    Column("model", "Model"), Column("runs", "Runs", "count"), Column("scorer", "Scored by"),
    Column("step", "Step", "count"), Column("linking", "Linking function"), Column("sentences", "Sentences", "count"),
    Column("pointwise", "Point-wise (r x 100)", "percent"), Column("pairs", "Pairs", "count"),
    Column("pairwise", "Pair-wise (r x 100)", "percent"),
)  # fmt: skip
_NOTE = "Pearson's r x 100 of linked values with the mean of the raters' z-scores, sentence by sentence, and of the"
_OVER_RUNS = "Last scored checkpoint, mean over the runs that differ in the seed only."


def rating_correlations(
    rated: pd.DataFrame, linkings: Sequence[Linking], pairs: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Correlate linked values with ratings, and their differences within pairs with differences of ratings.

    ``rated`` has scores of sentences with ``rating``, the mean of the raters' z-scores; ``pairs`` the places of the
    rows that are ``good`` and ``bad`` of each pair. Linking functions that read what the scores lack have no row.
    ``pointwise`` and ``pairwise`` (of f(good) - f(bad) with the difference of the ratings) are Pearson's r; NaN without
    pairs, or where differences do not vary. Signs are turned for functions whose lower values are better.
    """
    rows = [
        {
            "linking": linking.name,
            "sentences": len(rated),
            "pointwise": rating_correlation(rated, linking),
            "pairs": 0 if pairs is None else len(pairs),
            "pairwise": math.nan if pairs is None else _pairwise(rated, linking, pairs),
        }
        for linking in linkings
        if not linking.missing(rated)
    ]
    return pd.DataFrame(rows, columns=["linking", "sentences", "pointwise", "pairs", "pairwise"])


def read_rating_pairs(path: Path, sentences: Sequence[str]) -> pd.DataFrame:
    """Read which rated sentences are ``good`` and ``bad`` of a pair: their places in the file of ratings, int64[pairs].

    Of a sentence rated twice, the first counts.
    """
    rows = read_rows(path, "rating_pairs", _PAIR_COLUMNS)
    place_of = {sentence: place for place, sentence in reversed(list(enumerate(sentences)))}
    for line, row in rows:
        for sentence in (row["good"], row["bad"]):
            if sentence not in place_of:
                problem = f"{sentence!r} is not a sentence of the file of ratings."
                raise UserError(f"{path}:{line}: {problem}{did_you_mean(sentence, place_of)}")
    if len(rows) < 3:
        raise UserError(f"{path}: {len(rows)} pairs; 3 at least are needed")
    return pd.DataFrame({name: np.array([place_of[row[name]] for _, row in rows]) for name in _PAIR_COLUMNS})


def correlation_table(runs: Iterable[Run], ratings: Path, names: Sequence[str], pairs: Path | None) -> pd.DataFrame:
    """Correlate stored scores of rated sentences (``fit.on=ratings``) at the last checkpoint, mean over a line."""
    if not ratings.is_file():
        raise UserError(f"ratings: no file {ratings}")
    human = read_ratings(ratings)
    places = None if pairs is None else read_rating_pairs(pairs, human[SENTENCE].tolist())
    linkings = [linking for name in names if (linking := known_linking(name)) is not None]
    parts = [part for run in runs for part in _correlate_run(run, human, linkings, places)]
    if not parts:
        raise UserError(
            f"ratings={ratings}: no run has scores of its sentences ({format_names(human[SENTENCE].tolist(), 2)}); "
            "make them with: python score.py run=... "
            f"fit.on=ratings fit.ratings={ratings}"
        )
    return _mean_over_runs(pd.concat(parts, ignore_index=True))


@questions.section(questions.PEOPLE, place=3, page="docs/length-bias.md")
def correlation_sections(study: Study) -> Iterable[ReportSection]:
    """Make the tables of correlations with ratings: those of ``ratings=``, else those beside the pairs."""
    scored = study.scores["linking"].astype(str) if len(study.scores) else ()
    known = {name for name in scored if name.partition(":")[0] in FAMILIES}  # such as a MORCELA of its own parameters
    names = sorted(known | set(_FUNCTIONS), key=linking_order)
    ratings = study.settings.ratings
    if ratings is not None:
        table = correlation_table(study.runs, ratings, names, study.settings.rating_pairs)
        note = f"{_NOTE} differences within pairs with the differences of ratings (rating_pairs=FILE). {_OVER_RUNS}"
        view = TableView(note, _VIEW, table, {"rating_correlations": table})
        yield ReportSection("Correlation with human ratings", (view,))
        return
    linkings = [linking for name in names if (linking := known_linking(name)) is not None]
    for one in study.benchmarks():
        judged = _correlate_judgments(one, linkings)
        if judged is not None:
            note = (
                f"{_NOTE} differences within pairs with the differences of ratings. The ratings are those published "
                f"beside the pairs; a sentence that stands in several pairs counts once. {_OVER_RUNS}"
            )
            view = TableView(note, _VIEW, judged, {f"rating_correlations_{one.file_name}": judged})
            yield ReportSection(f"Correlation with human ratings on {one.benchmark}", (view,))


def rated_scores(
    judgments: pd.DataFrame, pairs: pd.DataFrame, scores: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Join the scores of a benchmark with ratings (``pair``, ``side``, ``person``, ``z``) of its sentences.

    The first table has the scores of each rated sentence, once, as both members of a pair
    (``eval.metrics.ratings.rating_pairs``), with ``rating``; the second the places of the members of each pair of which
    both are rated, ``good`` and ``bad``.
    """
    table = pairs[["pair", *_PAIR_COLUMNS]].merge(scores, on="pair", validate="one_to_one")
    parts = []
    for side in _PAIR_COLUMNS:
        kinds = [name.removesuffix(f"_{side}") for name in map(str, scores) if name.endswith(f"_{side}")]
        own = {f"{kind}_{member}": table[f"{kind}_{side}"] for kind in kinds for member in _PAIR_COLUMNS}
        parts.append(pd.DataFrame({"pair": table["pair"], "side": side, "sentence": table[side].str.strip(), **own}))
    stacked = pd.concat(parts, ignore_index=True)
    named = judgments.merge(stacked[["pair", "side", "sentence"]], on=["pair", "side"])
    rating = named.pivot_table(index="sentence", columns="person", values="z").mean(axis=1).rename("rating")
    stacked = stacked.merge(rating.reset_index(), on="sentence")
    places = stacked.groupby("sentence", sort=False).ngroup()
    members = stacked.assign(place=places).pivot_table(index="pair", columns="side", values="place", aggfunc="first")
    members = members.reindex(columns=list(_PAIR_COLUMNS)).dropna().astype("int64").drop_duplicates(ignore_index=True)
    return stacked.drop_duplicates("sentence", ignore_index=True), members


def _correlate_judgments(scored: BenchmarkScores, linkings: Sequence[Linking]) -> pd.DataFrame | None:
    judgments = scored.judgments
    if judgments is None or "z" not in judgments:
        return None
    parts = []
    for last in scored.last_scores(scored.linking):
        rated, members = rated_scores(judgments, last.pairs, last.scores)
        if len(rated) >= FEWEST_RATED:
            table = rating_correlations(rated, linkings, members if len(members) >= FEWEST_RATED else None)
            parts.append(table.assign(run=last.run.label, model=last.run.line, scorer=scored.scorer, step=last.step))
    return _mean_over_runs(pd.concat(parts, ignore_index=True)) if parts else None


def _mean_over_runs(table: pd.DataFrame) -> pd.DataFrame:
    keys = ["model", "scorer", "step", "linking", "sentences", "pairs"]
    means = table.groupby(keys, as_index=False, sort=False).agg(
        runs=("run", "nunique"), pointwise=("pointwise", "mean"), pairwise=("pairwise", "mean")
    )
    return means[[column.name for column in _VIEW]]


def _correlate_run(
    run: Run, human: pd.DataFrame, linkings: Sequence[Linking], pairs: pd.DataFrame | None
) -> Iterable[pd.DataFrame]:
    for folder in sorted((run.folder / EVAL).glob("ratings-*")):
        stored = stored_pairs(run.folder, folder.name)
        if stored is None or stored["good"].tolist() != human[SENTENCE].tolist():
            continue
        for scorer in sorted(path.name for path in folder.iterdir() if path.is_dir()):
            steps = scored_steps(run.folder, folder.name, scorer)
            scores = stored_scores(run.folder, folder.name, scorer, steps[-1]) if steps else None
            if scores is not None:
                rated = scores.sort_values("pair", ignore_index=True).assign(rating=human["rating"])
                table = rating_correlations(rated, linkings, pairs)
                yield table.assign(run=run.label, model=run.line, scorer=scorer, step=steps[-1])


def _pairwise(rated: pd.DataFrame, linking: Linking, pairs: pd.DataFrame) -> float:
    values = linking.values(rated, "good") * (-1 if linking.lower_is_better else 1)
    good, bad = pairs["good"].to_numpy(), pairs["bad"].to_numpy()
    ratings = rated["rating"].to_numpy(np.float64)
    differences = values[good] - values[bad], ratings[good] - ratings[bad]
    if any(np.ptp(one) == 0 for one in differences):
        return math.nan
    return float(np.corrcoef(*differences)[0, 1])
