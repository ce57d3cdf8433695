"""Which languages a benchmark has: by condition of agreement and by family (MultiBLiMP, Table 2, Figure 3 and B.1)."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from ucurve.analysis.data.last_scores import LanguageScores, ModelScores
from ucurve.analysis.plotting.figures import Drawing, NamedRows
from ucurve.analysis.plotting.style import COLORS, drawing_style
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView
from ucurve.yaml_files import read_yaml

ENOUGH = 10  # pairs of a language that make it count in a condition
_CODES = 12  # of languages beside a bar
_OF_AGREEMENT = {"phenomenon", "feature_vals", "word_order"}  # columns of the pairs of MultiBLiMP and of its maker
_KEYS = ["phenomenon", "value", "order"]


@questions.section(questions.LEARNED, place=2, page="docs/other-papers.md")
def coverage_sections(languages: LanguageScores) -> Iterator[ReportSection]:
    """Count the languages of a benchmark by condition and by family; nothing of one language."""
    if len(languages.members) == 1:
        return
    content: list[TableView | Drawing] = [_draw_families(languages)]
    counted = condition_table(languages.by_language)
    if len(counted):
        text = counted["languages"].astype(str) + " (" + counted["significant"].astype(str) + ")"
        wide = counted.assign(text=text).pivot_table(
            "text", ["phenomenon", "value"], "order", aggfunc="first", sort=False
        )
        shown = wide.reindex(columns=["SV", "VS", "both"]).astype(object).fillna("0 (0)").reset_index()
        note = (
            f"Languages with at least {ENOUGH} pairs of a condition, and in brackets those for which agreement is "
            "significant, where the pairs say so (MultiBLiMP, Table 2). A value is the subject's; all counts the "
            "languages that are counted at any."
        )
        columns = tuple(Column(str(name), str(name)) for name in shown)
        view = TableView(note, columns, shown, {f"conditions_{languages.file_name}": counted})
        content.insert(0, view)
    yield ReportSection(f"Which languages {languages.family} has", tuple(content))


def condition_table(last: Mapping[str, ModelScores]) -> pd.DataFrame:
    """Count the languages with ``ENOUGH`` pairs of each condition (MultiBLiMP, Table 2); no rows for other pairs.

    ``phenomenon`` (without its layer), ``value`` of the subject, ``order``, ``languages``, and of these
    ``significant``: those whose pairs say so of agreement. ``all`` and ``both`` count what is counted in any condition.
    """
    parts = [_conditions_of(language, one.pairs) for language, one in last.items() if set(one.pairs) >= _OF_AGREEMENT]
    pairs = pd.concat([pd.DataFrame(columns=[*_KEYS, "languages", "significant"]), *parts])
    pairs = pairs[pairs.groupby([*_KEYS, "languages"])["languages"].transform("size") >= ENOUGH]
    pairs = pd.concat([pairs, pairs.assign(value="all")])
    pairs = pd.concat([pairs, pairs.assign(order="both")])
    return pairs.groupby(_KEYS, sort=False)[["languages", "significant"]].nunique().reset_index()


def _conditions_of(language: str, pairs: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "phenomenon": pairs["phenomenon"].str.partition("[")[0],
            "value": pairs["feature_vals"].str.partition(" ")[0],
            "order": pairs["word_order"],
            "languages": language,
            "significant": pairs.get("agreement", pd.Series("", pairs.index)).map({"significant": language}),
        }
    )


def family_table(last: Mapping[str, ModelScores]) -> pd.DataFrame:
    """Count pairs by ``language`` and ``family`` (``not known`` where families.yaml has none), the largest first."""
    known = read_yaml(Path(__file__).with_name("families.yaml"), dict[str, tuple[str, ...]])
    family_of = {language: family for family, members in known.items() for language in members}
    rows = [(family_of.get(language, "not known"), language, len(one.pairs)) for language, one in last.items()]
    table = pd.DataFrame(rows, columns=["family", "language", "pairs"]).sort_values(["family", "language"])
    return table.sort_values(
        "family", key=lambda names: -names.map(names.value_counts()), kind="stable", ignore_index=True
    )


def _draw_families(languages: LanguageScores) -> Drawing:
    table = family_table(languages.by_language)
    members = table.groupby("family", sort=False)["language"].agg(list)
    note = f"Languages of {languages.family} by family (MultiBLiMP, Figure 3 and B.1), with their codes."
    with drawing_style():
        rows = NamedRows(list(members.index), note)
        rows.axes.barh(np.arange(len(members)), members.map(len), height=0.6, color=COLORS[0])
        for place, codes in enumerate(members):
            shown = " ".join(codes[:_CODES]) + (f" and {len(codes) - _CODES} more" if len(codes) > _CODES else "")
            at = (len(codes), place)
            rows.axes.annotate(shown, at, xytext=(3, 0), textcoords="offset points", va="center", fontsize=5)
        rows.axes.set_xlim(0, 2 * members.map(len).max())
        figure = rows.finish("Languages")
    return Drawing(f"families_{languages.file_name}", "Families of languages", note, figure, table)
