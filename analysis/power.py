"""``ucurve power``: how large a dip your runs would show, by phenomenon, now and with more seeds."""

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.data.settings import AnalyzeSettings
from ucurve.analysis.data.study import BenchmarkScores, read_study
from ucurve.analysis.plotting.figures import write_table
from ucurve.analysis.plotting.style import readable
from ucurve.analysis.shape.classify import LEVEL, NOT_TESTED, TOO_SHORT
from ucurve.analysis.shape.power import dip_power, holm_level, what_limits, with_more
from ucurve.analysis.shape.section import read_shapes
from ucurve.analysis.shape.tables import Shapes
from ucurve.cli import run
from ucurve.config import check
from ucurve.config_files import completed
from ucurve.errors import UserError
from ucurve.text_table import format_table

_DEPTHS = np.array([0.03, 0.05, 0.10])
_MORE = (0, 1, 2, 5)  # seeds
_WIDTH, _LONGEST = 110, 28  # letters of a line, and of a phenomenon


def power_command(values: dict[str, object]) -> None:
    """Print a table for each benchmark and line of runs, and write one with all of them."""
    settings = check(AnalyzeSettings, completed("analyze.yaml", values))
    out = Path(settings.out)
    if any(path.is_file() for path in (out, *out.parents)):
        raise UserError(f"out={settings.out} is a file or lies below one; give a folder")
    notes: list[str] = []
    lines: list[str] = []
    for scored in read_study(find_runs(settings.runs), settings).benchmarks():
        shapes = read_shapes(scored)
        untested = list(_describe_untested(shapes)) if shapes else []
        if shapes is None or not shapes.estimates:
            notes += [f"{scored.benchmark}: no curve could be tested.", *untested]
            continue
        notes += [f"{scored.benchmark}: {text}" for text in untested]
        table = power_table(shapes)
        lines += [
            *describe_power(scored, shapes, table),
            f"table: {write_table(table, out / f'power_{scored.file_name}.csv')}",
            "",
        ]
    if not lines:
        raise UserError(" ".join(notes) or "none of these runs was scored, so there is no curve to judge")
    sys.stdout.write("\n".join([*notes, *lines]))


def _describe_untested(shapes: Shapes) -> Iterator[str]:
    """Say what could not be tested, and why."""
    yield from shapes.notes
    if len(shapes.classes):
        untested = shapes.classes.loc[shapes.classes["class"] == NOT_TESTED, "line"].unique()
        if len(untested):
            yield f"{'; '.join(untested)}: not tested, as the runs of a line share {TOO_SHORT}."


def power_table(shapes: Shapes) -> pd.DataFrame:
    """Return how often a dip is found: a row for each curve that was tested, number of further seeds and depth.

    Columns: ``line, phenomenon, runs, items, detectable_dip, limited_by, more_seeds, depth, found``; depths and
    ``found`` are fractions; NaN where there are too few edits to claim anything of other pairs. Of one run nothing is
    known about other seeds, so that it has rows without further ones only.
    """
    rows = []
    for row in shapes.classes.to_dict("records"):
        curve = shapes.estimates.get((row["line"], row["phenomenon"]))
        if curve is None:
            continue
        level = holm_level(shapes.classes, is_one_run=row["runs"] == 1)
        limit = what_limits(curve, str(row["drawn"]), row["detectable_dip"], level)
        for more in _MORE if curve.seeds > 1 else _MORE[:1]:
            found = np.full(len(_DEPTHS), np.nan)  # too few edits do not tell how much edits differ
            if curve.has_error:
                found = dip_power(with_more(curve, curve.seeds + more) if more else curve).of_dips(_DEPTHS, level)
            for depth, share in zip(_DEPTHS, found, strict=True):
                rows.append(
                    {
                        "line": row["line"],
                        "phenomenon": row["phenomenon"],
                        "runs": row["runs"],
                        "items": row["items"],
                        "detectable_dip": row["detectable_dip"],
                        "limited_by": limit,
                        "more_seeds": more,
                        "depth": depth,
                        "found": share,
                    }
                )
    return pd.DataFrame(rows)


def describe_power(scored: BenchmarkScores, shapes: Shapes, table: pd.DataFrame) -> Iterator[str]:
    """Lay out the table of a benchmark for a terminal: for each line of runs what is asked, and a row a phenomenon."""
    for line, rows in table.groupby("line", sort=False):
        runs = int(rows["runs"].iloc[0])
        *most, last = (f"{100 * depth:.0f}" for depth in _DEPTHS)
        depths = f"{', '.join(most)} and {last}"
        curves = round(LEVEL / holm_level(shapes.classes, is_one_run=runs == 1))
        about = (
            f"{line}, {runs} run{'s' if runs > 1 else ''}, {scored.title}: how often a dip of {depths} points "
            f"would be found (in %), a quarter of the axis wide and in its middle, at {LEVEL:.0%} after Holm over "
            f"{curves} curves."
        )
        yield from textwrap.wrap(about, _WIDTH)
        yield format_table(
            [_layout(str(name), own, runs) for name, own in rows.groupby("phenomenon", sort=False)]
        )
        if runs == 1:
            yield "Over the pairs of one run: it does not say how other seeds would differ. Train two more."


def _layout(phenomenon: str, rows: pd.DataFrame, runs: int) -> dict[str, object]:
    """Return the row of a phenomenon, as texts."""
    first = rows.iloc[0]
    name = readable(phenomenon)
    smallest = 100 * float(first["detectable_dip"])
    is_known = bool(rows["found"].notna().all())
    now = f"with {runs} run{'s' if runs > 1 else ''}"
    found = {
        f"with {more!s} more" if more else now: (
            " ".join(f"{100 * share:3.0f}" for share in own["found"]) if is_known else None
        )
        for more, own in rows.groupby("more_seeds")
    }
    return {
        "phenomenon": name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…",
        "pairs": f"{int(first['items']):,}",
        "80 % find": (f"{smallest:.1f}" if np.isfinite(smallest) else ">50") if is_known else "undetermined",
        "limited by": first["limited_by"] if is_known else f"too few {first['limited_by']}",
        **found,
    }


if __name__ == "__main__":
    run("power")
