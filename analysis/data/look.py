"""The look of a study's lines: which factor gives the color, which the dashes, which the marker and which the panel."""

from collections.abc import Iterable, Sequence

from ucurve.analysis.data.comparable import unknown_mark
from ucurve.analysis.data.runs import Run
from ucurve.analysis.plotting.style import FEWEST_IN_PANELS, LineStyles, styles_by_factor
from ucurve.errors import unknown_name


def look_of(runs: Sequence[Run], first: Iterable[str | None] = (), facet: str | None = None) -> LineStyles:
    """Return the style of each line of some runs, and the panel of each from 12 lines on.

    ``first`` are the factors of color and dashes that were asked for; those that vary follow in their order. Panels are
    by ``facet``, else by the last factor that styles show.

    Raises:
        UserError: when there is no such factor.
    """
    design = runs[0].design
    asked = [name for name in first if name is not None]
    for name in (*asked, *([] if facet is None else [facet])):
        if name not in design.table:
            raise unknown_name("factor", name, design.varying or design.table.columns)
    factors = [name for name in dict.fromkeys((*asked, *design.varying)) if name in design.varying]
    styles = styles_by_factor(design.views(), {name: design.levels(name) for name in factors})
    marks = {run.label: unknown_mark(run) for run in runs}  # as comparisons by bits per byte name lines
    names = [(run, name) for run in runs for name in (run.line, run.line_without("size", "budget"))]
    marked = {f"{name}{marks[run.label]}": styles[name] for run, name in names if name in styles}
    by = facet or (factors[:3][-1] if len({run.line for run in runs}) >= FEWEST_IN_PANELS and factors else None)
    of_panels = [(run, run.line + mark) for run in runs for mark in ("", marks[run.label])] if by else []
    return LineStyles(
        styles | marked, {name: str(design.level(run.label, by or "") or run.line) for run, name in of_panels}
    )
