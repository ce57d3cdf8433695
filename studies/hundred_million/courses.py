"""What becomes of a curve, by the tests of shape: does it fall before it rises, where, and for what is that shown."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from studies.dips import RUNS_WITH_DIP, LinkingShapes, with_runs_that_dip
from ucurve.analysis.data.pair_scores import read_runs
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.shape.classify import NOT_TESTED, Row
from ucurve.analysis.shape.over_tokens import find_shapes
from ucurve.analysis.shape.power import add_limits
from ucurve.analysis.shape.tables import SEEDS_ONLY, Shapes

PAPER = ("fci_licensing", "topicalization")  # named in ZhoBLiMP, section 5.3
NEAR_THE_PAPERS = 10**7.5  # tokens: a bottom later than this is within half a decade of the paper's 100 million
_SCOPES = {
    "class": "these runs, other seeds and other pairs",
    "class_these_pairs": "other seeds, on these pairs",
    "class_these_runs": "these runs, on other pairs",
}
_OPEN = ("undetermined", NOT_TESTED)
_DIP = "U-shaped"
DIPS_LATE, DIPS_EARLY, FALLS, PEAKS, RISES, STAYS, OPEN = (
    "falls and rises again", "falls and rises again, earlier", "falls", "rises, then falls", "rises", "stays",
    "undetermined",
)  # fmt: skip
_FOUND = {"inverted-U": PEAKS, "falling": FALLS, "rising": RISES, "flat": STAYS}
_NUMBERS = {
    "p_u": "p_dip", "holm_u": "p_dip_holm", "dip": "dip", "dip_depth_low": "dip_low", "dip_depth_high": "dip_high",
    "dip_start": "falls_from", "dip_place": "bottom", "dip_place_low": "bottom_low", "dip_place_high": "bottom_high",
    "dip_end": "rises_to", "bump": "bump", "bump_place": "peak", "start": "start", "end": "end",
}  # fmt: skip
_COLUMNS = ["shape", *_SCOPES, "found", "scope", "runs", "items", *_NUMBERS.values()]
_SHAPE_COLUMNS = [
    "line", "phenomenon", "linking", "named", *_COLUMNS, *RUNS_WITH_DIP, "shown", "detectable_dip", "limited_by",
]  # fmt: skip


def shape_courses(
    shapes: Mapping[str, LinkingShapes], shown: str, of_line: Mapping[str, str], of_run: Mapping[str, str]
) -> pd.DataFrame:
    """Say of every curve under every linking function what was found, with the deepest dip of its smoothed curve.

    ``class``, ``class_these_pairs`` and ``class_these_runs`` are the classes in three scopes, ``found`` what they say
    of the paper's dip (``name_course``) and ``scope`` for what that is shown. ``p_dip`` and ``p_dip_holm`` are of a dip
    beyond pairs and seeds, Holm over the curves of the linking function. ``dip`` (a fraction), its interval,
    ``falls_from``, ``bottom`` and ``rises_to`` (tokens) are of the deepest dip, ``bump`` and its ``peak`` of the
    highest bump, whether they are significant or not. ``runs_with_dip`` and ``runs_with_dip_each`` count the runs
    that dip alone (``with_runs_that_dip``). ``detectable_dip`` is the dip that would be found in 80 %, and
    ``limited_by`` what limits it, under the linking function that is ``shown`` only.
    """
    tables = []
    for linking, found in shapes.items():
        if found.lines.classes.empty:
            continue
        classes = add_limits(found.lines) if linking == shown else found.lines.classes
        own = with_courses(classes).assign(line=classes["line"].map(dict(of_line)), linking=linking)
        own = own.assign(named=own["phenomenon"].isin(PAPER), shown=linking == shown)
        own = with_runs_that_dip(own, found.alone.classes, of_run, "line")
        tables.append(own.reindex(columns=_SHAPE_COLUMNS))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=_SHAPE_COLUMNS)


def paradigm_courses(scored: BenchmarkScores, of_line: Mapping[str, str]) -> pd.DataFrame:
    """Test each paradigm as ``shape_courses`` does phenomena; with all pairs, they are a family of Holm's."""
    rows, settings = scored.rows[scored.rows["step"] >= 0], scored.study.settings
    how = scored.benchmark, scored.linking, scored.ties_rule, settings.cluster
    single, phenomenon = [], dict[str, str]()
    for run, items in read_runs(scored.study.runs, rows, *how):
        if items is not None:
            phenomenon |= dict(zip(items.pairs["paradigm"], items.pairs["phenomenon"], strict=True))
            single.append((run, replace(items, pairs=items.pairs.assign(phenomenon=items.pairs["paradigm"]))))
    classes = find_shapes(single, settings.cluster, settings.flat_margin / 100).classes
    names = ["line", "phenomenon", "paradigm"]
    if classes.empty:
        return pd.DataFrame(columns=[*names, *_COLUMNS])
    table = with_courses(classes[classes["phenomenon"] != "all"].reset_index(drop=True))
    table = table.rename(columns={"phenomenon": "paradigm"})
    table = table.assign(line=table["line"].map(dict(of_line)), phenomenon=table["paradigm"].map(phenomenon))
    return table[[*names, *_COLUMNS]]


def size_courses(found: Shapes) -> pd.DataFrame:
    """Say what becomes of the mean over the sizes that were trained alike, as in the paper's Figure 4."""
    names = ["sizes", "phenomenon", "named", "p_sizes_differ"]
    if found.classes.empty:
        return pd.DataFrame(columns=[*names, *_COLUMNS])
    table = with_courses(found.classes).rename(columns={"holm_sizes": "p_sizes_differ"})
    return table.assign(named=table["phenomenon"].isin(PAPER)).reindex(columns=["line", *names, *_COLUMNS])


def with_courses(classes: pd.DataFrame) -> pd.DataFrame:
    """Add ``found`` and ``scope`` to a table of classes, and give its numbers the names of the study."""
    rows = classes.to_dict("records")
    named = pd.DataFrame([name_course(row) for row in rows], columns=["found", "scope"], index=classes.index)
    return pd.concat([classes.rename(columns=_NUMBERS), named], axis=1)


def name_course(row: Row) -> tuple[str, str]:
    """Say what a row of ``ucurve.analysis.shape.tables.shape_table`` means beside the paper, and for what it is shown.

    A dip in any scope comes before other classes, a wider scope before a narrower one. The bottom of a dip is late from
    ``NEAR_THE_PAPERS`` on. Of a few edits, ``class`` is of these pairs.
    """
    scopes = dict(list(_SCOPES.items())[row["variation"] == SEEDS_ONLY :])
    classes = {scope: row[name] for name, scope in scopes.items() if row.get(name, NOT_TESTED) not in _OPEN}
    dips = [scope for scope, name in classes.items() if name == _DIP]
    if dips:
        return (DIPS_LATE if row["dip_place"] >= NEAR_THE_PAPERS else DIPS_EARLY), dips[0]
    scope, name = next(iter(classes.items()), ("", ""))
    return _FOUND.get(name, OPEN), scope
