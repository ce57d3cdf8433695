"""Sections about kinds of pairs.

Length and domain, and attractors (RuBLiMP, section 5, Figures 4 to 6); accuracy before and after MIN-K% filtering of a
pool of pairs (RuBLiMP, sections 2.4 and 4, Figure 3); stability over subsets of a benchmark: the hand-made pairs,
random ones, all (Swe-BLiMP, section 6, Figure 1).
"""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.last_scores import ModelScores
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.models.categories import with_tests
from ucurve.analysis.models.charts import draw_lines
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.eval.pairs import WORD
from ucurve.yaml_files import read_yaml

GROUPS = 7
DRAWS = 100  # random samples of the pool that filtered pairs are compared with
SUBSETS = ("FIRST-10", "RANDOM-10", "RANDOM-50", "ALL")
HANDMADE = "handmade"
_SMALL, _LARGE = 10, 50  # pairs of a category in the subsets of Swe-BLiMP
LINES = 8
_MINK = re.compile(r"mink(\d+)_good")
_DIFFERENCES = table_columns(
    Column("what", "Agreement in"),
    "model",
    Column("without", "Without attractor (%)", "percent"),
    Column("with_it", "With attractor (%)", "percent"),
    Column("difference", "Difference, points (95 % interval)", "percent", ("low", "high")),
)
_FILTERING = table_columns(
    "model",
    Column("k", "K (%)", "count"),
    Column("pairs", "Pairs kept", "count"),
    Column("reference", "Random pairs (%)", "percent"),
    Column("filtered", "Filtered pairs (%)", "percent"),
    Column("delta", "Δ (points)", "percent"),
)


@functools.cache
def load_attractors() -> dict[str, dict[str, tuple[str, str]]]:
    """Read by benchmark, and by what they test, the paradigm without and the one with an attractor."""
    return read_yaml(Path(__file__).with_name("attractors.yaml"), dict[str, dict[str, tuple[str, str]]])


def words(sentence: str) -> int:
    """Count the words (with hyphens: one) and signs: within 1 % of RuBLiMP's Table 3, whose tokenizer is not named."""
    return len(WORD.findall(sentence))


def length_groups(lengths: Sequence[int] | npt.NDArray[np.int64], groups: int = GROUPS) -> pd.Series:
    """Divide sentences into groups of as equal size as sentences of one length staying together allows.

    The groups are categorical and in order: ``"6-7"`` for lengths 6 and 7. Group i ends at the i-th quantile; a group
    that no length falls into is left out.
    """
    values = np.asarray(lengths, dtype=np.int64)
    # This method returns lengths that occur and no values between them, so that a length is never divided.
    cuts = np.quantile(values, np.arange(1, groups) / groups, method="inverted_cdf")
    place = np.searchsorted(np.unique(cuts), values, side="left")
    spans = pd.Series(values).groupby(place).agg(["min", "max"])
    names = [f"{low}" if low == high else f"{low}-{high}" for low, high in spans.to_numpy()]
    codes = pd.Series(range(len(spans)), index=spans.index)[place]
    return pd.Series(pd.Categorical([names[code] for code in codes], categories=names, ordered=True))


def length_table(about: pd.DataFrame, credit: pd.DataFrame, groups: int = GROUPS) -> pd.DataFrame:
    """Compute accuracies with tests by length group, over all domains (``all``) and, with these groups, in each."""
    group = length_groups([words(sentence) for sentence in about["good"]], groups)
    places = [("all", np.ones(len(about), dtype=bool))]
    if "domain" in about:
        places += [
            (str(name), (about["domain"] == name).to_numpy()) for name in sorted(set(about["domain"].dropna()))
        ]
    parts = [_by_group(credit[mask], group[mask], domain) for domain, mask in places]
    return with_tests(pd.concat(parts, ignore_index=True))


def paradigm_differences(points: pd.DataFrame, pairs: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
    """Compare paradigms without and with one thing, such as an attractor (RuBLiMP, section 5).

    ``difference`` is the accuracy with it minus that without, ``low`` and ``high`` are Newcombe's 95 % interval for the
    difference of two independent shares, from Wilson's intervals, each of as many independent pairs as ``effective``
    says (``n`` without this column). A model that lacks one of the two has no row.
    """
    from statsmodels.stats.proportion import confint_proportions_2indep

    rows = []
    known = points.set_index(["model", "suite"])[["accuracy", "effective" if "effective" in points else "n"]]
    for what, names in pairs.items():
        for model in points["model"].unique():
            if all((model, name) in known.index for name in names):
                (one, n), (other, n_other) = (known.loc[(model, name)].astype(float) for name in names)
                low, high = confint_proportions_2indep(other * n_other, n_other, one * n, n, method="newcomb")
                rows.append((what, model, one, other, other - one, float(low), float(high)))
    return pd.DataFrame(rows, columns=["what", "model", "without", "with_it", "difference", "low", "high"])


def _by_group(credit: pd.DataFrame, group: pd.Series, domain: str) -> pd.DataFrame:
    """Return accuracy and number of pairs by length group and model, of one domain."""
    grouped = credit.groupby(group.cat.codes.to_numpy())  # codes, whose order is that of the lengths
    table = (
        grouped.mean().rename_axis("group").reset_index().melt("group", var_name="model", value_name="accuracy")
    )
    n, names = table["group"].map(grouped.size()), dict(enumerate(group.cat.categories))
    return table.assign(domain=domain, n=n.astype(int), group=table["group"].map(names))


def keep_unseen(good: pd.DataFrame, mink: pd.DataFrame, size: int) -> pd.Series:
    """Choose in each paradigm ``size`` pairs whose good sentence no model seems to have seen (RuBLiMP, section 2.4).

    ``mink`` is MIN-K% PROB of the good sentences, a column per model. A paradigm with fewer different sentences keeps
    them all.
    """
    # A sentence counts as seen as soon as one model knows it.
    ranked = good.assign(most=mink.max(axis=1)).sort_values("most", kind="stable")
    kept = ranked.drop_duplicates(["paradigm", "good"]).groupby("paradigm", sort=False).head(size)
    return pd.Series(good.index.isin(kept.index), index=good.index)


def reference_accuracies(
    paradigm: pd.Series, credit: pd.DataFrame, size: int, draws: int = DRAWS, seed: int = 0
) -> pd.Series:
    """Average the accuracy of each model over random samples of the pool (RuBLiMP, section 4).

    ``size`` pairs are drawn of each paradigm, without replacement; a smaller paradigm gives all it has.
    """
    draw = np.random.default_rng(seed)
    values, total, pairs = credit.to_numpy(np.float64), np.zeros(credit.shape[1]), 0
    for _, places in pd.Series(range(len(credit))).groupby(paradigm.to_numpy(), sort=True):
        here, wanted = places.to_numpy(), min(size, len(places))
        # The mean needs only how often each pair was drawn, not the samples themselves.
        times = np.zeros(len(here))
        for _ in range(draws):
            times[draw.permutation(len(here))[:wanted]] += 1
        total += times @ values[here]
        pairs += wanted
    return pd.Series(total / (draws * pairs), index=credit.columns)


def filtering_table(
    good: pd.DataFrame, mink: dict[int, pd.DataFrame], credit: pd.DataFrame, size: int
) -> pd.DataFrame:
    """Compare filtered pairs with random ones for each K (RuBLiMP, Figure 3); ``delta`` is filtered less reference."""
    reference = reference_accuracies(good["paradigm"], credit, size)
    parts = []
    for k, values in mink.items():
        kept = keep_unseen(good, values, size).to_numpy()
        filtered = credit[kept].mean()
        table = pd.DataFrame({"k": k, "pairs": int(kept.sum()), "reference": reference, "filtered": filtered})
        parts.append(table.assign(delta=filtered - reference).reset_index(names="model"))
    return pd.concat(parts, ignore_index=True)


def subset_masks(pairs: pd.DataFrame, seed: int = 0) -> dict[str, pd.Series]:
    """Choose the pairs of each subset, bool by pair, the same for every model.

    ``FIRST-10`` are the hand-made pairs, ``RANDOM-10`` ten of each category's others, ``RANDOM-50`` fifty of all of its
    pairs. A category with fewer pairs than a subset takes gives all it has.
    """
    draw = np.random.default_rng(seed)
    made = pairs[HANDMADE].astype(bool)
    small, large = _drawn(pairs[~made], _SMALL, draw), _drawn(pairs, _LARGE, draw)
    masks = made, made.index.isin(small), made.index.isin(large), np.ones(len(made), dtype=bool)
    return {name: pd.Series(mask, index=made.index) for name, mask in zip(SUBSETS, masks, strict=True)}


def subset_table(pairs: pd.DataFrame, credit: pd.DataFrame) -> pd.DataFrame:
    """Compute macro accuracies on every subset and ``mpad``, their mean pairwise absolute deviation (section 6)."""
    means = {
        name: credit[mask].groupby(pairs.loc[mask, "paradigm"].to_numpy()).mean().mean()
        for name, mask in subset_masks(pairs).items()
    }
    table = pd.DataFrame(means, columns=list(SUBSETS))
    apart = [(table[one] - table[other]).abs() for one, other in combinations(SUBSETS, 2)]
    return table.assign(mpad=pd.concat(apart, axis=1).mean(axis=1)).reset_index(names="model")


def _drawn(pairs: pd.DataFrame, size: int, draw: np.random.Generator) -> list[int]:
    """Draw pairs of each paradigm without replacement, and return their places."""
    return [
        int(place)
        for _, part in pairs.groupby("paradigm", sort=True)
        for place in draw.choice(part.index.to_numpy(), size=min(size, len(part)), replace=False)
    ]


@questions.section(questions.PAIRS, place=3)
def filtering_sections(scored: BenchmarkScores, last: ModelScores) -> Iterator[ReportSection]:
    """Compare pairs filtered by MIN-K% PROB with random ones; none where it was not stored."""
    if scored.scorer not in ("mink", "pll_mink"):
        return
    size = max(1, int(last.pairs["paradigm"].value_counts().min()) // 2)  # the papers took 1,000 of up to 350,000
    columns = set.intersection(*(set(scores.columns) for scores in last.scores.values()))
    ks = sorted(int(found[1]) for name in columns if (found := _MINK.fullmatch(name)))
    mink = {k: pd.DataFrame({model: last.scores[model][f"mink{k}_good"] for model in last.models}) for k in ks}
    table = filtering_table(last.pairs, mink, last.credit, size)
    note = (
        f"Pairs of each paradigm whose good sentence all models find least familiar by MIN-K% PROB ({size} of each, "
        f"half of the smallest paradigm), against the mean over {DRAWS} random samples of as many (RuBLiMP, section 4, "
        "Figure 3). Below 0: filtering makes the pairs harder. The pool is the benchmark itself; RuBLiMP, as "
        "published, is filtered already."
    )
    view = TableView(note, _FILTERING, table, {f"filtering_{scored.file_name}": table})
    yield ReportSection(f"MIN-K% filtering of {scored.benchmark}", (view,))


@questions.section(questions.LENGTH, place=1)
def length_sections(scored: BenchmarkScores, last: ModelScores) -> Iterator[ReportSection]:
    """Draw accuracy by length and domain; nothing where the pairs have no domain."""
    if "domain" not in last.pairs:
        return
    table, name = length_table(last.pairs, last.credit), scored.file_name
    leading = last.credit.mean().sort_values(ascending=False, kind="stable").index[:LINES]
    shown = table[table["model"].isin(list(leading))]
    shown = shown.rename(columns={"domain": "panel", "ci_low": "low", "ci_high": "high"})
    note = (
        f"Accuracy by length of the good sentence in words and signs, {scored.title}, a panel for each domain. The "
        "groups are of as equal size as equal lengths staying together allows, over all domains (RuBLiMP, Figures 4 to "
        f"6); bars: exact 95 % interval, with pairs taken as independent."
    )
    if len(last.models) > LINES:
        note += f" The {LINES} most accurate of {len(last.models)} models."
    labels = ("Length (words and signs)", "Accuracy (%)")
    drawing = draw_lines(shown, "group", f"length_{name}", f"Length and domain on {scored.heading}", note, labels)
    yield ReportSection(f"Length and domain on {scored.heading}", (drawing,), {f"length_groups_{name}": table})


@questions.section(questions.PAIRS, place=1)
def attractor_sections(scored: BenchmarkScores, last: ModelScores) -> Iterator[ReportSection]:
    """Compare paradigms with and without an attractor, where it is known which they are."""
    pairs, heading = scored.look_up(load_attractors()) or {}, f"Attractors on {scored.heading}"
    table = paradigm_differences(last.points, pairs)
    if table.empty:
        if pairs:
            yield ReportSection(
                heading, (), left_out=f"not scored: {'; '.join(' and '.join(both) for both in pairs.values())}"
            )
        return
    note = (
        "Paradigms with an attractor between subject and predicate against those without (RuBLiMP, section 5); "
        "Newcombe's 95 % interval for the difference of two independent shares, over different edits."
    )
    view = TableView(note, _DIFFERENCES, table, {f"attractors_{scored.file_name}": table})
    yield ReportSection(heading, (view,))


@questions.section(questions.PAIRS, place=2)
def subset_sections(scored: BenchmarkScores, last: ModelScores) -> Iterator[ReportSection]:
    """Compare subsets of the pairs, where some of the pairs are hand-made."""
    made = last.pairs.get(HANDMADE)
    if made is None or made.isna().any() or not 0 < made.astype(bool).sum() < len(made):
        return
    table = subset_table(last.pairs, last.credit)
    columns = table_columns("model", *(Column(subset, f"{subset} (%)", "percent") for subset in SUBSETS))
    note = (
        "Macro accuracy on the hand-made pairs, on ten random others and fifty random pairs of each category, and on "
        "all (Swe-BLiMP, section 6). MPAD: mean absolute difference over the six pairs of subsets, in points; its mean "
        f"over the models is {100 * table['mpad'].mean():.2f}. The random pairs are the same for all models."
    )
    columns = (*columns, Column("mpad", "MPAD (points)", "percent"))
    view = TableView(note, columns, table, {f"subsets_{scored.file_name}": table})
    yield ReportSection(f"Stability over subsets of {scored.heading}", (view,))
