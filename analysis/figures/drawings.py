"""Both pictures of a figure of lines, with the numbers behind it."""

from collections.abc import Callable
from dataclasses import replace

import pandas as pd

from ucurve.analysis.figures import page, paper
from ucurve.analysis.figures.described import LineFigure
from ucurve.analysis.plotting.figures import Drawing


def picture(figure: LineFigure, name: str, title: str, note: str, table: pd.DataFrame) -> Drawing:
    """Draw a figure for paper and for pages; ``table`` is written beside it."""
    note = figure.with_reasons(note)
    return Drawing(name, title, note, paper.draw(figure), table, page.draw(figure, title, note))


def overall_and_phenomena(
    table: pd.DataFrame, name: str, what: str, note: str, describe: Callable[[pd.DataFrame], LineFigure]
) -> list[Drawing]:
    """Draw the overall figure (rows of phenomenon ``all``) and, where there are phenomena, a panel for each."""
    overall, phenomena = table[table["phenomenon"] == "all"], table[~table["phenomenon"].isin(("all", ""))]
    drawings = [picture(describe(overall), f"{name}_overall", f"{what}, overall", note, overall)]
    if len(phenomena):
        figure = replace(describe(phenomena), by="phenomenon")
        drawings.append(picture(figure, f"{name}_phenomena", f"{what} by phenomenon", note, phenomena))
    return drawings
