"""Languages by condition and by family (MultiBLiMP, Table 2, Figure 3 and B.1)."""

from types import SimpleNamespace

import pandas as pd
import pytest

from tests.analysis.scored import chances, make_pairs, make_scores, write_scored
from tests.settings import analyze_settings
from ucurve.analysis.data.last_scores import group_languages
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.data.study import read_study
from ucurve.analysis.languages.section import condition_table, coverage_sections, family_table
from ucurve.eval.benchmarks.registry import find_card


def _pairs(*conditions, **more):
    """Pairs of conditions, each a phenomenon, values, an order, how many, and the mark of agreement."""
    rows = [
        {"phenomenon": phenomenon, "feature_vals": values, "word_order": order, "agreement": mark}
        for phenomenon, values, order, count, mark in conditions
        for _ in range(count)
    ]
    return SimpleNamespace(pairs=pd.DataFrame(rows).assign(**more))


LAST = {
    "eus": _pairs(("SV-#[abs]", "SG -> PL", "SV", 6, "significant"), ("SV-#[erg]", "SG -> PL", "SV", 4, "significant"),
                  ("SV-#[abs]", "SG -> PL", "VS", 9, "significant")),
    "tur": _pairs(("SV-#", "SG -> PL", "SV", 12, "significant"), ("SV-P", "3 -> 1", "SV", 7, "significant"),
                  ("SV-P", "3 -> 2", "SV", 5, "significant")),
    "rus": _pairs(("SV-#", "SG -> PL", "SV", 10, "uncertain"), ("SV-#", "PL -> SG", "VS", 20, "significant")),
}  # fmt: skip


def test_languages_are_counted_where_they_have_ten_pairs_of_a_condition():
    table = condition_table(LAST).set_index(["phenomenon", "value", "order"])
    counts = {
        key: tuple(row)
        for key, row in zip(table.index, table[["languages", "significant"]].to_numpy(), strict=True)
    }
    assert counts == {
        ("SV-#", "SG", "SV"): (3, 2),  # the layers of Basque together; Russian is uncertain
        ("SV-#", "PL", "VS"): (1, 1),
        ("SV-P", "3", "SV"): (1, 1),  # to the first and second person together
        ("SV-#", "all", "SV"): (3, 2), ("SV-#", "all", "VS"): (1, 1), ("SV-P", "all", "SV"): (1, 1),
        ("SV-#", "SG", "both"): (3, 2), ("SV-#", "PL", "both"): (1, 1), ("SV-P", "3", "both"): (1, 1),
        ("SV-#", "all", "both"): (3, 3), ("SV-P", "all", "both"): (1, 1),
    }  # fmt: skip


def test_published_pairs_do_not_say_what_is_significant_and_others_have_no_conditions():
    published = {
        "nld": SimpleNamespace(pairs=_pairs(("SV-#", "SG -> PL", "SV", 10, "")).pairs.drop(columns="agreement"))
    }
    assert condition_table(published)["significant"].tolist() == [0] * 4
    assert len(condition_table({"zho": SimpleNamespace(pairs=pd.DataFrame({"phenomenon": ["BA"]}))})) == 0


def test_families_of_all_languages_of_multiblimp_are_known():
    members = find_card("multiblimp").members
    table = family_table({name.partition("/")[2]: SimpleNamespace(pairs=range(3)) for name in members})
    assert len(table) == 101
    assert "not known" not in set(table["family"])
    assert table["family"].iloc[0] == "Indo-European"
    few = family_table({one: SimpleNamespace(pairs=range(5)) for one in ("tur", "epo", "eng", "nld")})
    assert few.to_numpy().tolist() == [
        ["Indo-European", "eng", 5], ["Indo-European", "nld", 5], ["Turkic", "tur", 5], ["not known", "epo", 5],
    ]  # fmt: skip


@pytest.fixture
def study(tmp_path):
    def study(**columns):
        for language in ("eus", "tur"):
            pairs = make_pairs(
                f"mine/{language}", {"SV-# SG -> PL SV": "SV-#"}, each=20, **{**columns, "language": language}
            )
            for place, share in enumerate((0.6, 0.9)):
                write_scored(tmp_path / f"m{place}", pairs, make_scores(chances(pairs, share, place), place))
        settings = analyze_settings(
            runs=f"{tmp_path}/m*", out=str(tmp_path / "out"), linking="lp", formats=("png",)
        )
        return read_study(find_runs(settings.runs), settings)

    return study


def test_the_section_has_the_table_and_the_figure(study):
    [languages] = group_languages(study(feature_vals="SG -> PL", word_order="SV", agreement="significant"))
    [section] = coverage_sections(languages)
    view, drawing = section.content
    assert view.table.iloc[0].tolist() == ["SV-#", "SG", "2 (2)", "0 (0)", "2 (2)"]
    assert section.tables["conditions_mine"]["languages"].tolist() == [2, 2, 2, 2]
    assert drawing.table["family"].tolist() == ["Basque", "Turkic"]


def test_pairs_without_conditions_have_the_figure_alone(study):
    [languages] = group_languages(study())
    [section] = coverage_sections(languages)
    assert [one.name for one in section.content] == ["families_mine"]
