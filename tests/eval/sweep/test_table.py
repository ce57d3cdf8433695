"""The printed table: what it shows of each score, how wide it is, and that no line comes twice."""

import io
import json
import re
import sys
from dataclasses import replace

import pandas as pd
import pytest

from tests.printed import read_printed
from ucurve.config import check, compose
from ucurve.eval.run import execute, score_run
from ucurve.eval.settings import ScoreCommand, score_settings
from ucurve.eval.sweep.display import ScoreTable, as_html, draw_bar, find_marks
from ucurve.eval.sweep.load import SweepCache
from ucurve.eval.sweep.table import Layout, ShownAccuracy, ShownScore, short_count, summarise

HALF = "half"


def layout(*linkings, width=120, kinds=(("demo", "sentence"),), place="step", **more):
    measures = {kind: tuple((name, HALF) for name in linkings) for kind in kinds}
    given = {"of": "a", "title": "a", "places": 3, "with_tokens": True, "with_bits": True}
    return Layout(place=place, measures=measures, width=width, **given | more)


def score(step, percent, linking="lp", winner=None, kind=("demo", "sentence"), **more):
    values = {(linking, HALF): ShownAccuracy(percent, percent - 1, percent + 1, 100, winner)}
    given = {"place": str(step), "step": step, "tokens": 2048 * step, "bits": 1.5}
    return ShownScore(**given | more, benchmark=kind[0], scorer=kind[1], values=values)


@pytest.mark.parametrize(
    "linkings", [["lp"], ["lp", "slor"], ["lp", "slor", "pen_lp"], [f"slln_lp:0.{n}" for n in range(1, 9)]]
)
@pytest.mark.parametrize("width", [120, 80])
def test_lines_are_never_wider_than_asked_and_bars_go_first(linkings, width):
    made = layout(*linkings, width=width)
    fields = made.fields
    assert sum(field.width + 2 for field in fields) <= width
    names = [field.name for field in fields]
    assert made.wide == (set(linkings) <= set(names))
    if not made.wide:
        assert "linking" in names
        lines = made.lines(score(1, 60.0), None)
        assert [line.measures[0][0] for line in lines] == linkings
    assert [field.bar for field in layout("lp", width=80).fields].count(True) == 1
    assert not any(field.bar for field in layout("lp", "slor", "pen_lp").fields)


def test_a_change_is_against_the_score_before_and_what_is_missing_is_a_dash():
    made = layout("lp", "slor")
    [line] = made.lines(score(4, 62.25, tokens=None, bits=None), score(2, 70.0))
    assert [cell.text for cell in line.cells] == [
        "4",
        "-",
        "-",
        "62.2",
        "61.2-63.2",
        "-7.8",
        "",
        "-",
        "-",
        "-",
        "-",
    ]
    assert [cell.percent for cell in line.cells if cell.percent is not None] == [62.25]


@pytest.mark.parametrize(
    ("percent", "blocks", "ascii_"),
    [(0, "·····│·····", ".....|....."), (50, "█████│·····", "#####|....."), (98.6, "█████│████▉", "#####|#####"),
     (33.4, "███▍·│·····", "###..|....."), (100, "█████│█████", "#####|#####")],
)  # fmt: skip
def test_a_bar_shows_the_place_of_half(percent, blocks, ascii_):
    assert draw_bar(percent) == blocks
    assert draw_bar(percent, blocks=False) == ascii_


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (999, "999"), (4096, "4.10K"), (999_999, "1.00M"), (300 * 10**9, "300B")]
)
def test_counts_have_three_digits(count, text):
    assert short_count(count) == text


def test_the_best_the_last_and_where_length_decides_are_said_once():
    winners = ["shorter", "shorter", None, "shorter", None]
    percents = (50, 51, 90, 60, 80)
    scores = [score(step, percents[step], winner=winner) for step, winner in enumerate(winners)]
    assert summarise(layout("lp"), scores) == [
        "a: best 90.0 % at step 2, last 80.0 % at step 4",
        "a: length decides at steps 0-1, 3: the shorter sentence wins, as when nothing is learned",
    ]
    assert summarise(layout("lp"), [score(1, 60), score(2, 100), score(4, 100)]) == [
        "a: best 100.0 % at step 2 and at the last, 4"
    ]
    models = [replace(one, place=f"model{one.step}") for one in scores[:2]]
    assert summarise(layout("lp", place="revision"), models)[1] == (
        "a: length decides for model0, model1: the shorter sentence wins, as when nothing is learned"
    )
    assert summarise(layout("lp", place="model"), models[:1]) == [
        "a: length decides: the shorter sentence wins, as when nothing is learned"
    ]


def phenomena(step, place=None, **percents):
    return replace(score(step, 50 + step), phenomena=percents, place=place or str(step))


def falls(*scores, **more):
    lines = [line for line in summarise(layout("lp", "slor", **more), scores) if "fell" in line]
    assert len(lines) <= 1, "of the first linking function alone"
    return "".join(lines)


def test_a_phenomenon_that_falls_is_named_although_the_mean_rises():
    scores = [phenomena(step, rises=50 + step, dips=dips) for step, dips in ((1, 60), (2, 98), (4, 61), (8, 90))]
    assert falls(*scores) == "a, lp: dips fell from 98 to 61 % (step 2 to 4), the last has 90 %"
    assert falls(*scores[:3]) == "a, lp: dips fell from 98 to 61 % (step 2 to 4)"
    assert falls(*scores[:2]) == ""
    both = [replace(one, phenomena={**one.phenomena, "other": one.phenomena["dips"]}) for one in scores]
    assert falls(*both).endswith("; 1 more fell")
    named = [phenomena(1, "early", a=90, b=1), phenomena(2, "late", a=20, b=1)]
    assert "(revision early to late)" in falls(*named, place="revision")


@pytest.mark.parametrize(
    "scores",
    [
        [
            phenomena(0, a=98, b=1),
            phenomena(1, a=61, b=1),
        ],  # an untrained model has learned nothing that it could lose
        [phenomena(1, a=80, b=1), phenomena(2, a=61, b=1)],  # less than twenty points
        [phenomena(1, a=98), phenomena(2, a=61)],  # the only phenomenon, whose accuracy is that of the table
        [phenomena(1, a=61, b=1), phenomena(2, a=98, b=1)],
        [phenomena(1, a=98, b=1), phenomena(2, b=1)],  # at the second one length decides
    ],
)
def test_falls_that_are_small_or_mean_nothing_are_not_told(scores):
    assert falls(*scores) == ""


def equal_lines(percent, winner=None, digests="xyyyz"):
    scores = [replace(score(step, percent, winner=winner), digest=digest) for step, digest in enumerate(digests)]
    return [line for line in summarise(layout("lp"), scores) if "no paradigm" in line]


def test_accuracies_that_stay_the_same_in_every_paradigm_are_explained():
    reason = "as when a model always prefers one word or one length"
    assert equal_lines(50) == [f"a: no paradigm changes at steps 1-3, {reason}"]
    assert equal_lines(50, digests="xyyz") == [], "two may be equal by chance"
    assert equal_lines(50, digests=["", "", "", "x"]) == []
    assert equal_lines(99) == [], "what is learned may stay"
    assert equal_lines(50, winner="shorter") == [], "length explains it"


def test_what_is_told_of_phenomena_is_read_from_the_rows(run, tmp_path, records, write_benchmark, monkeypatch):
    root = write_benchmark(tmp_path / "benchmarks", records[:40])
    shown = []
    monkeypatch.setattr(ScoreTable, "add", lambda self, score, details=(): shown.append(score))
    score_run(run, score_settings(benchmarks=("zhoblimp",), benchmark_root=root, linking=("mean_lp",)))
    first, last = shown
    assert first.digest != last.digest and len(first.digest) == 64
    stored = pd.read_csv(run / "eval/accuracy.csv").query("step == 8 and split == 'all' and paradigm == 'all'")
    known = stored.query("phenomenon != 'all'").set_index("phenomenon")["accuracy"]
    assert last.phenomena == pytest.approx((100 * known).to_dict())


def test_html_marks_the_best_and_the_last_and_escapes_names():
    made = layout("lp", place="<b>")
    scores = [score(step, percent) for step, percent in ((0, 50), (1, 90), (2, 80))]
    lines = [line for one in scores for line in made.lines(one, None)]
    assert find_marks(lines) == ["", "best", "last"]
    page = as_html(made, lines, scores)
    assert "&lt;b&gt;" in page and "<b>best</b>" in page
    assert page.count("<tr>") == 4 and 'style="width:90.0%"' in page


@pytest.fixture
def settings(tmp_path, records, write_benchmark):
    root = write_benchmark(tmp_path / "benchmarks", records[:40])
    return score_settings(benchmarks=("zhoblimp",), benchmark_root=root, linking=("lp", "slln_lp"))


def test_training_prints_each_row_once_between_its_sweeps(run, settings, capsys):
    """Training scores checkpoint by checkpoint, and all once more at its end."""
    (run / "held_out.csv").write_text("step,tokens,bits_per_byte\n0,0,3.25\n8,128,2.5\n")
    cache = SweepCache()
    for steps in ([0], [8], None):
        score_run(run, settings, steps, cache)
    cache.end_tables()
    printed, told = capsys.readouterr()
    rows = read_printed(printed)
    assert [(row["step"], row["bits/byte"]) for row in rows] == [("0", "3.250"), ("8", "2.500")]
    assert rows[0]["lp change"] == "-" and float(rows[1]["lp change"]) == pytest.approx(
        float(rows[1]["lp"]) - float(rows[0]["lp"]), abs=0.11
    )
    lines = printed.splitlines()
    assert len(lines) == len(set(lines)), "no line comes twice"
    assert max(map(len, lines)) <= 120
    assert "stored already" not in told, "they are in the table"


def test_several_scorers_have_a_column_and_details_are_printed_on_request(run, settings, capsys):
    asked = replace(settings, scorer=("sentence", "mink"), linking=("lp",), verbose=True)
    score_run(run, asked)
    printed = capsys.readouterr().out
    rows = read_printed(printed)
    assert [(row["step"], row["scorer"]) for row in rows] == [
        ("0", "sentence"), ("0", "mink"), ("8", "sentence"), ("8", "mink")
    ]  # fmt: skip
    details = re.findall(r"lp, ties half: .*?unknown tokens", " ".join(printed.split()))
    assert len(details) == 4 and "pairs, " in details[0]
    assert max(map(len, printed.splitlines())) <= 120


def test_several_benchmarks_say_how_each_is_counted(run, settings, tmp_path, capsys):
    (tmp_path / "own").mkdir()
    pair = {"sentence_good": "天地", "sentence_bad": "地天"}
    (tmp_path / "own" / "p.jsonl").write_text(json.dumps(pair) + "\n")
    (tmp_path / "own" / "card.yaml").write_text("name: own\nlanguage: zho\nlinking: ppl\nties_rule: wrong\n")
    asked = replace(settings, benchmarks=("zhoblimp", str(tmp_path / "own")), linking=None)
    score_run(run, asked, [8])
    printed = capsys.readouterr().out
    assert (
        f"{run.name}, zhoblimp: accuracy (%) as the mean over paradigms, ties count half; own: over all pairs, ties are "
        "wrong; change from the step before"
    ) in " ".join(printed.split())
    shown = [(row["benchmark"], row["linking"]) for row in read_printed(printed)]
    assert shown == [("zhoblimp", "slln_lp"), ("own", "ppl")]


def test_an_output_without_block_characters_gets_ascii(run, settings, monkeypatch):
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", output)
    score_run(run, replace(settings, linking=("lp",)))
    text = output.buffer.getvalue().decode("ascii")
    assert {len(row["lp 0...50..100"]) for row in read_printed(text)} == {11}


def test_a_reader_that_goes_away_ends_no_scoring(run, settings, monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    monkeypatch.setattr("ucurve.progress.os.dup2", lambda *_: None)
    score_run(run, settings)
    assert (run / "eval" / "accuracy.csv").is_file()


def test_a_command_ends_with_what_is_next(run, settings, capsys):
    root = settings.benchmark_root
    asked = [f"run={run}", "benchmarks=[zhoblimp]", f"benchmark_root={root}"]
    execute(check(ScoreCommand, compose("score", [*asked, "linking=[lp]"])))
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("next: python ") and last.endswith(f"analyze.py runs={run}")
    execute(check(ScoreCommand, compose("score", [*asked, "check=true"])))
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith(f"score.py run={run} benchmarks=zhoblimp benchmark_root={root}")
