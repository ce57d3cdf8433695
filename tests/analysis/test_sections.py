from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pandas as pd
import pytest

from tests.analysis.scored import chances, make_pairs, make_scores, write_scored
from tests.analysis.synthetic import MakeRun, score_row
from tests.facts import store_rows, store_scores
from tests.settings import analyze_settings
from ucurve.analysis.data.last_scores import ModelScores, group_languages, load_last_scores
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.data.study import BenchmarkScores, Study, read_study
from ucurve.analysis.models.benchmarks import benchmark_sections, match_sections
from ucurve.analysis.models.prompts import prompt_sections
from ucurve.analysis.models.side_by_side import compare_models
from ucurve.analysis.models.sizes import complexity_sections, find_lines, load_complexity
from ucurve.analysis.pairs.section import attractor_sections, length_sections, load_attractors, subset_sections
from ucurve.analysis.report.html import ReportSection, TableView
from ucurve.analysis.report.questions import COST, MADE, QUESTIONS, MadeSections, section
from ucurve.analysis.run import analyze
from ucurve.analysis.sections import make_report, model_sections, section_makers
from ucurve.errors import UserError
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.significance import comparison_table
from ucurve.eval.store.scores import score_path

PARADIGMS = {f"paradigm_{number}": f"phenomenon_{number % 2}" for number in range(4)}
SHARES = (0.6, 0.75, 0.9)


def _parts(root: Path, **changes) -> dict[str, ReportSection]:
    settings = analyze_settings(**({"runs": f"{root}/m*", "out": "out", "linking": "lp"} | changes))
    study = read_study(find_runs(settings.runs), settings)
    parts = [part for languages in group_languages(study) for part in model_sections(languages)]
    parts += [
        part for sections in (benchmark_sections, match_sections, prompt_sections) for part in sections(study)
    ]
    names = [name for part in parts for name in (*part.tables, *(drawing.name for drawing in part.drawings))]
    assert len(names) == len(set(names)), "two outputs have one name"
    return {part.heading: part for part in parts}


def _last(root: Path, scorer: str = "sentence") -> tuple[BenchmarkScores, ModelScores]:
    settings = analyze_settings(runs=f"{root}/m*", out="out", linking="lp")
    scored = next(
        one for one in read_study(find_runs(settings.runs), settings).benchmarks() if one.scorer == scorer
    )
    last = load_last_scores(scored)
    assert last is not None
    return scored, last


def _tables(parts: Iterable[ReportSection]) -> dict[str, pd.DataFrame]:
    return {name: table for part in parts for name, table in part.tables.items()}


def _models(root: Path, pairs: pd.DataFrame, shares=SHARES, **options) -> list[pd.DataFrame]:
    tables = [make_scores(chances(pairs, share, place), place) for place, share in enumerate(shares)]
    for place, table in enumerate(tables):
        write_scored(root / f"m{place}", pairs, table, **options)
    return tables


def _view(part: ReportSection, place: int = 0) -> TableView:
    return [one for one in part.content if isinstance(one, TableView)][place]


def test_models_of_one_benchmark_stand_side_by_side(tmp_path: Path) -> None:
    pairs = make_pairs("zho", PARADIGMS)
    tables = _models(tmp_path, pairs)
    part = _parts(tmp_path)["Models side by side on zho"]
    summary = part.tables["models_zho"].set_index("model")
    assert list(summary.index) == ["m2", "m1", "m0"]
    right = {f"m{place}": (table["lp_good"] > table["lp_bad"]) for place, table in enumerate(tables)}
    assert summary["accuracy"].to_dict() == pytest.approx({name: mask.mean() for name, mask in right.items()})
    assert summary.loc["m2", ["above", "below"]].tolist() == [4, 0]
    assert summary["leads_or_ties"].sum() >= 4
    assert summary.loc["m0", "delta_lp"] == pytest.approx((tables[0]["lp_good"] - tables[0]["lp_bad"]).mean())
    assert [drawing.name for drawing in part.drawings] == [
        "heat_map_zho", "against_zho", "certainty_zho", "confidence_zho",
    ]  # fmt: skip


def test_mcnemar_s_tests_are_those_of_scoring(tmp_path: Path) -> None:
    pairs = make_pairs("zho", PARADIGMS)
    tables = _models(tmp_path, pairs)
    compared = compare_models(_last(tmp_path)[1])
    lp = parse_linking("lp")
    theirs = comparison_table(pairs, (tables[2], lp), (tables[0], lp)).set_index(["phenomenon", "paradigm"])
    (overall,) = compared.versus.query("first == 'm2' and second == 'm0'").to_dict("records")
    assert overall["p"] == pytest.approx(theirs.loc[("all", "all"), "p_mcnemar"])
    ours = compared.by_paradigm.query("first == 'm2' and second == 'm0'").set_index("group")["p"]
    paradigms = theirs.reset_index().query("paradigm in @PARADIGMS").set_index("paradigm")["p_mcnemar"]
    assert ours.to_dict() == pytest.approx(paradigms.to_dict())


def test_one_model_stands_beside_nothing(tmp_path: Path) -> None:
    _models(tmp_path, make_pairs("zho", PARADIGMS), shares=(0.8,))
    assert _parts(tmp_path) == {}


def test_many_paradigms_are_drawn_by_phenomenon_and_all_stand_in_the_csv(tmp_path: Path) -> None:
    paradigms = {f"p{number:02d}": f"phenomenon_{number % 3}" for number in range(61)}
    _models(tmp_path, make_pairs("zho", paradigms, each=8))
    part = _parts(tmp_path)["Models side by side on zho"]
    heat = part.drawings[0].table
    assert set(heat["suite"]) == {"phenomenon_0", "phenomenon_1", "phenomenon_2"}
    assert heat.groupby("model")["n"].sum().tolist() == [61 * 8] * 3
    assert len(part.tables["paradigms_by_model_zho"]) == 61
    assert len(_view(part, 1).table) == 40


def test_slopes_need_a_file_of_lines(tmp_path: Path) -> None:
    _models(tmp_path, make_pairs("zho", PARADIGMS))
    parts = _parts(tmp_path)
    assert "Accuracy and model size on zho" not in parts
    path = tmp_path / "lines.csv"
    path.write_text("model,line,parameters\nm0,A,1e9\nm1,,2e9\nm2,A,3e9\n")
    part = _parts(tmp_path, models=path)["Accuracy and model size on zho"]
    table = part.tables["slopes_zho"].set_index("suite")
    points = parts["Models side by side on zho"].drawings[0].table.set_index(["suite", "model"])["accuracy"]
    for suite in PARADIGMS:
        assert table.loc[suite, "A"] == pytest.approx(100 * (points[suite, "m2"] - points[suite, "m0"]) / 2)


def test_a_model_that_is_not_there_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    _models(tmp_path, make_pairs("zho", PARADIGMS))
    path = tmp_path / "lines.csv"
    path.write_text("model,line,parameters\nmo,A,1e9\n")
    settings = analyze_settings(runs=f"{tmp_path}/m*", out=str(tmp_path / "out"), linking="lp", models=path)
    with pytest.raises(UserError, match=r"unknown model 'mo' in .*lines\.csv:2; allowed: m0, m1, m2"):
        analyze(settings)
    assert not (tmp_path / "out").exists()


def test_runs_form_lines_by_themselves(make_run: MakeRun, tmp_path: Path) -> None:
    make_run([score_row(8, 0.6)], model="14m")
    make_run([score_row(8, 0.7)], model="70m")
    make_run([score_row(8, 0.7)], model="70m", tokens="20M", status="running")
    table = find_lines(find_runs([f"{tmp_path}/runs/*"])).set_index("model")
    finished = table.dropna(subset="line")
    assert finished["line"].nunique() == 1
    assert sorted(finished["parameters"]) == [14_000_000, 70_000_000]
    assert len(table) == 3


def test_complexity_of_the_tse_suites(tmp_path: Path) -> None:
    suites = {suite: kind for kind, names in load_complexity()["tse/hin"].items() for suite in names}
    _models(tmp_path, make_pairs("tse/hin", suites), scorer="conditional")
    scored, last = _last(tmp_path, "conditional")
    (part,) = complexity_sections(scored, last)
    assert part.tables["complexity_steps_tse-hin"]["after"].tolist() == [
        "S_ne_PossPRN_O_V", "S_ne_PossPRN_PossN_O_V", "S_PossPRN_O_V", "S_PossPRN_PossN_O_V",
    ]  # fmt: skip
    (drawing,) = part.drawings
    assert drawing.table["level"].tolist() == [1, 2, 3] * 6


def test_length_and_attractors_of_rublimp(tmp_path: Path) -> None:
    names = [name for pair in load_attractors()["rublimp"].values() for name in pair]
    pairs = make_pairs("rublimp", dict.fromkeys(names, "Subject-Predicate Agreement"))
    pairs["domain"] = np.where(pairs["pair"] % 2, "librusec", "wikinews")
    pairs["good"] = [" ".join("слово" for _ in range(4 + number % 9)) + f" {number}" for number in pairs["pair"]]
    _models(tmp_path, pairs)
    last = _last(tmp_path)
    tables = _tables([*length_sections(*last), *attractor_sections(*last)])
    lengths = tables["length_groups_rublimp"]
    assert lengths["group"].nunique() == 7
    assert set(lengths["domain"]) == {"all", "librusec", "wikinews"}
    assert lengths.query("domain == 'all'").groupby("model")["n"].sum().tolist() == [240] * 3
    attractors = tables["attractors_rublimp"]
    assert attractors["what"].tolist() == ["number"] * 3 + ["gender"] * 3


def test_filtering_where_mink_was_stored(tmp_path: Path) -> None:
    pairs = make_pairs("rublimp", PARADIGMS)
    draw = np.random.default_rng(0)
    for place, share in enumerate(SHARES):
        table = make_scores(chances(pairs, share, place))
        write_scored(tmp_path / f"m{place}", pairs, table)
        stored = {f"mink{k}_{side}": -draw.random(len(pairs)) for k in (30, 60) for side in ("good", "bad")}
        write_scored(tmp_path / f"m{place}", pairs, table.assign(**stored), scorer="mink")
    parts = _parts(tmp_path)
    table = parts["MIN-K% filtering of rublimp"].tables["filtering_rublimp-mink"]
    assert table["k"].tolist() == [30] * 3 + [60] * 3
    assert set(table["pairs"]) == {4 * 30}
    assert [name for name in parts if name.startswith("Models side by side")] == [
        "Models side by side on rublimp"
    ]


def test_subsets_and_prompts_of_swe_blimp(tmp_path: Path) -> None:
    pairs = make_pairs("swe-blimp", {name: name for name in PARADIGMS}, each=100)
    pairs["handmade"] = pairs["pair"] % 100 < 10
    _models(tmp_path, pairs)
    for place in range(3):
        right = chances(pairs, 0.55, 9 + place).astype(float)
        answers = {f"{name}_{side}": value for name in ("grammaticality", "acceptability") for side, value in
                   (("good", right), ("bad", 1 - right))}  # fmt: skip
        scores = make_scores(right > 0).assign(**answers)
        folder = write_scored(
            tmp_path / f"m{place}", pairs, scores, "prompt", linkings=("grammaticality", "acceptability")
        )
        for scorer, notes in (("sentence", {}), ("prompt", {"excluded": place == 1})):
            table = pd.read_parquet(score_path(folder, "swe-blimp", scorer, -1))
            store_scores(folder, "swe-blimp", scorer, -1, table, notes)
        store_rows(folder)
    scored, last = _last(tmp_path)
    assert (_tables(subset_sections(scored, last))["subsets_swe-blimp-sentence"]["mpad"] > 0).all()
    (part,) = prompt_sections(scored.study)
    prompts = part.tables["prompts_swe-blimp"]
    assert prompts["model"].tolist() == ["m2", "m0", "Average"]
    assert "10 % invalid answers (footnote 4): m1" in _view(part).note
    assert prompts.loc[0, "delta_grammaticality"] < -0.2


def _languages(root: Path, count: int = 8) -> list[str]:
    codes = [f"l{number:02d}" for number in range(count)]
    draw = np.random.default_rng(5)
    for number, code in enumerate(codes):
        pairs = make_pairs(f"multiblimp/{code}", {"SV-# SG -> PL": "SV-#", "SV-P 1 -> 3": "SV-P"}, each=50)
        pairs["distance"] = draw.integers(1, 6, len(pairs))
        _models(root, pairs, shares=[0.5 + 0.45 * number / count, 0.5 + 0.3 * number / count])
    return codes


def test_languages_of_multiblimp(tmp_path: Path) -> None:
    codes = _languages(tmp_path)
    path = tmp_path / "languages.csv"
    lines = [
        f"{code},Language {code},{10 ** (3 + place)},{'yes' if place < 2 else 'no'}"
        for place, code in enumerate(codes)
    ]
    path.write_text("language,name,frequency,EU\n" + "\n".join(lines) + "\n")
    parts = _parts(tmp_path, languages=path)
    assert set(parts) == {
        "Languages of multiblimp", "Which languages multiblimp has", "What drives certainty on multiblimp",
    }  # fmt: skip
    tables = parts["Languages of multiblimp"].tables
    groups = tables["groups_multiblimp"].set_index(["model", "group"])
    assert groups.loc[("m0", "all"), ["languages", "n"]].tolist() == [8, 800]
    assert groups.loc[("m0", "EU"), "languages"] == 2
    assert groups.loc[("m0", "SV-#"), "n"] == 400
    assert groups.loc[("m0", "high"), "over_pairs"] > groups.loc[("m0", "low"), "over_pairs"]
    assert len(tables["mcnemar_languages_multiblimp"]) == 8
    assert tables["best_languages_multiblimp"]["group"].tolist() == codes
    assert [drawing.name for drawing in parts["Languages of multiblimp"].drawings] == [
        "against_multiblimp", "frequency_multiblimp",
    ]  # fmt: skip
    scatter = parts["Languages of multiblimp"].drawings[0].table
    assert scatter.loc[scatter["set"] == "EU", "group"].tolist() == ["l00", "l01"]
    betas = parts["What drives certainty on multiblimp"].tables["factor_models_multiblimp"]
    assert set(betas["term"]) >= {"SV-#", "SV-P", "distance", "perplexity", "language_frequency"}
    assert set(betas["model"]) == {"m0", "m1"}
    assert set(zip(betas["clustered_by"], betas["clusters"], strict=True)) == {("language", 8)}
    assert "languages are taken as independent" in _view(parts["What drives certainty on multiblimp"]).note


def test_factors_a_user_gives_enter_the_model(tmp_path: Path) -> None:
    pairs = make_pairs("zho", PARADIGMS)
    _models(tmp_path, pairs, shares=(0.8,))
    path = tmp_path / "factors.csv"
    rows = "".join(f"zho,{number},{number % 7}\n" for number in pairs["pair"])
    path.write_text("benchmark,pair,depth\n" + rows)
    part = _parts(tmp_path, factors=path)["What drives certainty on zho"]
    assert "depth" in set(part.tables["factor_models_zho"]["term"])
    assert "good sentences are taken as independent" in _view(part).note


def test_several_benchmarks_and_what_they_share(tmp_path: Path) -> None:
    for name, phenomenon in (("blimp", "subject_verb_agreement"), ("rublimp", "Subject-Predicate Agreement")):
        _models(tmp_path, make_pairs(name, {"one": phenomenon, "two": "other"}), shares=(0.8,))
    parts = _parts(tmp_path)
    table = parts["Models by benchmark"].tables["benchmarks"]
    assert list(table.columns) == ["model", "blimp", "rublimp", "mean"]
    matched = parts["One phenomenon in several benchmarks"].tables["matched_phenomena"]
    assert set(matched["match"]) == {"subject-predicate agreement"}
    assert matched["gap"].tolist() == pytest.approx([abs(matched["accuracy"].diff().iloc[1])] * 2)
    path = tmp_path / "matches.csv"
    path.write_text("match,benchmark,phenomenon\nother,blimp,other\nother,rublimp,other\n")
    matched = _parts(tmp_path, matches=path)["One phenomenon in several benchmarks"].tables["matched_phenomena"]
    assert set(matched["match"]) == {"other"}
    path.write_text("match,benchmark,phenomenon\nother,blimp,others\n")
    message = r"unknown phenomenon of blimp 'others' in .*matches\.csv:2.*Did you mean 'other'"
    with pytest.raises(UserError, match=message):
        _parts(tmp_path, matches=path)


def test_the_report_holds_the_parts_and_their_files_lie_beside_it(tmp_path: Path) -> None:
    _models(tmp_path, make_pairs("zho", PARADIGMS), shares=(0.6, 0.9))
    out = tmp_path / "out"
    report = analyze(analyze_settings(runs=f"{tmp_path}/m*", out=str(out), linking="lp", formats=("png",)))
    text = report.read_text(encoding="utf-8")
    assert "Models side by side on zho" in text
    assert {"heat_map_zho.png", "heat_map_zho.csv", "mcnemar_zho.csv", "best_zho.csv", "models_zho.csv"} <= {
        path.name for path in out.iterdir()
    }


def test_every_section_is_made_of_what_the_report_has_and_answers_a_question() -> None:
    makers = section_makers()
    for one in (one for made in makers.values() for one in made):
        assert get_args(get_type_hints(one.make)["return"]) == (ReportSection,), one
    assert {one.question for made in makers.values() for one in made} == {None, *QUESTIONS}
    assert all(len({(one.question, one.place) for one in made}) == len(made) for made in makers.values())


def test_a_section_needs_its_decorator_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("ucurve.analysis.report.questions.MADE", made := [])

    @section(COST, place=9)
    def new_sections(study: Study) -> Iterator[ReportSection]:
        yield ReportSection("New", ("Text.",))

    monkeypatch.setattr("ucurve.analysis.sections.MADE", [*MADE, *made])
    section_makers.cache_clear()
    _models(tmp_path, make_pairs("zho", PARADIGMS))
    study = read_study(
        find_runs([f"{tmp_path}/m*"]), analyze_settings(runs=f"{tmp_path}/m*", out="out", linking="lp")
    )
    try:
        (new,) = (one for one in make_report(study)[1] if one.heading == "New")
        assert (new.question, new.page) == (COST, "docs/analysis.md")
    finally:
        section_makers.cache_clear()


def test_a_section_made_of_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def other_sections(number: int) -> Iterator[ReportSection]:
        yield ReportSection(str(number), ())

    monkeypatch.setattr("ucurve.analysis.sections.MADE", [*MADE, MadeSections(other_sections, COST, 9, "")])
    section_makers.cache_clear()
    with pytest.raises(TypeError, match=r"other_sections: no section is made of .*int"):
        section_makers()
