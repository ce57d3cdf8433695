import doctest
import inspect
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind

from tests.analysis.studies import scored_of, study_of
from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun, score_row
from tests.facts import change_run, write_manifest_of
from ucurve.analysis.api import open_study
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.lines.over_seeds import contrast, moderate_table, p_of_contrast
from ucurve.analysis.lines.section import side_by_side_sections
from ucurve.analysis.lines.table import comparable_lines, name_lines, set_side_by_side
from ucurve.errors import UserError
from ucurve.storage.run_folder import checkpoint_folder

STEPS = (0, 1, 10, 100)
TEXT = {
    "source": "t",
    "documents": 1,
    "bytes": 9,
    "unknown_bytes": 0,
    "tokens": 9,
    "left_out": 0,
    "sha256": "6" * 64,
}


@pytest.fixture
def make_line(make_run: MakeRun):
    """Write runs of a line whose accuracies rise by equal steps from a decade of tokens to the next."""

    def make(*ends: float, model: str = "14m", flops: float = 1e6, fall: float = 1.0, text=TEXT, **run):
        folders = []
        for seed, end in enumerate(ends):
            rows = [
                score_row(step, 0.5 + (end - 0.5) * place / 3, phenomenon=name)
                for place, step in enumerate(STEPS) for name in ("all", "passive")
            ]  # fmt: skip
            bits = {step: 5 - fall * place for place, step in enumerate(STEPS[1:])}
            folder = make_run(rows, model=model, seed=seed, bits=bits, held_out=bits, **run)
            change_run(folder, held_out=text)
            for step in STEPS[1:]:
                tokens = step * TOKENS_PER_STEP
                write_manifest_of(
                    checkpoint_folder(folder, step), step, tokens=tokens, flops_exact=flops * tokens
                )
            folders.append(folder)
        return folders

    return make


def overall(table, equal_in, last=False):
    rows = table[(table["phenomenon"] == "all") & (table["equal_in"] == equal_in)]
    return rows[rows["level"] == rows["level"].iloc[-1]] if last else rows


def test_lines_are_read_where_they_are_equal(make_line, tmp_path: Path) -> None:
    make_line(0.8, 0.9)
    make_line(0.65, 0.75, model="llama-14m", flops=1e7, fall=0.5)
    found = set_side_by_side(scored_of(tmp_path))
    assert found is not None
    assert (found.loss, found.flops, found.notes) == ("held-out", "matrix products", ())

    tokens = overall(found.lines, "tokens", last=True).set_index("line")
    assert tokens["accuracy"].to_dict() == pytest.approx({"gpt_neox": 0.85, "llama": 0.7})
    assert tokens["level"].tolist() == [100 * TOKENS_PER_STEP] * 2
    assert overall(found.lines, "tokens")["level"].unique().tolist() == [
        3e4,
        1e5,
        3e5,
        1e6,
        100 * TOKENS_PER_STEP,
    ]

    # With ten times the FLOPs for a token, llama has had the FLOPs of 100 steps of the other after its 10.
    flops = overall(found.lines, "FLOPs", last=True).set_index("line")
    assert flops["level"].tolist() == pytest.approx([1e6 * 100 * TOKENS_PER_STEP] * 2)
    assert flops["accuracy"].to_dict() == pytest.approx({"gpt_neox": 0.85, "llama": 0.5 + 0.2 * 2 / 3})

    # The loss falls by 1 and by .5 in a decade: 4 bits after 10 and after 100 steps.
    loss = overall(found.lines, "bits per byte", last=True).set_index("line")
    assert loss["level"].tolist() == [4.0, 4.0]
    assert loss["accuracy"].to_dict() == pytest.approx({"gpt_neox": 0.5 + 0.35 * 2 / 3, "llama": 0.7})
    assert loss["tokens"].to_dict() == pytest.approx(
        {"gpt_neox": 10 * TOKENS_PER_STEP, "llama": 100 * TOKENS_PER_STEP}
    )


def test_differences_and_their_intervals_are_over_runs(make_line, tmp_path: Path) -> None:
    make_line(0.8, 0.9)
    make_line(0.65, 0.75, 0.76, model="llama-14m")
    found = set_side_by_side(scored_of(tmp_path))
    [row] = overall(found.differences, "tokens", last=True).to_dict("records")
    runs = overall(found.runs, "tokens")
    cells = moderate_table(runs, ["level", "line"])
    last = [cells[runs["level"].max(), line] for line in ("llama", "gpt_neox")]
    assert row["of"] == "llama - gpt_neox", "in the order of the runs, by their parameters"
    assert [row[name] for name in ("difference", "low", "high", "p")] == pytest.approx(
        [*contrast(last, [1, -1]), p_of_contrast(last, [1, -1])]
    )
    assert row["difference"] == pytest.approx(0.72 - 0.85)
    alone = ttest_ind([0.65, 0.75, 0.76], [0.8, 0.9], equal_var=False).confidence_interval(0.95)
    assert alone.low < row["low"] < row["high"] < alone.high, (
        "runs of other amounts of tokens say how much they vary"
    )
    assert "FLOPs" not in set(found.lines["equal_in"]), "equal FLOPs for a token: the same as equal tokens"


def test_a_line_of_one_run_has_no_interval(make_line, tmp_path: Path) -> None:
    make_line(0.8)
    make_line(0.7, suffix="-rate=wsd", cell="wsd")
    found = set_side_by_side(scored_of(tmp_path))
    rows = overall(found.lines, "tokens", last=True)
    assert set(rows["line"]) == {"rate=cosine", "rate=wsd"}
    assert rows[["low", "high"]].isna().all(axis=None)
    assert found.differences[["low", "high", "p", "p_holm"]].isna().all(axis=None)


def test_only_lines_of_one_size_and_budget_that_differ_are_compared(make_line, tmp_path: Path) -> None:
    for model in ("14m", "70m"):
        make_line(0.8, model=model)
    make_line(0.8, tokenizer="word")
    assert set_side_by_side(scored_of(tmp_path)) is None, "sizes and tokenizers have sections of their own"
    make_line(0.8, model="llama-14m", tokens="20M")
    assert set_side_by_side(scored_of(tmp_path)) is None, "the other budget"
    make_line(0.8, model="llama-14m")
    [runs] = comparable_lines(find_runs([f"{tmp_path}/runs/*"]))
    assert sorted(name_lines(runs).values()) == ["gpt_neox, char", "gpt_neox, word", "llama, char"]


def test_what_all_runs_share_is_not_in_the_names_of_lines(make_line, tmp_path: Path) -> None:
    make_line(0.8, suffix="-optimizer.warmup=0.05", cell="masked")
    make_line(0.8, suffix="-optimizer.warmup=0.05-objective=mntp", cell="mntp")
    [runs] = comparable_lines(find_runs([f"{tmp_path}/runs/*"]))
    assert set(name_lines(runs).values()) == {"causal", "mntp"}


def test_losses_of_different_texts_are_not_made_equal(make_line, tmp_path: Path) -> None:
    make_line(0.8)
    make_line(0.7, model="llama-14m", text=TEXT | {"bytes": 10})
    found = set_side_by_side(scored_of(tmp_path))
    assert set(found.lines["equal_in"]) == {"tokens"}
    assert found.notes == (
        "Lines of the size 14m that were trained on 10M tokens are not compared at equal loss: their losses were "
        "measured on different texts.",
    )


def test_one_text_in_the_tokens_of_two_tokenizers_is_one_text(make_line, tmp_path: Path) -> None:
    make_line(0.8)
    make_line(0.7, model="llama-14m", tokenizer="word", text=TEXT | {"tokens": 3, "sha256": "7" * 64})
    found = set_side_by_side(scored_of(tmp_path))
    assert set(found.lines["equal_in"]) == {"tokens", "bits per byte"}
    assert found.notes == ()


def test_masked_models_stand_beside_causal_ones_but_not_at_equal_loss(
    make_line, make_run, tmp_path: Path
) -> None:
    make_line(0.8)
    masked = [score_row(step, 0.7, scorer="pll_l2r") for step in STEPS]
    make_run(masked, model="bert-14m")
    found = set_side_by_side(scored_by_sentence(tmp_path))
    rows = overall(found.lines, "tokens", last=True).set_index("line")
    assert rows["accuracy"].to_dict() == pytest.approx({"gpt_neox": 0.8, "bert": 0.7})
    assert "bits per byte" not in set(found.lines["equal_in"])
    assert found.notes[0].startswith("Masked models are scored by pll_l2r, a pseudo-log-likelihood")
    assert {one.heading for one in study_of(tmp_path).benchmarks()} == {"zho"}


def scored_by_sentence(root: Path):
    return next(one for one in study_of(root).benchmarks() if one.scorer == "sentence")


def test_a_missing_score_is_no_accuracy_between_its_neighbors(make_run: MakeRun, tmp_path: Path) -> None:
    make_run([score_row(step, 0.6) for step in STEPS])
    make_run([score_row(step, 0.7) for step in (0, 1, 100)], suffix="-rate=wsd", cell="wsd", planned=STEPS)
    found = set_side_by_side(scored_of(tmp_path))
    read = overall(found.runs, "tokens").groupby("line")["level"].apply(list)
    assert read["rate=wsd"] == [100 * TOKENS_PER_STEP]
    assert len(read["rate=cosine"]) == 5


def test_the_section_shows_tables_and_a_figure_for_each_kind(make_line, tmp_path: Path) -> None:
    make_line(0.8, 0.9)
    make_line(0.65, 0.75, model="llama-14m", flops=1e7)
    [section] = side_by_side_sections(scored_of(tmp_path))
    assert section.heading == "Lines at equal tokens, FLOPs and bits per byte on zho"
    assert [drawing.name for drawing in section.drawings] == [
        f"side_by_side_zho_{kind}" for kind in ("tokens", "flops", "loss")
    ]
    assert list(section.tables) == ["side_by_side_zho", "side_by_side_differences_zho"]
    html = section._repr_html_()
    assert "1640K tokens" in html
    assert "models with a masked objective do not have" in html


def test_a_notebook_has_the_same_tables(make_line, tmp_path: Path) -> None:
    make_line(0.8, 0.9)
    study = open_study(f"{tmp_path}/runs/*")
    with pytest.raises(UserError, match="no runs of one size and budget differ in architecture"):
        study.side_by_side()
    make_line(0.65, 0.75, model="llama-14m")
    study = open_study(f"{tmp_path}/runs/*")
    assert set(study.side_by_side()["line"]) == {"gpt_neox", "llama"}
    for method in (study.side_by_side, study.side_by_side_differences):
        [example] = doctest.DocTestParser().get_examples(inspect.getdoc(method))
        exec(example.source, {"study": study})  # noqa: S102 - what a reader copies
    assert np.sign(study.side_by_side_differences()["difference"]).unique().tolist() == [-1]
