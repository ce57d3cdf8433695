"""Which dips stand with all seeds, which are those of single runs, and what n-gram models account for of each."""

import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import pandas as pd

from studies.seeds import of_all_runs
from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.pair_scores import read_runs
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.ngrams.dips import account_table, significant_dips
from ucurve.analysis.ngrams.scores import BesideNgrams, read_beside_ngrams
from ucurve.analysis.shape.classify import LEVEL
from ucurve.analysis.shape.over_tokens import find_shapes
from ucurve.analysis.shape.tables import SEEDS_ONLY, Shapes

ALL_RUNS = "all runs"
RUNS_WITH_DIP = {"runs_with_dip": "holm_u", "runs_with_dip_each": "p_u"}  # with the p value that counts a run
_DIP = "U-shaped"
_AGREEMENT = (
    "tokenizer", "order", "step", "tokens", "runs", "accuracy", "ngram_accuracy", "pearson", "kappa",
    "accuracy_where_wrong",
)  # fmt: skip
_COLUMNS = ("depth", "depth_low", "depth_high", "turn_from", "place", "turn_to")
_DIP_TABLE = [
    "tokenizer", "phenomenon", "linking", "shape", "class", "runs", *RUNS_WITH_DIP, "in_these_runs", "in_these_pairs",
    "stands", "p", "p_holm", *_COLUMNS,
]  # fmt: skip


@dataclass(frozen=True)
class LinkingShapes:
    """The shapes of the curves under a linking function."""

    lines: Shapes  # of the lines of runs that differ in the seed only
    alone: Shapes  # of every run by itself, with its label as ``line``; their tests are over pairs only


@dataclass(frozen=True)
class UnderLinking:
    """What the curves of the study are under a linking function; the tables are empty without n-gram scores."""

    shapes: LinkingShapes
    agreement: pd.DataFrame  # of runs with n-gram models, under the function of the figures only
    accounts: pd.DataFrame  # the columns of account_for_dips, with linking


def under_each_linking(scored: BenchmarkScores, tokenizers: Mapping[str, str]) -> dict[str, UnderLinking]:
    """Test the curves of a benchmark under each linking function that it was scored with, several at a time."""
    linkings = list(dict.fromkeys(scored.rows.loc[scored.rows["step"] >= 0, "linking"].astype(str)))
    work = partial(_under, scored, dict(tokenizers))
    if len(linkings) == 1:  # which needs no other process
        return {linkings[0]: work(linkings[0])}
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        return dict(zip(linkings, pool.map(work, linkings), strict=True))


def _under(scored: BenchmarkScores, tokenizers: Mapping[str, str], linking: str) -> UnderLinking:
    shapes = linking_shapes(scored, linking)
    settings = replace(scored.study.settings, linking=linking)
    other = BenchmarkScores(replace(scored.study, settings=settings), scored.benchmark, scored.scorers)
    beside = list(read_beside_ngrams(other))
    is_shown = linking == scored.linking and beside
    agreement = _over_runs(beside, tokenizers) if is_shown else pd.DataFrame(columns=_AGREEMENT)
    accounts = account_for_dips(shapes, beside, tokenizers, settings.cluster).assign(linking=linking)
    return UnderLinking(shapes, agreement, accounts)


def _over_runs(beside: Sequence[BesideNgrams], tokenizers: Mapping[str, str]) -> pd.DataFrame:
    rows = pd.concat([one.agreement for one in beside], ignore_index=True)
    rows = rows[rows["phenomenon"] == "all"].assign(tokenizer=rows["line"].map(tokenizers))
    means = {name: (name, "mean") for name in _AGREEMENT[5:]}
    keys = ["tokenizer", "order", "step", "tokens"]
    table = rows.groupby(keys, as_index=False, sort=False).agg(runs=("run", "nunique"), **means)
    return of_all_runs(table[list(_AGREEMENT)])


def linking_shapes(scored: BenchmarkScores, linking: str) -> LinkingShapes:
    """Test the curves of a benchmark under a linking function that it was scored with."""
    rows, settings = scored.rows[scored.rows["step"] >= 0], scored.study.settings
    how = scored.benchmark, linking, scored.ties_rule, settings.cluster
    items = list(read_runs(scored.study.runs, rows, *how))
    alone = [(replace(run, is_alone=True), credits_) for run, credits_ in items]
    return LinkingShapes(
        *(find_shapes(one, settings.cluster, settings.flat_margin / 100) for one in (items, alone))
    )


def dip_table(
    shapes: Mapping[str, LinkingShapes], of_line: Mapping[str, str], of_run: Mapping[str, str]
) -> pd.DataFrame:
    """List every curve that has a dip under at least one linking function, with what it is under each of them.

    ``runs_with_dip`` and ``runs_with_dip_each`` are of ``with_runs_that_dip``;
    ``in_these_runs`` says whether the mean of the runs is U-shaped over pairs, ``in_these_pairs`` whether it is over
    seeds, ``stands`` whether it has a dip beyond pairs and seeds (``p_holm``: over the curves of a linking function).
    ``depth`` (a fraction), ``turn_from``, ``place`` and ``turn_to`` (tokens) are of the dip of the mean of the runs;
    NaN where it has none.
    """
    tables = []
    for linking, found in shapes.items():
        if found.lines.classes.empty:
            continue
        own = found.lines.classes.assign(
            linking=linking, tokenizer=found.lines.classes["line"].map(dict(of_line))
        )
        tables.append(with_runs_that_dip(own, found.alone.classes, of_run, "tokenizer"))
    table = stack(tables, _DIP_TABLE)
    if table.empty:
        return table
    within = {f"in_{scope}": table[f"class_{scope}"] == _DIP for scope in ("these_runs", "these_pairs")}
    table = table.assign(stands=(table["holm_u"] <= LEVEL) & (table["variation"] != SEEDS_ONLY), **within)
    sources = ("dip", "dip_depth_low", "dip_depth_high", "dip_start", "dip_place", "dip_end")
    in_mean = table[["stands", *within]].any(axis=1)
    table[list(_COLUMNS)] = table[list(sources)].where(in_mean).to_numpy()
    found_once = in_mean | (table["runs_with_dip"] > 0)
    kept = table[found_once.groupby([table["tokenizer"], table["phenomenon"]]).transform("any")]
    kept = kept.sort_values(["tokenizer", "phenomenon"], kind="stable", ignore_index=True)
    kept = kept.drop(columns="p")  # of the class; the dip has its own
    return kept.rename(columns={"p_u": "p", "holm_u": "p_holm"})[_DIP_TABLE]


def with_runs_that_dip(
    lines: pd.DataFrame, alone: pd.DataFrame, of_run: Mapping[str, str], line: str
) -> pd.DataFrame:
    """Count for each curve of lines, whose names are in column ``line``, the runs that dip alone, over pairs.

    ``runs_with_dip`` takes Holm's p over the curves of all runs, ``runs_with_dip_each`` that of each run's own test,
    which ``least_prevalence`` is about. ``of_run`` has the line of each run in ``alone``.
    """
    places = pd.MultiIndex.from_frame(lines[[line, "phenomenon"]])
    # Empty where nothing was tested.
    alone = alone.reindex(columns=["line", "phenomenon", *RUNS_WITH_DIP.values()])
    curves = [alone["line"].map(dict(of_run)), alone["phenomenon"]]
    for name, p in RUNS_WITH_DIP.items():
        counts = (alone[p] <= LEVEL).groupby(curves).sum()
        lines = lines.assign(**{name: counts.reindex(places, fill_value=0).to_numpy()})
    return lines


def account_for_dips(
    found: LinkingShapes, beside: Sequence[BesideNgrams], of_line: Mapping[str, str], cluster: str
) -> pd.DataFrame:
    """Say what n-gram models account for of the dips of the mean of the runs, and of each run alone."""
    lines: dict[str, list[BesideNgrams]] = {}
    for one in beside:
        lines.setdefault(one.run.line, []).append(one)
    classes = found.lines.classes
    in_mean = (
        classes[(classes["holm_u"] <= LEVEL) | (classes["class_these_runs"] == _DIP)] if len(classes) else classes
    )
    of_mean = account_table(in_mean, lines, cluster)
    by_run = {one.run.label: [one] for one in beside}
    of_single = account_table(significant_dips(found.alone.classes), by_run, cluster)
    of_run = {one.run.label: of_line[one.run.line] for one in beside}
    both = stack(
        table.assign(tokenizer=table["line"].map(dict(tokenizers)), of=of or table["line"])
        for table, tokenizers, of in ((of_mean, of_line, ALL_RUNS), (of_single, of_run, ""))
        if len(table)
    )
    return both[["tokenizer", "of", *both.columns.drop(["line", "tokenizer", "of"])]] if len(both) else both


def named_orders(accounts: pd.DataFrame) -> pd.DataFrame:
    """Count the dips of single runs, under all linking functions, that an n-gram model accounts for.

    ``orders`` says how often each is named, ``share`` is the median share of the order named, or else of the one with
    the largest share.
    """
    names = ["tokenizer", "phenomenon", "dips", "runs", "linking_functions", "named", "orders", "share"]
    if accounts.empty:
        return pd.DataFrame(columns=names)
    table = []
    single = one_order_of_each(accounts[accounts["of"] != ALL_RUNS])
    for (tokenizer, phenomenon), part in single.groupby(["tokenizer", "phenomenon"], sort=False):
        counts = part.loc[part["named"], "order"].value_counts().sort_index()
        orders = ", ".join(f"{order:g}-gram {count}" for order, count in counts.items())
        numbers = len(part), part["of"].nunique(), part["linking"].nunique(), int(counts.sum())
        table.append((tokenizer, phenomenon, *numbers, orders, part["share"].median()))
    return pd.DataFrame(table, columns=names)


def one_order_of_each(accounts: pd.DataFrame) -> pd.DataFrame:
    """Choose of each dip the order that is named, or else the one with the largest share."""
    ranked = accounts.sort_values(["named", "share"], ascending=False, kind="stable")
    return ranked.drop_duplicates(["tokenizer", "of", "phenomenon", "linking"]).sort_index()
