"""Analyses that look a benchmark up by name: subsets of it, families, and suites that a maker made anew are found."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.analysis.scored import chances, make_pairs, make_scores, write_scored
from tests.settings import analyze_settings
from ucurve.analysis.data.last_scores import group_languages, load_last_scores
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.data.study import Study, read_study
from ucurve.analysis.models.benchmarks import benchmark_sections, match_sections
from ucurve.analysis.models.sizes import complexity_sections, load_complexity
from ucurve.analysis.pairs.factors import factor_sections
from ucurve.analysis.pairs.section import attractor_sections, load_attractors
from ucurve.analysis.paradigms.phenomena import excluded_sections
from ucurve.analysis.report.html import ReportSection, report_html
from ucurve.analysis.run import analyze
from ucurve.analysis.sections import model_sections
from ucurve.analysis.summary import missing, runs_sections
from ucurve.errors import UserError
from ucurve.eval.store.reported import Reported, keep_reported

HINDI = {suite: kind for kind, suites in load_complexity()["tse/hin"].items() for suite in suites}
BASQUE = {"S-S_V_AUX": "S agreement", "DO-S_DO_V_AUX": "DO agreement"}


def _write(root: Path, benchmark: str, paradigms: dict[str, str], maker: str | None = None, **columns) -> None:
    """Write the scores of two models, and who made the pairs."""
    pairs = make_pairs(benchmark, paradigms, each=20, **columns)
    for place, share in enumerate((0.6, 0.9)):
        folder = write_scored(root / f"m{place}", pairs, make_scores(chances(pairs, share, place), place))
        if maker is not None:
            keep_reported(folder, benchmark, Reported(maker=maker))


def _study(root: Path, **settings) -> Study:
    given = analyze_settings(runs=f"{root}/m*", out=str(root / "out"), linking="lp", formats=("png",), **settings)
    return read_study(find_runs(given.runs), given)


def _each(study: Study, make) -> list[ReportSection]:
    lasts = ((scored, load_last_scores(scored)) for scored in study.benchmarks())
    return [section for scored, last in lasts if last is not None for section in make(scored, last)]


def _by_heading(sections) -> dict[str, ReportSection]:
    return {section.heading: section for section in sections}


@pytest.mark.parametrize(
    ("benchmark", "maker"), [("tse/hin", None), ("tse/hin@6", None), ("suites/hin@6", "tse"), ("mine", "tse")]
)
def test_complexity_of_subsets_and_of_suites_that_were_made_anew(
    tmp_path: Path, benchmark: str, maker: str
) -> None:
    _write(tmp_path, benchmark, HINDI, maker, language="hin")
    (section,) = _each(_study(tmp_path), complexity_sections)
    steps = section.tables[f"complexity_steps_{benchmark.replace('/', '-')}"]
    assert steps["after"].tolist() == [
        "S_ne_PossPRN_O_V", "S_ne_PossPRN_PossN_O_V", "S_PossPRN_O_V", "S_PossPRN_PossN_O_V",
    ]  # fmt: skip


def test_a_language_of_the_suites_without_complexity_says_so_and_other_benchmarks_nothing(tmp_path: Path) -> None:
    _write(tmp_path, "tse/eus@6", BASQUE, language="eus")
    _write(tmp_path, "made/eus", BASQUE, language="eus")  # by nobody that is known
    (section,) = _each(_study(tmp_path), complexity_sections)
    assert section.heading == "Complexity of the intervening phrase in tse/eus@6"
    assert (section.content, section.left_out) == ((), "its paradigms do not differ in it")


def test_attractors_of_pairs_that_the_maker_of_rublimp_made(tmp_path: Path) -> None:
    number = load_attractors()["rublimp"]["number"]
    _write(
        tmp_path, "russian@20", dict.fromkeys(number, "Subject-Predicate Agreement"), "rublimp", language="rus"
    )
    (section,) = _each(_study(tmp_path), attractor_sections)
    assert section.tables["attractors_russian@20"]["what"].tolist() == ["number", "number"]


def test_attractors_that_were_not_scored_are_named(tmp_path: Path) -> None:
    _write(tmp_path, "rublimp@6", {"clause_negation": "Negation"})
    _write(tmp_path, "zho", BASQUE)
    (section,) = _each(_study(tmp_path), attractor_sections)
    assert section.heading == "Attractors on rublimp@6"
    assert not section.content
    assert "subj_predicate_agreement_number_attractor" in section.left_out


def _languages_file(root: Path, *lines: str) -> Path:
    path = root / "languages.csv"
    path.write_text("\n".join(["language,name,frequency,IE", *lines, ""]), encoding="utf-8")
    return path


THREE = ("eus,Basque,0.0005,no", "hin,Hindi,0.2,yes", "swa,Swahili,0.0002,no")


def test_languages_of_subsets_have_names_splits_and_groups(tmp_path: Path) -> None:
    for language in ("eus", "hin", "swa"):
        _write(tmp_path, f"tse/{language}@6", BASQUE, language=language)
    (languages,) = group_languages(_study(tmp_path, languages=_languages_file(tmp_path, *THREE)))
    sections = _by_heading(model_sections(languages))
    tables = sections["Languages of tse"].tables
    table = tables["languages_tse"].set_index("language")
    assert table["name"].to_dict() == {"eus": "Basque", "hin": "Hindi", "swa": "Swahili"}
    assert table["frequency"].to_dict() == {"eus": 0.0005, "hin": 0.2, "swa": 0.0002}
    assert table["split"].to_dict() == {"swa": "low", "eus": "mid", "hin": "high"}
    assert {"all", "low", "mid", "high", "IE"} <= set(tables["groups_tse"]["group"])
    curve = sections["Accuracy and frequency of the languages of tse"]
    assert curve.left_out.endswith("languages= has those of 3 of the 3 that were scored")


def test_a_subset_and_the_whole_of_a_family_are_two_benchmarks(tmp_path: Path) -> None:
    for name in ("tse/eus", "tse/hin", "tse/eus@6", "tse/hin@6"):
        _write(tmp_path, name, BASQUE, language=name[4:7])
    groups = list(group_languages(_study(tmp_path)))
    assert [(one.family, one.file_name, list(one.by_language)) for one in groups] == [
        ("tse", "tse", ["eus", "hin"]), ("tse@6", "tse@6", ["eus", "hin"]),
    ]  # fmt: skip


def test_the_language_is_what_the_pairs_say_else_what_the_name_says(tmp_path: Path) -> None:
    for name, language in (("dutch", "nld"), ("tse/hin", "und"), ("blimp", "und")):
        _write(tmp_path, name, BASQUE, language=language)
    found = {scored.benchmark: scored.language for scored in _study(tmp_path).benchmarks()}
    assert found == {"dutch": "nld", "tse/hin": "hin", "blimp": ""}


@pytest.mark.parametrize("benchmark", ["multiblimp/nld", "multiblimp/nld@20", "mb_nld"])
def test_factors_of_one_language_and_of_its_subset(tmp_path: Path, benchmark: str) -> None:
    _write(tmp_path, benchmark, BASQUE, language="nld", distance=np.arange(40) % 5)
    factors = tmp_path / "factors.csv"
    whole = benchmark.partition("@")[0]
    rows = "".join(f"{whole},{number},{number % 7}\n" for number in range(40))
    factors.write_text("benchmark,pair,depth\n" + rows, encoding="utf-8")
    (languages,) = group_languages(_study(tmp_path, factors=factors))
    (section,) = factor_sections(languages)
    assert section.heading == f"What drives certainty on {benchmark}"
    table = section.tables[f"factor_models_{benchmark.replace('/', '-')}"]
    assert {"distance", "depth"} <= set(table["term"])


def test_phenomena_are_matched_of_subsets_and_of_each_way_to_score(tmp_path: Path) -> None:
    agreement = {"one": "Subject-Predicate Agreement", "two": "other"}
    _write(tmp_path, "rublimp@6", agreement)
    pairs = make_pairs("rublimp@6", agreement, each=20)
    for place in range(2):
        write_scored(tmp_path / f"m{place}", pairs, make_scores(chances(pairs, 0.8, place)), scorer="mink")
    assert list(match_sections(_study(tmp_path))) == []  # two ways to score one benchmark match nothing
    _write(tmp_path, "blimp@first20", {"one": "subject_verb_agreement", "two": "other"})
    (section,) = match_sections(_study(tmp_path))
    matched = section.tables["matched_phenomena"]
    assert set(matched["benchmark"]) == {"blimp@first20", "rublimp@6 by mink", "rublimp@6 by sentence"}
    (section,) = benchmark_sections(_study(tmp_path))
    assert {"blimp@first20", "rublimp@6 by mink", "rublimp@6 by sentence"} <= set(section.tables["benchmarks"])


def test_matches_of_one_benchmark_alone_say_why_they_are_not_shown(tmp_path: Path) -> None:
    _write(tmp_path, "blimp@6", {"one": "agreement", "two": "other"})
    path = tmp_path / "matches.csv"
    path.write_text(
        "match,benchmark,phenomenon\nagreement,blimp,agreement\nagreement,sling,any\n", encoding="utf-8"
    )
    (section,) = match_sections(_study(tmp_path, matches=path))
    assert (section.content, section.left_out) == ((), "of no match in matches= two benchmarks were scored")
    path.write_text("match,benchmark,phenomenon\nagreement,blimp,agrement\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"unknown phenomenon of blimp 'agrement' .*Did you mean 'agreement'"):
        _study(tmp_path, matches=path)


def test_many_languages_of_a_subset_are_one_column(tmp_path: Path) -> None:
    for language in ("abk", "bel", "ces", "deu", "eng", "fin"):
        _write(tmp_path, f"multiblimp/{language}@20", BASQUE, language=language)
    _write(tmp_path, "blimp", BASQUE)
    (section,) = benchmark_sections(_study(tmp_path))
    assert list(section.tables["benchmarks"]) == ["model", "blimp", "multiblimp", "mean"]


def test_excluded_paradigms_of_a_subset_are_compared(tmp_path: Path) -> None:
    for name in ("zhoblimp@6", "zhoblimp-excluded@6", "zhoblimp-excluded"):
        _write(tmp_path, name, BASQUE)
    sections = list(excluded_sections(_study(tmp_path)))
    assert [section.heading for section in sections] == ["Excluded paradigms of zhoblimp@6"]


def test_benchmark_names_a_family_as_in_scoring(tmp_path: Path) -> None:
    for name in ("tse/eus", "tse/hin@6", "blimp"):
        _write(tmp_path, name, BASQUE)
    found = [scored.benchmark for scored in _study(tmp_path, benchmark="tse").benchmarks()]
    assert found == ["tse/eus", "tse/hin@6"]
    with pytest.raises(
        UserError, match=r"unknown benchmark 'tsi' in benchmark; allowed: blimp, tse/eus, tse/hin@6"
    ):
        _study(tmp_path, benchmark="tsi")


def test_a_table_of_languages_about_nothing_that_was_scored_is_refused(tmp_path: Path, run_command) -> None:
    _write(tmp_path, "tse/eus@6", BASQUE, language="eus")
    _write(tmp_path, "tse/hin@6", BASQUE, language="hin")
    path = _languages_file(tmp_path, "deu,German,5,yes", "fra,French,4,yes")
    code, _, said = run_command("analyze", f"runs={tmp_path}/m*", f"out={tmp_path / 'out'}", f"languages={path}")
    assert code == 2
    assert (
        "none of its lines is about what was scored: they have the languages deu, fra, and the study has eus, hin"
        in said
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_what_was_not_made_is_listed_with_the_reason(tmp_path: Path) -> None:
    for language, suites in (("eus", BASQUE), ("hin", HINDI)):
        _write(tmp_path, f"tse/{language}@6", suites, language=language)
    settings = analyze_settings(
        runs=f"{tmp_path}/m*", out=str(tmp_path / "out"), linking="lp", formats=("png",),
        languages=_languages_file(tmp_path, *THREE),
    )  # fmt: skip
    report = analyze(settings)
    listed = pd.read_csv(tmp_path / "out" / "missing.csv").set_index("missing")
    assert (
        listed.loc["Complexity of the intervening phrase in tse/eus@6", "detail"]
        == "its paradigms do not differ in it"
    )
    assert listed.loc["Accuracy and frequency of the languages of tse", "run"] == "all"
    page = report.read_text(encoding="utf-8")
    assert "Not made:" in page
    assert "Complexity of the intervening phrase in tse/eus@6 (its paradigms do not differ in it)" in page
    assert (tmp_path / "out" / "complexity_tse-hin@6.csv").is_file()


def test_the_report_tells_what_it_does_not_show_from_what_was_not_made() -> None:
    sections = [
        ReportSection("Curves", ("A text.",)),
        ReportSection("FLOPs", ("A text.",), left_out="one model"),
        ReportSection("Attractors", (), left_out="not scored: a and b"),
        ReportSection("Complexity", (), left_out="its paradigms do not differ in it"),
    ]
    page = " ".join(report_html("Report", sections, {}).split())
    assert (
        "Not shown, as it would say nothing here (the files are written all the same): FLOPs (one model). </p>"
        in page
    )
    assert (
        "Not made: Attractors (not scored: a and b); Complexity (its paradigms do not differ in it). </p>" in page
    )
    assert "Not made" not in report_html("Report", sections[:2], {})


def test_what_is_missing_ends_with_what_was_not_made(tmp_path: Path) -> None:
    _write(tmp_path, "tse/eus@6", BASQUE)
    study = _study(tmp_path)
    (section,) = runs_sections(study, [ReportSection("Attractors", (), left_out="not scored: a and b")])
    assert section.tables["missing"].to_numpy().tolist() == [["all", "Attractors", "not scored: a and b"]]
    assert missing(study).empty
