"""What a card, or a preset before it, says of linking function, ties and overall number is what is shown first."""

import json
import shutil

import pytest

from tests.printed import read_printed
from ucurve.config import check, compose
from ucurve.errors import DamagedError, UserError
from ucurve.eval.api import compare, score
from ucurve.eval.benchmarks.registry import expand_benchmarks
from ucurve.eval.presets import find_preset
from ucurve.eval.run import execute
from ucurve.eval.scoring.scorers import find_scorer
from ucurve.eval.settings import LINKING, ScoreCommand, score_settings
from ucurve.eval.store.reported import Reported, keep_reported, read_reported, reported_path
from ucurve.eval.store.tables import ACCURACY, read_table
from ucurve.eval.verify import verify_scores

HEAD = "name: own\nlanguage: zho\n"
CARD = "linking: ppl\nties_rule: wrong\naggregate: macro\n"


@pytest.fixture
def own(tmp_path, records):
    """A benchmark of one's own whose paradigms have unequal numbers of pairs; returns its folder."""

    def write(more=CARD):
        place = tmp_path / "own"
        place.mkdir(exist_ok=True)
        rows = [record for record in records[:40] if record["UID"] != "paradigm_0" or record["pairID"] < 10]
        (place / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        (place / "card.yaml").write_text(HEAD + "columns: {paradigm: UID}\n" + more, encoding="utf-8")
        return str(place)

    return write


def say(run, *asked, capsys):
    execute(check(ScoreCommand, compose("score", [f"run={run}", "steps=[8]", *asked])))
    printed = capsys.readouterr().out
    [row] = read_printed(printed)
    return row, printed


def accuracies_in(line):
    return [name.removesuffix(" 95 % CI") for name in line if name.endswith(" 95 % CI")]


def row(run, linking, rule, paradigm):
    table = read_table(ACCURACY, ACCURACY.path(run))
    table = table[(table["split"] == "all") & (table["phenomenon"] == "all") & (table["paradigm"] == paradigm)]
    [found] = table[(table["linking"] == linking) & (table["ties_rule"] == rule)].to_dict("records")
    return found


def test_the_card_decides_what_is_printed(run, own, capsys):
    line, printed = say(run, f"benchmarks=[{own()}]", capsys=capsys)
    found = row(run, "ppl", "wrong", "macro")
    assert (line["step"], line["ppl"]) == ("8", f"{100 * found['accuracy']:.1f}")
    assert line["ppl 95 % CI"] == f"{100 * found['ci_low']:.1f}-{100 * found['ci_high']:.1f}"
    assert f"{run.name}, own: accuracy (%) as the mean over paradigms, ties are wrong; change from" in printed
    assert row(run, "ppl", "wrong", "macro")["accuracy"] != row(run, "ppl", "wrong", "all")["accuracy"]
    table = read_table(ACCURACY, ACCURACY.path(run))
    assert set(table["linking"]) == {*LINKING, "ppl"}
    assert set(table["ties_rule"]) == {"half", "wrong"}


def test_a_card_that_says_nothing_leaves_the_usual_choice(run, own, capsys):
    line, printed = say(run, f"benchmarks=[{own('')}]", capsys=capsys)
    assert accuracies_in(line) == ["slln_lp"]
    assert "accuracy (%) over all pairs, ties count half; " in printed
    assert set(read_table(ACCURACY, ACCURACY.path(run))["linking"]) == set(LINKING)
    assert not reported_path(run, "own").exists()


def test_what_is_asked_comes_before_the_preset_and_that_before_the_card(run, own, capsys):
    macro = "as the mean over paradigms"
    cases = [
        ([], ["ppl"], f"{macro}, ties are wrong"),
        (["linking=[mean_lp,lp]"], ["mean_lp", "lp"], f"{macro}, ties are wrong"),
        (["linking=[slor,ppl]"], ["slor", "ppl"], f"{macro}, ties are wrong"),
        (["ties_rules=[right]"], ["ppl"], f"{macro}, ties are right"),
        (["ties_rules=[half,right]"], ["ppl, ties half", "ppl, ties right"], "ties count half or ties are right"),
        (["preset=multiblimp"], [*find_preset("multiblimp").linking], "over all pairs, ties are wrong"),
        (
            ["preset=multiblimp", "linking=[slor]", "ties_rules=[half]"],
            ["slor"],
            "over all pairs, ties count half",
        ),
    ]
    place = own()
    for asked, shown, how in cases:
        line, printed = say(run, f"benchmarks=[{place}]", *asked, capsys=capsys)
        assert accuracies_in(line) == shown, asked
        assert how in printed.replace("\n ", ""), asked


def test_the_result_has_the_row_that_is_shown_first(run, own, root_of_two):
    scored = score(run, benchmarks=[own(), "zhoblimp"], benchmark_root=root_of_two, steps=[8])
    found = scored.overall.set_index("benchmark")
    assert found.loc["own", ["linking", "ties_rule", "paradigm"]].tolist() == ["ppl", "wrong", "macro"]
    assert found.loc["zhoblimp", ["linking", "ties_rule", "paradigm"]].tolist() == ["slln_lp", "half", "macro"]
    assert found.loc["own", "accuracy"] == row(run, "ppl", "wrong", "macro")["accuracy"]
    several = score(run, benchmarks=[own()], linking=["lp", "slor"], ties_rules=["half", "right"])
    shown = several.overall[["step", "linking", "ties_rule"]]
    assert shown.values.tolist() == [[0, "lp", "half"], [8, "lp", "half"]]


@pytest.fixture
def root_of_two(tmp_path, records, write_benchmark):
    return write_benchmark(tmp_path / "benchmarks", records[:20])


def test_scores_are_compared_as_the_card_reads_them(run, own):
    scored = score(run, benchmarks=[own()])
    one, other = scored.at(step=0), scored.at(step=8)
    plain = compare(one, other)
    assert plain[["first", "second", "ties_rule"]].drop_duplicates().values.tolist() == [["ppl", "ppl", "wrong"]]
    asked = compare(one, other, "lp", ties_rule="half")
    assert asked[["first", "second", "ties_rule"]].drop_duplicates().values.tolist() == [["lp", "lp", "half"]]


def test_what_an_own_card_or_a_preset_says_is_kept_beside_the_pairs(run, own, root_of_two):
    score(run, benchmarks=[own(), "zhoblimp"], benchmark_root=root_of_two, steps=[8])
    assert read_reported(run, "own") == Reported("ppl", "wrong", "macro")
    assert read_reported(run, "zhoblimp") == Reported("slln_lp", None, "macro")
    assert not reported_path(run, "zhoblimp").exists()  # its card is in ucurve
    score(run, benchmarks=["zhoblimp"], benchmark_root=root_of_two, preset="multiblimp", steps=[8])
    assert read_reported(run, "zhoblimp") == Reported("lp", "wrong", "all")
    assert verify_scores(run) == []
    score(run, benchmarks=["zhoblimp"], benchmark_root=root_of_two, steps=[8])
    assert not reported_path(run, "zhoblimp").exists()
    assert verify_scores(run) == []
    score(run, benchmarks=[own(CARD.replace("ppl", "lp"))], steps=[8])
    assert read_reported(run, "own").linking == "lp"


def test_the_maker_of_own_pairs_is_kept_too(run, own):
    score(run, benchmarks=[own("made: {source: tse}\n")], steps=[8])
    assert read_reported(run, "own").maker == "tse"
    assert verify_scores(run) == []
    score(run, benchmarks=[own("made: {source: folder}\nmaker: rublimp\n")], preset="multiblimp", steps=[8])
    assert read_reported(run, "own") == Reported("lp", "wrong", "all", "rublimp")


def test_a_changed_or_foreign_file_is_refused(run, own):
    score(run, benchmarks=[own()], steps=[8])
    reported_path(run, "own").write_text("{}")
    with pytest.raises(DamagedError, match=r"reported\.json: not what was written"):
        read_reported(run, "own")
    assert any("reported.json" in fault for fault in verify_scores(run))
    score(run, benchmarks=[own()], steps=[8])
    assert read_reported(run, "own").linking == "ppl"
    other = reported_path(run, "other")
    other.parent.mkdir()
    shutil.copyfile(reported_path(run, "own"), other)
    with pytest.raises(DamagedError, match=r"reported\.json: not of the benchmark other; score it again"):
        read_reported(run, "other")


def test_a_subset_is_shown_as_its_benchmark(tmp_path):
    assert read_reported(tmp_path, "turblimp@first20") == Reported("lp", "wrong", "macro")
    assert read_reported(tmp_path, "multiblimp/nld") == Reported("lp", None, "all")
    keep_reported(tmp_path, "turblimp@first20", Reported("lp", "wrong", "macro"))
    assert not reported_path(tmp_path, "turblimp@first20").exists()


@pytest.mark.parametrize(
    ("name", "further", "rules"),
    [("rublimp", ("ppl",), ("half",)), ("turblimp", (), ("half", "wrong")), ("demo", (), ("half",))],
)
def test_what_a_card_shows_is_computed_beside_the_usual(name, further, rules):
    settings = score_settings(benchmarks=(name,))
    assert settings.linkings(find_scorer("sentence"), name) == (*LINKING, *further)
    assert settings.rules(name) == rules


def test_a_card_with_an_unknown_linking_function_is_refused_with_its_line(own):
    with pytest.raises(
        UserError, match=r"card\.yaml:4: linking: .*unknown linking function 'slln'.*Did you mean"
    ):
        expand_benchmarks([own("linking: slln\n")])
