"""Checks of all cells of a grid before the first one is trained."""

from collections.abc import Sequence

from ucurve.errors import DamagedError, UserError
from ucurve.fields import format_names
from ucurve.training.grid.cells import Cell, combine_problems
from ucurve.training.run.prepare import build_checked_tokenizer, pin_sources


def check_cells(cells: Sequence[Cell]) -> None:
    """Build the tokenizers of a grid and check that their contexts hold the pairs; one error names what does not fit.

    Cells that differ in neither tokenizer, text, context nor scoring are checked once.
    """
    alike: dict[str, list[Cell]] = {}
    for cell, one in [(cell, cell.settings) for cell in cells]:
        key = repr([one.tokenizer, one.data, one.batch.length, one.has_masks, one.eval, one.paths])
        alike.setdefault(key, []).append(cell)
    problems: dict[str, list[str]] = {}
    for group in alike.values():
        try:
            build_checked_tokenizer(pin_sources(group[0].settings))
        except DamagedError:
            continue  # of this run alone, which says so when its turn comes
        except UserError as error:
            problems.setdefault(str(error), []).append(format_names([cell.name for cell in group]))
    if problems:
        raise combine_problems(problems, len(alike))
