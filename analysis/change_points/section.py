"""Change points in the report: every change of every curve of a line, of accuracy and of loss, as table and drawing."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ucurve.analysis.change_points.bends import (
    LEAST_APART,
    LEAST_CHECKPOINTS,
    MOST_CHANGES,
    Changes,
    can_bend,
    find_changes,
    noise_covariance,
)
from ucurve.analysis.curves.loss import loss_by_run
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.plotting.facets import Panels, draw_over_tokens, line_legend, overall_and_phenomena
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import LineStyles, TokenAxis, readable
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.analysis.shape.classify import LEVEL, Row, adjust_by_runs
from ucurve.analysis.shape.section import read_shapes
from ucurve.analysis.shape.smoothing import Array, Curve, with_known_error

ACCURACY, HELD_OUT_LOSS, TRAINING_LOSS = "accuracy", "held-out loss", "training loss"
NOT_APART = "not told apart"
_OF_A_CHANGE = ("tokens", "tokens_low", "tokens_high", "level", "slope_before", "slope_after")
_COLUMNS = (
    "line", "measure", "phenomenon", "runs", "change", *_OF_A_CHANGE, "p", "p_holm", "significant", "may_be_more",
    "beside_loss",
)  # fmt: skip
_LEAST_VARIANCE = 1e-12  # of a loss: what is left where nothing varies
_CHANGES = table_columns(
    "line",
    Column("curve", "Curve"),
    Column("which", "Change"),
    Column("tokens", "Tokens (95 % interval)", "count", ("tokens_low", "tokens_high")),
    Column("before", "Slope before", "number"),
    Column("after", "Slope after", "number"),
    Column("beside_loss", "Beside changes of the loss"),
    "p_holm",
    "runs",
)
_NOTE = (
    f"Changes of slope against log tokens, at least a factor of {10**LEAST_APART:.0f} apart. By the double maximum "
    "test of Bai and Perron (1998) with draws of the curve's own error (Holm over all curves of lines of one run, and "
    f"over all of lines of several; level {LEVEL:g}); their number is found by the sequential test. At most "
    f'{MOST_CHANGES} are looked for, fewer on short curves: "{MOST_CHANGES} or more" is no count. Slopes are points of '
    'accuracy, or bits per byte of the loss, for ten times the tokens. "After 1, before 2": the interval of the '
    'change lies after that of the first change of the loss and before that of the second. "This run": p values and '
    "intervals of a line of one run are over pairs only (of a loss, over checkpoints) and say nothing about other "
    "seeds; in simulations of single runs that wander by a point or two, 15 to 89 % of straight lines had a change "
    "(docs/change-points.md). "
)
_FIGURE_NOTE = (
    "Dots: accuracy at the checkpoints. Line: the continuous line with the changes that were found; thin where none "
    "was found, from checkpoint to checkpoint. Bar: interval of a "
    "change at 95 %. What lies beyond 0 or 100 % is drawn there."
)


def change_table(
    estimates: Mapping[tuple[str, str], Curve], losses: Mapping[str, tuple[str, Curve]]
) -> pd.DataFrame:
    """Find the changes of curves of accuracy, by line and phenomenon (``all``: every pair), and of ``loss_curves``.

    There is a row for each change, ordered by line and place, and one without a place for each curve that has none.
    ``phenomenon`` is empty for a loss; ``change`` counts from 1, and 0 says that there is none; slopes are per decade
    of tokens, in fractions or bits per byte; ``p_holm`` is over all curves of lines of one run, and over all of lines
    of several; ``may_be_more`` says that a curve has as many changes as are looked for. ``beside_loss`` is such as
    ``after 1, before 2``: the interval of a change of accuracy lies after that of the first change of the loss and
    before that of the second. Curves of too few edits have the changes that these pairs have in other seeds, and with
    one run they are left out.
    """
    curves = [(line, kind, "", curve) for line, (kind, curve) in losses.items()]
    curves += [
        (line, ACCURACY, phenomenon, with_known_error(curve)) for (line, phenomenon), curve in estimates.items()
    ]
    curves = [one for one in curves if can_bend(one[-1].tokens) and one[-1].has_error]
    if not curves:
        return pd.DataFrame(columns=list(_COLUMNS))
    found = [find_changes(curve) for *_, curve in curves]
    adjusted = adjust_by_runs(
        pd.Series([one.p for one in found]), pd.Series([curve.seeds for *_, curve in curves])
    )
    rows = []
    for (line, measure, phenomenon, curve), changes, p in zip(curves, found, adjusted.tolist(), strict=True):
        of_curve = {
            "line": line,
            "measure": measure,
            "phenomenon": phenomenon,
            "runs": curve.seeds,
            "p": changes.p,
            "p_holm": p,
            "significant": p <= LEVEL,
            "may_be_more": p <= LEVEL and changes.may_be_more,
        }
        rows += [{**of_curve, **change} for change in _change_rows(changes, significant=p <= LEVEL)]
    table = pd.DataFrame(rows)
    table["beside_loss"] = [_beside_loss(row, table) for row in table.to_dict("records")]
    table["place"] = pd.factorize(table["line"])[0]  # lines keep their order, not that of the alphabet
    return table.sort_values(["place", "tokens"], kind="stable", ignore_index=True)[list(_COLUMNS)]


def _change_rows(changes: Changes, *, significant: bool) -> Iterator[dict[str, float]]:
    """Lay out the changes, or that there are none."""
    if not significant:
        yield {"change": 0, **dict.fromkeys(_OF_A_CHANGE, np.nan)}
        return
    places = zip(changes.tokens, changes.low, changes.high, changes.levels, pairwise(changes.slopes), strict=True)
    for number, (*place, slopes) in enumerate(places, start=1):
        yield {"change": number, **dict(zip(_OF_A_CHANGE, (*place, *slopes), strict=True))}


def _beside_loss(row: Row, table: pd.DataFrame) -> str:
    """Say between which changes of the loss of its line a change of accuracy lies, by their intervals."""
    if row["measure"] != ACCURACY or not row["change"]:
        return ""
    losses = table[(table["line"] == row["line"]) & (table["measure"] != ACCURACY) & (table["change"] > 0)]
    if losses.empty:
        return ""
    earlier = losses.loc[losses["tokens_high"] < row["tokens_low"], "change"]
    later = losses.loc[losses["tokens_low"] > row["tokens_high"], "change"]
    parts = [f"after {earlier.max()}"] if len(earlier) else []
    parts += [f"before {later.min()}"] if len(later) else []
    return ", ".join(parts) or NOT_APART


def loss_curves(study: Study) -> dict[str, tuple[str, Curve]]:
    """Return the curve of the loss of every line, in bits per byte: held-out where it was measured, else training."""
    found: dict[str, tuple[str, Curve]] = {}
    losses = {HELD_OUT_LOSS: loss_by_run(study.held_out), TRAINING_LOSS: loss_by_run(study.metrics)}
    for line, (kind, rows) in product(dict.fromkeys(run.line for run in study.runs), losses.items()):
        own = rows[rows["line"] == line]
        by_run = own.pivot_table(index="run", columns="bin", values="bits_per_byte", observed=True)
        shared = by_run.dropna(axis=1)  # a mean over other runs at each checkpoint would jump without a change
        tokens = own.groupby("bin")["tokens"].mean()[shared.columns].to_numpy(np.float64)
        if line not in found and can_bend(tokens):
            found[line] = (kind, loss_curve(tokens, shared.to_numpy(np.float64)))
    return found


def loss_curve(tokens: Array, losses: Array) -> Curve:
    """Return the mean of losses, float64[S, T], one row for each run, with its error.

    The error has two parts: the noise of each run beside its own line with the most bends, and the seeds.
    """
    seeds, steps = losses.shape
    noise, freedom = noise_covariance(tokens, losses)
    mean = losses.mean(axis=0)
    own = (noise + np.eye(steps) * _LEAST_VARIANCE) / seeds
    seed_cov = rest_cov = np.zeros_like(own)  # one run says nothing about other seeds
    if seeds > 1:
        apart = losses - mean
        seed_cov, rest_cov = apart.T @ apart / (seeds * (seeds - 1)), own
    return Curve(
        tokens=tokens,
        mean=mean,
        seeds=seeds,
        items=0,  # a loss is not over pairs
        item_cov=own,
        seed_cov=seed_cov,
        rest_cov=rest_cov,
        item_freedom=freedom,
    )


@questions.section(questions.SHAPES, place=5, page="docs/change-points.md")
def change_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Report the change points of accuracy and of the loss of each line; nothing where no curve can be tested."""
    shapes = read_shapes(scored)
    if shapes is None:
        return
    table = change_table(shapes.estimates, loss_curves(scored.study))
    accuracies = table[table["measure"] == ACCURACY]
    if accuracies.empty:
        return
    shown = table[table["change"] > 0]
    scale = np.where(shown["measure"] == ACCURACY, 100.0, 1.0)
    shown = shown.assign(
        curve=shown["phenomenon"].map(readable).where(shown["measure"] == ACCURACY, shown["measure"]),
        which=name_changes(shown),
        before=scale * shown["slope_before"],
        after=scale * shown["slope_after"],
    )
    name = f"change_points_{scored.file_name}"
    view = TableView(f"{_NOTE}{scored.title}.", _CHANGES, shown, {name: table}, "p_holm")
    drawings = draw_changes(table, shapes.estimates, name, scored.title, scored.study.look)
    left_out = "" if accuracies["significant"].any() else "no curve of accuracy changes its slope significantly"
    bent = accuracies[accuracies["significant"]]["phenomenon"]
    # The overall figure, which comes first, is not shown where the overall curve has no change to see.
    straight = drawings[: 0 if bent.eq("all").any() else 1]
    curves = accuracies.drop_duplicates(["line", "phenomenon"])
    bending = curves[curves["significant"]]
    counted = (
        f"{len(bending)} of {len(curves)} curves of accuracy change their slope. Tested are curves of at least "
        f"{LEAST_CHECKPOINTS} trained checkpoints."
    )
    if alone := int((bending["runs"] == 1).sum()):
        are = "are" if alone > 1 else "is"
        counted += f" Of these curves, {alone} {are} of a single run and may bend by its own noise."
    yield ReportSection(
        f"Change points on {scored.heading}",
        (counted, *drawings[len(straight) :], view),
        left_out=left_out,
        not_shown=tuple(straight),
    )


def draw_changes(
    table: pd.DataFrame, estimates: Mapping[tuple[str, str], Curve], name: str, title: str, look: LineStyles
) -> list[Drawing]:
    """Draw the bent lines of ``change_table`` over the accuracies: overall and with a panel for each phenomenon."""
    changes = table[(table["measure"] == ACCURACY) & (table["change"] > 0)]
    tested = table.loc[table["measure"] == ACCURACY, ["line", "phenomenon"]].drop_duplicates()
    rows = pd.concat(
        [
            pd.DataFrame(
                {
                    "line": line,
                    "phenomenon": phenomenon,
                    "tokens": curve.tokens,
                    "accuracy": curve.mean,
                    "low": curve.mean,
                    "runs": curve.seeds,
                }
            )
            for line, phenomenon in tested.itertuples(index=False, name=None)
            for curve in (estimates[line, phenomenon],)
        ],
        ignore_index=True,
    )
    note = f"Changes of slope of the accuracy against training tokens, {title}. {_FIGURE_NOTE}"
    return overall_and_phenomena(rows, name, "Change points", note, partial(_draw, changes=changes, look=look))


def bent_line(changes: pd.DataFrame, first: float, last: float) -> tuple[list[float], list[float]]:
    """Return the corners of the bent line of one curve: tokens and heights, from its first to its last checkpoint."""
    rows = changes.sort_values("change")
    tokens, levels = rows["tokens"].tolist(), rows["level"].tolist()
    start = levels[0] - rows["slope_before"].iloc[0] * np.log10(tokens[0] / first)
    end = levels[-1] + rows["slope_after"].iloc[-1] * np.log10(last / tokens[-1])
    return [first, *tokens, last], [start, *levels, end]


def within_axis(tokens: Sequence[float], levels: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the corners of a line that follows the edge, 0 or 1, where the given one is beyond it."""
    logs = np.log10(tokens)
    crossings = [
        x + (edge - y) / (next_y - y) * (next_x - x)
        for (x, y), (next_x, next_y) in pairwise(zip(logs, levels, strict=True))
        for edge in (0, 1)
        if (y - edge) * (next_y - edge) < 0
    ]
    corners = np.sort([*logs, *crossings])
    return (10**corners).tolist(), np.interp(corners, logs, levels).clip(0, 1).tolist()


def name_changes(changes: pd.DataFrame) -> pd.Series:
    """Say which change of how many each is, such as ``1 of 2``, or ``1 of 3 or more (this run)``."""
    of_curve = changes.groupby(["line", "measure", "phenomenon"])["change"].transform("max").astype(int)
    more = changes["may_be_more"].map({True: " or more", False: ""})
    alone = (changes["runs"] == 1).map({True: " (this run)", False: ""})
    return changes["change"].astype(int).astype(str) + " of " + of_curve.astype(str) + more + alone


def _draw(table: pd.DataFrame, panels: Panels, changes: pd.DataFrame, look: LineStyles) -> Figure:
    styles = look(table["line"])

    def draw(axes: Axes, rows: pd.DataFrame, axis: TokenAxis) -> None:
        for name, style in styles.items():
            line = rows[rows["line"] == name]
            x = axis.places(line["tokens"])
            axes.plot(x, line["accuracy"], "o", color=style.color, markersize=1.8, alpha=0.7, markeredgewidth=0)
            own = changes[(changes["line"] == name) & changes["phenomenon"].isin(line["phenomenon"])]
            if own.empty:
                axes.plot(
                    x, line["accuracy"], color=style.color, linestyle=style.dashes, linewidth=0.5, alpha=0.6
                )
                continue
            tokens, levels = within_axis(*bent_line(own, line["tokens"].min(), line["tokens"].max()))
            axes.plot(axis.places(tokens), levels, color=style.color, linestyle=style.dashes, linewidth=0.9)
            for low, high, level in own[["tokens_low", "tokens_high", "level"]].itertuples(
                index=False, name=None
            ):
                axes.plot(
                    axis.places([low, high]),
                    np.clip([level, level], 0, 1),
                    color=style.color,
                    linewidth=2.2,
                    alpha=0.5,
                )

    return draw_over_tokens(table, panels, draw, _FIGURE_NOTE, line_legend(styles, table))
