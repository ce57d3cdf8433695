"""The page of a study: made of its CSV files alone, from runs with planted curves."""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jinja2.exceptions import SecurityError

from studies.tokenizers.__main__ import main
from studies.tokenizers.page import PAGE
from tests.analysis.item_runs import make_item_run, pair_table
from tests.analysis.synthetic import run_maker, score_row

STEPS = (0, 1, 2, 4, 8, 16, 32, 64, 128)
LEARNED = {"char": 8, "word": 64}  # the step from which passive is right: char learns it first
WRONG_FROM = 8  # the step from which binding is wrong
N = 100


def make_runs(folder, steps=STEPS, seeds=3):
    """Make two tokenizers with equal loss curves: char learns the passive first, binding gets wrong."""
    pairs = pair_table({"passive_1": "passive", "BA_1": "BA", "binding_1": "binding"}, N)
    random = np.random.default_rng(0)
    for tokenizer, learned in LEARNED.items():
        for seed in range(seeds):
            half_points = {}
            for step in steps:
                passive, binding = 0.95 if step >= learned else 0.5, 0.05 if step >= WRONG_FROM else 0.5
                half_points[step] = 2 * random.binomial(1, np.repeat([passive, 0.5, binding], N))
            bits = {step: 6 - np.log2(step) / 2 for step in steps[1:]}
            make_item_run(
                run_maker(folder), pairs, half_points, seed=seed, tokenizer=tokenizer, bits=bits, held_out=bits
            )
    return folder / "runs"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return make_runs(tmp_path_factory.mktemp("study"))


def make_page(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["tokenizers", *map(str, arguments)])
    main()


@pytest.fixture(scope="module")
def docs(runs, tmp_path_factory):
    out = tmp_path_factory.mktemp("docs")
    with pytest.MonkeyPatch.context() as patch:
        make_page(patch, "--runs", f"{runs}/*", "--out", out)
    return out


def test_the_tables_say_what_was_planted(docs):
    first = pd.read_csv(docs / "data/study_learned_first.csv", keep_default_na=False).set_index("phenomenon")
    assert first["first"].to_dict() == {"passive": "char", "BA": "", "binding": ""}
    assert float(first.loc["passive", "char"]) > float(first.loc["passive", "word"])
    table = pd.read_csv(docs / "data/study_runs.csv").set_index("tokenizer")
    assert table["bits_per_byte"].to_dict() == {"char": 2.5, "word": 2.5}
    assert (table["runs"] == 3).all()
    levels = pd.read_csv(docs / "data/study_accuracy_at_equal_loss.csv")
    assert sorted(levels["bits_per_byte"].unique()) == [2.5, 2.75, 3.0]
    last = levels.query("bits_per_byte == 2.5 and phenomenon == 'passive'")
    assert last["accuracy"].tolist() == pytest.approx([0.95, 0.95], abs=0.05)


def test_pairs_that_are_right_for_good_are_those_that_are_right_at_the_end(docs):
    pairs = pd.read_csv(docs / "data/study_pairs.csv").query("phenomenon == 'all'").set_index("tokenizer")
    levels = pd.read_csv(docs / "data/study_accuracy_at_equal_loss.csv")
    end = levels.query("bits_per_byte == 2.5 and phenomenon == 'all'").set_index("tokenizer")["accuracy"]
    for tokenizer in LEARNED:
        assert pairs.loc[tokenizer, "right_for_good"] == pytest.approx(end[tokenizer], abs=1e-5)
        assert pairs.loc[tokenizer, "ever_right"] == pytest.approx(
            pairs.loc[tokenizer, "right_for_good"] + pairs.loc[tokenizer, "lost"], abs=1e-5
        )
    assert pairs["runs"].tolist() == [3, 3]


def test_what_ends_below_chance_and_stays_there_is_called_wrong_and_nothing_else(docs):
    table = pd.read_csv(docs / "data/study_below_chance.csv", keep_default_na=False)
    wrong = table["phenomenon"] == "binding"
    assert table.loc[~wrong, "below"].unique().tolist() == [""]
    assert table.loc[wrong, "below"].unique().tolist() == ["stable and wrong"]
    assert sorted(table.loc[wrong, "tokenizer"]) == ["char", "char", "word", "word"]  # a phenomenon, a paradigm
    ends = table[table["tokenizer"] == "char"].set_index("paradigm")["end"]
    assert ends["passive_1"] == pytest.approx(0.95, abs=0.05)
    assert ends["binding_1"] == pytest.approx(0.05, abs=0.05)
    curves = table[["phenomenon", "paradigm"]].drop_duplicates().itertuples(index=False, name=None)
    assert set(curves) == {
        ("all", "all"), ("passive", "all"), ("BA", "all"), ("binding", "all"), ("passive", "passive_1"),
        ("BA", "BA_1"), ("binding", "binding_1"),
    }  # fmt: skip


def test_two_seeds_are_counted_too(tmp_path, monkeypatch):
    make_page(monkeypatch, "--runs", f"{make_runs(tmp_path, seeds=2)}/*", "--out", tmp_path)
    table = pd.read_csv(tmp_path / "data/study_below_chance.csv", keep_default_na=False)
    assert set(table.loc[table["phenomenon"] == "binding", "below"]) == {"stable and wrong (2 runs: indicative)"}


def test_runs_too_short_for_curves_have_a_page_of_what_they_show(tmp_path, monkeypatch):
    make_page(monkeypatch, "--runs", f"{make_runs(tmp_path, steps=(0, 1, 2))}/*", "--out", tmp_path)
    assert "| 5.50 | `char` | 3 |" in (tmp_path / "study.md").read_text(encoding="utf-8")


def test_a_tokenizer_without_curves_has_no_onsets_and_no_column_of_another(runs, tmp_path, monkeypatch):
    short = make_runs(tmp_path, steps=(0, 1, 2))
    make_page(monkeypatch, "--runs", f"{short}/*-char-*", f"{runs}/*-word-*", "--out", tmp_path)
    passive = pd.read_csv(tmp_path / "data/study_learned_first.csv").set_index("phenomenon").loc["passive"]
    assert passive[["char_runs", "word_runs"]].tolist() == [0, 3]
    assert passive[["char", "first", "chance"]].isna().all()
    ends = pd.read_csv(tmp_path / "data/study_below_chance.csv").query(
        "phenomenon == 'binding' and paradigm == 'all'"
    )
    assert ends.set_index("tokenizer")["end"].isna().to_dict() == {"char": True, "word": False}
    assert ends.set_index("tokenizer").loc["word", "below"] == "stable and wrong"


def test_a_tokenizer_that_is_trained_less_has_its_own_last_checkpoint(runs, tmp_path, monkeypatch):
    shorter = make_runs(tmp_path, steps=STEPS[:-1])
    make_page(monkeypatch, "--runs", f"{runs}/*-char-*", f"{shorter}/*-word-*", "--out", tmp_path)
    kappas = pd.read_csv(tmp_path / "data/study_seed_agreement.csv").query("phenomenon == 'all'")
    last = kappas.sort_values("step").groupby("tokenizer")["kappa"].last()
    page = (tmp_path / "study.md").read_text(encoding="utf-8")
    assert re.search(rf"\| all \| {last['char']:.2f}, .* to .* \| {last['word']:.2f}, .* to .* \|", page)


def test_what_was_not_stored_is_said(docs):
    page = (docs / "study.md").read_text(encoding="utf-8")
    assert "log probabilities of tokens are not stored (`tokens=true`)" in page
    assert "were not scored by n-gram models" in page


def test_seeds_agree_no_more_than_the_draws_they_were_made_of(docs):
    table = pd.read_csv(docs / "data/study_seed_agreement.csv")
    assert set(table["tokenizer"]) == set(LEARNED)
    assert (table["runs"] == 3).all()
    assert abs(table.query("phenomenon == 'all' and step == 1")["kappa"]).max() < 0.25  # independent draws


def test_a_straight_loss_has_no_change_point_and_a_jump_has_one(docs):
    table = pd.read_csv(docs / "data/study_change_points.csv")
    assert table.loc[table["measure"] == "held-out loss", "change"].tolist() == [0, 0]
    jump = table[(table["tokenizer"] == "char") & (table["phenomenon"] == "passive")]
    assert (jump["change"] > 0).all()
    assert jump["significant"].all()


def test_the_page_shows_the_figures_that_are_written_beside_it(docs):
    shown = re.findall(r"\]\((images/.*?)\)", (docs / "study.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(f"images/{path.name}" for path in (docs / "images").iterdir())
    assert len(shown) == 3


def test_the_page_is_made_of_the_files_alone(docs, tmp_path):
    (tmp_path / "data").mkdir()
    for path in (docs / "data").iterdir():
        (tmp_path / "data" / path.name).write_bytes(path.read_bytes())
    page = (docs / "study.md").read_text(encoding="utf-8")
    assert PAGE.render(tmp_path) == page
    assert "| 2.50 | `char` | 3 |" in page
    path = tmp_path / "data/study_runs.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("2.5", "7.125"), encoding="utf-8")
    assert "7.125 (7.125 to 7.125)" in PAGE.render(tmp_path)


def test_findings_are_filled_from_the_files_and_run_nothing(docs, tmp_path):
    (tmp_path / "data").mkdir()
    for path in (docs / "data").iterdir():
        (tmp_path / "data" / path.name).write_bytes(path.read_bytes())
    findings = tmp_path / "data/study_findings.jinja"
    findings.write_text("# Found\n\n{{ runs[0].bits_per_byte | number(1) }} bits.\n", encoding="utf-8")
    assert PAGE.render(tmp_path).startswith("# Found\n\n2.5 bits.\n")
    findings.write_text("{{ ''.__class__.__mro__ }}", encoding="utf-8")
    with pytest.raises(SecurityError):
        PAGE.render(tmp_path)


def test_the_committed_page_is_made_of_the_committed_files():
    docs = Path(__file__).parents[3] / "docs"
    assert PAGE.render(docs) == (docs / "study.md").read_text(encoding="utf-8")


def test_runs_without_scores_are_refused(tmp_path, monkeypatch, capsys):
    run_maker(tmp_path)(bits={1: 5.0, 2: 4.0}, planned=[1, 2])
    with pytest.raises(SystemExit, match="2"):
        make_page(monkeypatch, "--runs", f"{tmp_path}/runs/*", "--out", tmp_path / "docs")
    assert "no run has a score" in capsys.readouterr().err
    assert not (tmp_path / "docs").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {},
            "no loss at a checkpoint, or no number of parameters, is known of 14m-10M-char-demo-s0; the study is of runs",
        ),
        (
            {"bits": {1: 5.0, 2: 4.0}},
            "zho: the runs hold accuracies alone; the study needs the scores of single pairs",
        ),
    ],
)
def test_runs_without_what_the_study_needs_are_named(tmp_path, monkeypatch, capsys, settings, message):
    run_maker(tmp_path)([score_row(step, 0.5) for step in (1, 2)], **settings)
    with pytest.raises(SystemExit, match="2"):
        make_page(monkeypatch, "--runs", f"{tmp_path}/runs/*", "--out", tmp_path / "docs")
    assert message in capsys.readouterr().err
