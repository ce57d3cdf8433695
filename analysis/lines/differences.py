"""Differences between lines, where their runs are made equal in something: loss, tokens or bytes of text."""

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

from ucurve.analysis.data.runs import Run
from ucurve.analysis.lines.over_seeds import DIFFERENCE, contrast, moderate_table, p_of_contrast, seeds_alone
from ucurve.eval.metrics.significance import holm


def level_pairs(runs: Sequence[Run], factor: str) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return the lines that differ in a factor alone, in pairs, by the two levels in which they differ."""
    alike: dict[str, dict[str, str]] = {}
    for run in runs:
        if (level := run.design.level(run.label, factor)) is not None:
            alike.setdefault(run.line_without(factor), {}).setdefault(str(level), run.line)
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    order = {level: place for place, level in enumerate(runs[0].design.levels(factor))} if runs else {}
    for lines in alike.values():
        for one, other in combinations(sorted(lines, key=order.__getitem__), 2):
            found.setdefault((one, other), []).append((lines[one], lines[other]))
    return found


def differences_between(found: pd.DataFrame, levels: Sequence[str], lines: str) -> pd.DataFrame:
    """Compare the accuracies of every two lines at each level (``of``: ``char - word``).

    ``found`` has the columns ``levels``, in which the runs of a row are equal, the column that names its line (such as
    ``tokenizer``), ``phenomenon`` and ``accuracy``, a row per run, and where curves are known those of
    ``over_seeds.of_curve``. ``low`` and ``high`` are the 95 % interval over seeds, ``p`` is of the same t, both with
    variances moderated over the table (``over_seeds``), and ``p_holm`` is over the phenomena and pairs of a level (Holm
    1979); the pairs of ``all`` are a family apart.
    """
    names = list(dict.fromkeys(found[lines]))
    cells = moderate_table(found, [*levels, "phenomenon", lines])
    nothing, table = seeds_alone([]), []
    for key in dict.fromkeys(key[:-1] for key in cells):
        for one, other in combinations(names, 2):
            sides = [cells.get((*key, name), nothing) for name in (one, other)]
            table.append((*key, f"{one} - {other}", *contrast(sides, DIFFERENCE), p_of_contrast(sides, DIFFERENCE)))
    rows = pd.DataFrame(table, columns=[*levels, "phenomenon", "of", "difference", "low", "high", "p"])
    family = [*(rows[name] for name in levels), rows["phenomenon"] == "all"]
    return rows.assign(p_holm=rows.dropna(subset=["p"]).groupby(family)["p"].transform(lambda p: holm(p.to_numpy())))
