"""How accuracy and length bias depend on the alpha of SLLN-LP, and which is best (ZhoBLiMP, section 4.5, Figure 2)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.figures.described import Across, LineFigure, Up
from ucurve.analysis.figures.drawings import picture
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import NUMBERED, LineStyles, readable
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.eval.linking import linking_name, parse_linking
from ucurve.eval.metrics.accuracy import Split, TiesRule, delta_acc, items, pair_credits, split_masks
from ucurve.eval.metrics.bootstrap import SAMPLES, draw_sums, percentiles
from ucurve.eval.metrics.levels import MEANS, Array, levels_of
from ucurve.eval.metrics.sampling import clusters_of, deviations, spread_of

ALPHAS = tuple(round(step / 20, 2) for step in range(21))
_SIGNS = {"accuracy": 1, "accuracy_unequal": 1, "delta_acc": -1}  # -1: to be low
_SPLITS: tuple[Split, ...] = ("all", "equal", "good_longer", "bad_longer")


@dataclass(frozen=True)
class BestAlpha:
    """The alpha that does best by one criterion, on the very pairs it is chosen on."""

    criterion: str  # `accuracy`, `accuracy_unequal` (to be high) or `delta_acc` (to be low)
    alpha: float  # the best of the grid; the smallest of several, NaN without pairs of each length split
    low: float  # lower bound of a 95 % percentile interval over clusters of pairs, NaN without 4 in each length split
    high: float


def alpha_curve(
    pairs: pd.DataFrame, scores: pd.DataFrame, alphas: Sequence[float] = ALPHAS, ties_rule: TiesRule = "half"
) -> pd.DataFrame:
    """Compute accuracies and length bias of SLLN-LP by alpha; NaN for a split without pairs.

    ``accuracy_unequal``, the y axis of Fig. 2, is the mean of ``good_longer`` and ``bad_longer``.
    """
    merged = items(pairs, scores)
    credit, masks = _by_split(merged, alphas, ties_rule)
    return pd.DataFrame({"alpha": list(alphas), **_curves(credit @ masks, masks.sum(axis=0))})


def best_of_curve(curve: pd.DataFrame) -> dict[str, float]:
    """Return the alpha of a curve of ``alpha_curve`` that does best by each criterion of ``BestAlpha``."""
    curves = {name: curve[name].to_numpy(np.float64) for name in _SIGNS}
    return {name: float(alpha) for name, alpha in _best(curves, curve["alpha"].tolist()).items()}


def best_alpha(
    pairs: pd.DataFrame,
    scores: pd.DataFrame,
    alphas: Sequence[float] = ALPHAS,
    ties_rule: TiesRule = "half",
    samples: int = SAMPLES,
    seed: int = 0,
) -> list[BestAlpha]:
    """Find the best alpha by each criterion, with a bootstrap interval.

    It is an oracle, found on the pairs it is judged by, so that no accuracy should be reported with it.
    """
    merged = items(pairs, scores)
    credit, masks = _by_split(merged, alphas, ties_rule)
    clusters = clusters_of(merged, levels_of(merged))
    sums = np.stack([clusters.sums(row * mask) for row in credit for mask in masks.T])
    size = np.stack([clusters.sums(mask) for mask in masks.T])
    apart = deviations(clusters, sums, np.tile(size, (len(alphas), 1)))
    drawn = draw_sums(sums.sum(axis=1), apart @ apart.T, samples, seed).reshape(samples, len(alphas), -1)
    found, draws = (_best(_curves(each, masks.sum(axis=0)), alphas) for each in (credit @ masks, drawn))
    spread = spread_of(clusters, sums[: len(size)], size)
    # of the row over all pairs, by split
    freedom = np.where(spread.enough, spread.freedom, np.nan)[:, -1 - len(MEANS)]
    best = []
    for name, alpha in found.items():
        # An interval is as wide as that of the split with the fewest clusters that the criterion uses.
        of_splits = freedom[:1] if name == "accuracy" else freedom[1:]
        (low,), (high,) = percentiles(draws[name][:, None], of_splits.min(keepdims=True))
        bounds = (float(low), float(high)) if np.isfinite(alpha) else (np.nan, np.nan)
        best.append(BestAlpha(name, float(alpha), *bounds))
    return best


def _by_split(merged: pd.DataFrame, alphas: Sequence[float], rule: TiesRule) -> tuple[Array, Array]:
    """Return every pair's credit at each alpha, float64[alphas, pairs], and its splits, float64[pairs, splits]."""
    linkings = [parse_linking(linking_name("slln_lp", [alpha])) for alpha in alphas]
    masks = split_masks(merged["n_good"].to_numpy(), merged["n_bad"].to_numpy())
    credit = np.stack([pair_credits(merged, linking, rule) for linking in linkings])
    return credit, np.column_stack([masks[split] for split in _SPLITS]).astype(np.float64)


def _curves(credited: Array, n: Array) -> dict[str, Array]:
    """Turn credits, float64[..., alphas, splits], and pairs, float64[splits], into curves, float64[..., alphas]."""
    accuracy, equal, longer, shorter = np.moveaxis(np.where(n > 0, credited / np.maximum(n, 1), np.nan), -1, 0)
    return {
        "accuracy": accuracy,
        "equal": equal,
        "good_longer": longer,
        "bad_longer": shorter,
        "accuracy_unequal": (longer + shorter) / 2,
        "delta_acc": delta_acc(longer, shorter, equal),
    }


def _best(curves: dict[str, Array], alphas: Sequence[float]) -> dict[str, Array]:
    """Return the best alpha by each criterion, the smallest of several, for each curve of float64[..., alphas]."""
    grid = np.asarray(alphas, dtype=np.float64)
    best = {}
    for name, sign in _SIGNS.items():
        curve = np.round(sign * curves[name], 9)  # alphas that decide alike are equal in draws, too
        defined = ~np.isnan(curve).any(axis=-1)
        best[name] = np.where(defined, grid[np.where(np.isnan(curve), -np.inf, curve).argmax(axis=-1)], np.nan)
    return best


REPORT_SAMPLES = 200  # of the bootstrap: bounds on a grid of 0.05 need no more
_LEAST_SPAN = 0.02  # of accuracies between the best and the worst alpha; with less there is nothing to see
_CURVE = ("accuracy", "accuracy_unequal", "delta_acc")


def alpha_tables(scored: BenchmarkScores) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compute the effect of alpha from the stored scores of the last scored checkpoint of every run that has them.

    The first table has a row per run and alpha: the accuracy of each length split, ``accuracy_unequal`` (mean of the
    two unequal splits) and ``delta_acc``. The second has a row per run: for each criterion the best alpha with its
    interval (``delta_acc_alpha, delta_acc_low, delta_acc_high``, ...) and ``sign_flipped`` of ``sign_flips``.
    """
    curves, best = [], []
    linking = parse_linking("slln_lp")
    for one in scored.last_scores(scored.linking):
        run, pairs, scores = one.run, one.pairs, one.scores
        if linking.missing(scores):
            continue
        named = {"benchmark": scored.benchmark, "run": run.label, "line": run.line}
        curve = alpha_curve(pairs, scores, ties_rule=scored.ties_rule)
        curves.append(curve.assign(**named | {"line": run.line_without("size", "budget"), "model": run.line}))
        settings = {
            "step": one.step,
            "model": run.model,
            "parameters": run.parameters,
            "budget": run.facts and run.facts.tokens_budget,
            "tokenizer": run.facts.tokenizer if run.facts else "",
            "data": run.facts.data if run.facts else "",
        }
        alphas = {
            f"{one.criterion}_{name}": getattr(one, name)
            for one in best_alpha(pairs, scores, ties_rule=scored.ties_rule, samples=REPORT_SAMPLES)
            for name in ("alpha", "low", "high")
        }
        best.append({**named, **settings, **alphas, "sign_flipped": sign_flips(pairs, scores)})
    return stack(curves), pd.DataFrame(best)


def alpha_bands(curves: pd.DataFrame) -> pd.DataFrame:
    """Average the curves over models, after seeds; ``_sd`` are sample standard deviations, NaN for one model."""
    keys = ["benchmark", "line", "alpha"]
    models = curves.groupby([*keys, "model"], as_index=False, sort=False)[list(_CURVE)].mean()
    means = {name: (name, "mean") for name in _CURVE} | {f"{name}_sd": (name, "std") for name in _CURVE}
    return models.groupby(keys, as_index=False, sort=False).agg(models=("model", "nunique"), **means)


def best_of_means(bands: pd.DataFrame) -> pd.DataFrame:
    """Find the alpha at which the mean curve of each line is best by each criterion; NaN where a split has no pairs."""
    rows = []
    for (benchmark, line), part in bands.groupby(["benchmark", "line"], sort=False):
        row = {"benchmark": benchmark, "line": line, "models": part["models"].iloc[0]}
        for name in _CURVE:
            values = part[name].to_numpy(np.float64) * (-1 if name == "delta_acc" else 1)
            place = int(np.argmax(values))
            row[f"{name}_alpha"] = np.nan if np.isnan(values).any() else part["alpha"].iloc[place]
        rows.append(row)
    return pd.DataFrame(rows)


def sign_flips(pairs: pd.DataFrame, scores: pd.DataFrame) -> float:
    """Return the share of sentences with SLOR above 0, a fraction; NaN without unigram probabilities.

    A log probability is negative; less its log unigram probability it may be positive, and then dividing by the length
    lowers the value of a longer sentence instead of raising it (ZhoBLiMP, footnote 6).
    """
    merged = items(pairs, scores)
    linking = parse_linking("slor")
    if linking.missing(merged) or merged.empty:
        return float("nan")
    return float(np.mean([linking.values(merged, "good") > 0, linking.values(merged, "bad") > 0]))


_Y = {"accuracy_unequal": "Accuracy on unequal pairs (%)", "delta_acc": "Δacc (percentage points)"}
_TITLES = {
    "accuracy_unequal": "Accuracy on pairs of unequal length by alpha",
    "delta_acc": "Length bias by alpha",
}
_BAND = "± 1 sample sd over models"
_CRITERIA = {
    "delta_acc": "Δacc lowest",
    "accuracy": "accuracy highest",
    "accuracy_unequal": "unequal pairs highest",
}
_NOTE = (
    "The alpha of SLLN-LP that does best at the last scored checkpoint, with a 95 % percentile interval over pairs, "
    f"those of the same edit drawn together within their paradigm ({REPORT_SAMPLES} draws, grid of 0.05). It is chosen "
    "on the same pairs that it is evaluated on: such an oracle describes a model, but it is not a result. Sign turned: "
    "sentences whose SLOR is above 0."
)


@questions.section(questions.LENGTH, place=1, page="docs/length-bias.md")
def length_bias_sections(study: Study) -> Iterable[ReportSection]:
    """Make the figures and the table of alpha over all benchmarks; nothing without stored scores of sentences."""
    if study.scores.empty:
        return
    found = [alpha_tables(scored) for scored in study.benchmarks()]
    curves = [curve for curve, _ in found if not curve.empty]
    if not curves:
        return
    bands = alpha_bands(pd.concat(curves, ignore_index=True))
    best = pd.concat([table for _, table in found if not table.empty], ignore_index=True)
    drawings = [draw_alpha(bands, name, study.look) for name in _Y if bands[name].notna().any()]
    files = {"best_alpha": best, "best_alpha_of_means": best_of_means(bands)}
    texts = {}
    for name in _CRITERIA:
        numbers = best[[f"{name}_{end}" for end in ("alpha", "low", "high")]].to_numpy()
        texts[name] = ["–" if pd.isna(one[0]) else "{:.2f} ({:.2f} to {:.2f})".format(*one) for one in numbers]
    view = TableView(_NOTE, _COLUMNS, best.assign(**texts), files)
    spans = bands.groupby(["benchmark", "line"])["accuracy_unequal"].agg(
        lambda values: values.max() - values.min()
    )
    left_out = "alpha changes accuracies by less than 2 points" if spans.max() < _LEAST_SPAN else ""
    yield ReportSection("Length bias by alpha", (*drawings, view), left_out=left_out)


def draw_alpha(bands: pd.DataFrame, name: str, look: LineStyles = NUMBERED) -> Drawing:
    """Draw ``accuracy_unequal`` or ``delta_acc`` against alpha, a panel for each benchmark."""
    band = f"Band: {_BAND}" if bands[f"{name}_sd"].notna().any() else "No band: one model for each line"
    what = {
        "accuracy_unequal": "Mean of the accuracies on pairs whose good and whose bad member is longer",
        "delta_acc": "Mean absolute difference of the accuracies on the two unequal splits to that on the equal split",
    }
    note = (
        f"{what[name]}, under SLLN-LP, against its exponent alpha: 0 is LP, 1 mean LP. Last scored checkpoint of each "
        "run. Line: mean over the models that differ only in size and budget (seeds are averaged first). "
        f"{band}."
    )
    table = bands[["benchmark", "line", "alpha", "models", name, f"{name}_sd"]]
    points, sd = 100 * table[name], 100 * table[f"{name}_sd"]
    least = 0 if name == "delta_acc" else None  # a mean of absolute values; the band alone would reach below
    figure = LineFigure(
        table.assign(**{name: points, "low": points - sd, "high": points + sd}),
        Across("alpha", "alpha"),
        Up(name, _Y[name], least=least),
        f"Line: mean over models. {band}",
        look,
        by="benchmark" if table["benchmark"].nunique() > 1 else None,
        titles=readable,
        has_points=True,
        counted=("models",),
    )
    return picture(figure, f"length_bias_{name}", _TITLES[name], note, table)


_COLUMNS = table_columns(
    "benchmark",
    "run",
    "model",
    Column("budget", "Token budget", "count"),
    "tokenizer",
    "step",
    *(Column(name, f"alpha, {words}") for name, words in _CRITERIA.items()),
    Column("sign_flipped", "Sign turned by SLOR (%)", "percent"),
)
