"""Correlation of linking functions with people's ratings of sentences (ZhoBLiMP, appendix A, Table 7)."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ucurve.analysis.data.files import known_linking, scored_steps, stored_pairs, stored_scores
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.linking.section import linking_order
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.errors import UserError, did_you_mean
from ucurve.eval.linking import FAMILIES, Linking
from ucurve.eval.metrics.bootstrap import draw_correlations, percentiles
from ucurve.eval.metrics.clusters import EDIT, pair_clusters
from ucurve.eval.metrics.levels import Ids
from ucurve.eval.metrics.ratings import FEWEST_RATED, SENTENCE, better_values, read_ratings
from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS
from ucurve.fields import format_names
from ucurve.invocation import command
from ucurve.storage.run_folder import EVAL
from ucurve.storage.tabular import read_rows

_PAIR_COLUMNS = ("good", "bad")
# These functions have no parameters that must be fitted to ratings, so the stored scores are enough for them.
_FUNCTIONS = ("lp", "mean_lp", "pen_lp", "slln_lp", "slor")
_KINDS = {"pointwise": "Point-wise (r x 100)", "pairwise": "Pair-wise (r x 100)"}
_VIEW = table_columns(
    "model",
    "runs",
    Column("scorer", "Scored by"),
    "step",
    "linking",
    *(Column(kind, head, "percent", (f"{kind}_low", f"{kind}_high")) for kind, head in _KINDS.items()),
    Column("sentences", "Sentences", "count"),
    "pairs",
    "clusters",
)
_DIFFERENCES = (
    *_VIEW[:1],
    Column("of", "Linking functions"),
    *(replace(column, heading=f"{column.heading}, difference") for column in _VIEW if column.name in _KINDS),
    *_VIEW[1:4],
)
_NOTE = (
    "Pearson's r x 100 of linked values with the mean of the raters' z-scores, sentence by sentence, and of the"
)
_OVER_RUNS = (
    "Last scored checkpoint, mean over the runs that differ in the seed only. In brackets 95 % for other sentences, by "
    "these runs and raters: a bootstrap over clusters, which are the sentences of one pair or, with ratings beside the "
    f"pairs, of pairs with the same edit (cluster=). With fewer than {FEWEST_CLUSTERS} clusters there is no interval."
)
_OF_DIFFERENCES = "Differences of these correlations, first less second, with 95 %: both are of the same draws."


def rating_correlations(
    rated: pd.DataFrame,
    linkings: Sequence[Linking],
    pairs: pd.DataFrame | None = None,
    clusters: Ids | None = None,
) -> pd.DataFrame:
    """Correlate linked values with ratings, and their differences within pairs with differences of ratings.

    ``rated`` has scores of sentences with ``rating``, the mean of the raters' z-scores; ``pairs`` the places of the
    rows that are ``good`` and ``bad`` of each pair. Linking functions that read what the scores lack have no row.
    ``pointwise`` and ``pairwise`` (of f(good) - f(bad) with the difference of the ratings) are Pearson's r; NaN without
    pairs, or where differences do not vary. Signs are turned for functions whose lower values are better.
    ``pointwise_draws`` and ``pairwise_draws`` have them in draws of ``clusters``, int64[sentences] or else those of a
    pair, the same draws for all functions and all calls with these clusters; NaN with fewer than 4 clusters.
    """
    known = [linking for linking in linkings if not linking.missing(rated)]
    table = pd.DataFrame({"linking": [linking.name for linking in known], "sentences": len(rated)})
    good, bad = (
        np.zeros(0, np.int64) if pairs is None else pairs[side].to_numpy(np.int64) for side in _PAIR_COLUMNS
    )
    if clusters is None:
        clusters = _joined(len(rated), np.concatenate([good, bad]), np.tile(np.arange(len(good)), 2))
    table = table.assign(pairs=len(good), clusters=len(np.unique(clusters)))
    values = np.array([better_values(rated, linking) for linking in known]).reshape(len(known), len(rated))
    ratings = rated["rating"].to_numpy(np.float64)
    sides = {"pointwise": (values, ratings, clusters)}
    sides["pairwise"] = values[:, good] - values[:, bad], ratings[good] - ratings[bad], clusters[good]
    for kind, (linked, rating, drawn) in sides.items():
        of_data, *draws = (
            draw_correlations(linked, rating, drawn) if len(rating) else np.full((2, len(known)), np.nan)
        )
        # Three clusters can be drawn in ten different ways only, too few for an interval.
        if len(np.unique(drawn)) < FEWEST_CLUSTERS:
            draws = [np.full(len(known), np.nan)]
        table = table.assign(**{kind: of_data, f"{kind}_draws": list(np.transpose(draws))})
    return table


def read_rating_pairs(path: Path, sentences: Sequence[str]) -> pd.DataFrame:
    """Read which rated sentences are ``good`` and ``bad`` of a pair: their places in the file of ratings, int64[pairs].

    Of a sentence rated twice, the first counts.

    Raises:
        UserError: naming file and line, when the file is missing or broken, a sentence has no rating, or there are
            fewer than three pairs.
    """
    rows = read_rows(path, "rating_pairs", _PAIR_COLUMNS)
    # A dictionary keeps the last of several equal keys, so the sentences are read backwards.
    place_of = {sentence: place for place, sentence in reversed(list(enumerate(sentences)))}
    for line, row in rows:
        for sentence in (row["good"], row["bad"]):
            if sentence not in place_of:
                problem = f"{sentence!r} is not a sentence of the file of ratings."
                raise UserError(f"{path}:{line}: {problem}{did_you_mean(sentence, place_of)}")
    if len(rows) < 3:
        raise UserError(f"{path}: {len(rows)} pairs; 3 at least are needed")
    return pd.DataFrame({name: np.array([place_of[row[name]] for _, row in rows]) for name in _PAIR_COLUMNS})


def correlation_table(
    runs: Iterable[Run], ratings: Path, names: Sequence[str], pairs: Path | None
) -> pd.DataFrame:
    """Correlate stored scores of rated sentences (``fit.on=ratings``) at the last checkpoint, mean over a line.

    Raises:
        UserError: when a file is missing or broken, or no run has scores of the sentences.
    """
    if not ratings.is_file():
        raise UserError(f"ratings: no file {ratings}")
    human = read_ratings(ratings)
    places = None if pairs is None else read_rating_pairs(pairs, human[SENTENCE].tolist())
    linkings = [linking for name in names if (linking := known_linking(name)) is not None]
    parts = [part for run in runs for part in _correlate_run(run, human, linkings, places)]
    if not parts:
        raise UserError(
            f"ratings={ratings}: no run has scores of its sentences ({format_names(human[SENTENCE].tolist(), 2)}); "
            "make them with: "
            f"{command('score', f'run=... benchmarks=... fit.on=ratings fit.ratings={shlex.quote(str(ratings))}')}"
        )
    return _mean_over_runs(pd.concat(parts, ignore_index=True))


@questions.section(questions.PEOPLE, place=3, page="docs/length-bias.md")
def correlation_sections(study: Study) -> Iterable[ReportSection]:
    """Make the tables of correlations with ratings: those of ``ratings=``, else those beside the pairs."""
    scored = study.scores["linking"].astype(str) if len(study.scores) else ()
    # such as a MORCELA of its own parameters
    known = {name for name in scored if name.partition(":")[0] in FAMILIES}
    names = sorted(known | set(_FUNCTIONS), key=linking_order)
    ratings = study.settings.ratings
    if ratings is not None:
        table = correlation_table(study.runs, ratings, names, study.settings.rating_pairs)
        note = (
            f"{_NOTE} differences within pairs with the differences of ratings (rating_pairs=FILE). {_OVER_RUNS}"
        )
        yield _section("Correlation with human ratings", "", table, note)
        return
    linkings = [linking for name in names if (linking := known_linking(name)) is not None]
    for one in study.benchmarks():
        judged = _correlate_judgments(one, linkings)
        if judged is not None:
            note = (
                f"{_NOTE} differences within pairs with the differences of ratings. The ratings are those published "
                f"beside the pairs; a sentence that stands in several pairs counts once. {_OVER_RUNS}"
            )
            yield _section(
                f"Correlation with human ratings on {one.benchmark}", f"_{one.file_name}", judged, note
            )


def _section(heading: str, of: str, means: pd.DataFrame, note: str) -> ReportSection:
    """Show the correlations of ``_mean_over_runs``, and the differences of every two linking functions."""
    # Every two linking functions of a line that was scored at one checkpoint are compared.
    rows, views = [], []
    for _, part in means.groupby(["model", "scorer", "step"], sort=False):
        for one, other in combinations(part.to_dict("records"), 2):
            apart = {
                name: np.subtract(one[name], other[name]) for kind in _KINDS for name in (kind, f"{kind}_draws")
            }
            rows.append(one | apart | {"of": f"{one['linking']} - {other['linking']}"})
    of_both = _with_intervals(pd.DataFrame(rows)) if rows else means.head(0).assign(of="")
    tables = {"correlations": (note, _VIEW, means), "differences": (_OF_DIFFERENCES, _DIFFERENCES, of_both)}
    for what, (said, columns, table) in tables.items():
        shown = table[[name for column in columns for name in (column.name, *column.interval)]]
        views.append(TableView(said, columns, shown, {f"rating_{what}{of}": shown}))
    return ReportSection(heading, tuple(views))


def rated_scores(
    judgments: pd.DataFrame, pairs: pd.DataFrame, scores: pd.DataFrame, cluster: str = EDIT
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Join the scores of a benchmark with ratings (``pair``, ``side``, ``person``, ``z``) of its sentences.

    The first table has the scores of each rated sentence, once, as both members of a pair
    (``eval.metrics.ratings.rating_pairs``), with ``rating`` and ``drawn``, a number that it shares with the sentences
    of its pair and of pairs of the same cluster (``pair_clusters``); the second the places of the members of each pair
    of which both are rated, ``good`` and ``bad``.
    """
    table = (
        pairs[["pair", *_PAIR_COLUMNS]]
        .assign(cluster=pair_clusters(pairs, cluster))
        .merge(scores, on="pair", validate="one_to_one")
    )
    parts = []
    for side in _PAIR_COLUMNS:
        kinds = [name.removesuffix(f"_{side}") for name in map(str, scores) if name.endswith(f"_{side}")]
        own = {f"{kind}_{member}": table[f"{kind}_{side}"] for kind in kinds for member in _PAIR_COLUMNS}
        named = table[["pair", "cluster"]].assign(side=side, sentence=table[side].str.strip())
        parts.append(named.assign(**own))
    stacked = pd.concat(parts, ignore_index=True)
    named = judgments.merge(stacked[["pair", "side", "sentence"]], on=["pair", "side"])
    rating = named.pivot_table(index="sentence", columns="person", values="z").mean(axis=1).rename("rating")
    # Ratings are of sentences, so a sentence that was rated in one pair has this rating in every pair.
    stacked = stacked.merge(rating.reset_index(), on="sentence")
    places = stacked.groupby("sentence", sort=False).ngroup()
    members = stacked.assign(place=places).pivot_table(
        index="pair", columns="side", values="place", aggfunc="first"
    )
    members = (
        members.reindex(columns=list(_PAIR_COLUMNS)).dropna().astype("int64").drop_duplicates(ignore_index=True)
    )
    drawn = _joined(places.nunique(), np.asarray(places, np.int64), np.asarray(stacked["cluster"], np.int64))
    return stacked.drop_duplicates("sentence", ignore_index=True).assign(drawn=drawn), members


def _correlate_judgments(scored: BenchmarkScores, linkings: Sequence[Linking]) -> pd.DataFrame | None:
    """Correlate the scores of a benchmark with the ratings beside its pairs; None where there are none of these."""
    judgments = scored.judgments
    if judgments is None or "z" not in judgments:
        return None
    parts = []
    for last in scored.last_scores(scored.linking):
        rated, members = rated_scores(judgments, last.pairs, last.scores, scored.study.settings.cluster)
        if len(rated) >= FEWEST_RATED:
            known = members if len(members) >= FEWEST_RATED else None
            table = rating_correlations(rated, linkings, known, rated["drawn"].to_numpy())
            parts.append(
                table.assign(run=last.run.label, model=last.run.line, scorer=scored.scorer, step=last.step)
            )
    return _mean_over_runs(pd.concat(parts, ignore_index=True)) if parts else None


def _joined(count: int, places: Ids, groups: Ids) -> Ids:
    """Number what stands together in a group, int64[count]: each of ``places`` stands in one of ``groups``."""
    shape = count + int(groups.max(initial=-1)) + 1
    links = coo_array((np.ones(len(places)), (places, count + groups)), (shape, shape))
    return np.unique(connected_components(links)[1][:count], return_inverse=True)[1]


def _mean_over_runs(table: pd.DataFrame) -> pd.DataFrame:
    """Average the correlations, and their draws, over the runs of a line."""
    keys, rows = ["model", "scorer", "step", "linking", "sentences", "pairs", "clusters"], []
    for key, part in table.groupby(keys, sort=False):
        means = {
            name: np.mean(part[name].tolist(), axis=0) for kind in _KINDS for name in (kind, f"{kind}_draws")
        }
        rows.append({**dict(zip(keys, key, strict=True)), "runs": part["run"].nunique(), **means})
    return _with_intervals(pd.DataFrame(rows))


def _with_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """Add the bounds of 95 % of the draws of each correlation; NaN where there are none."""
    # The percentile interval of few clusters is too narrow, so ``percentiles`` widens it by these degrees of freedom.
    freedom = np.maximum(1.0, table["clusters"] - 1)
    for kind in _KINDS:
        low, high = percentiles(np.array(table[f"{kind}_draws"].tolist()).T, freedom)
        table = table.assign(**{f"{kind}_low": low, f"{kind}_high": high})
    return table


def _correlate_run(
    run: Run, human: pd.DataFrame, linkings: Sequence[Linking], pairs: pd.DataFrame | None
) -> Iterable[pd.DataFrame]:
    """Yield the correlations of one run for each way in which the rated sentences were scored."""
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
