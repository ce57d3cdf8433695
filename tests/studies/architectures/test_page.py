"""The page of a study of architectures, from runs with planted curves."""

import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

from studies.architectures.__main__ import main
from studies.architectures.page import PAGE
from studies.architectures.tables import loss_levels
from tests.analysis.synthetic import TOKENS_PER_STEP, run_maker, score_row
from tests.facts import change_run, write_manifest_of
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


def make_run(
    folder, architecture, seed, end, flops, *, scorer="sentence", fall=1.0, status="finished", scored=STEPS
):
    """Write a run whose accuracies rise by equal steps from a decade of tokens to the next."""
    rows = [
        score_row(step, 0.5 + (end - 0.5) * place / 3, phenomenon=name, scorer=scorer)
        for place, step in enumerate(STEPS) for name in ("all", "passive") if step in scored
    ]  # fmt: skip
    rows.append(score_row(100, 0.7, scorer="ngram-2"))
    model = "14m" if architecture == "gpt_neox" else f"{architecture}-14m"
    bits = {step: 5 - fall * place for place, step in enumerate(STEPS[1:])} if scorer == "sentence" else None
    run = run_maker(folder)(rows, model=model, seed=seed, bits=bits, held_out=bits, status=status, planned=STEPS)
    change_run(run, held_out=TEXT, hardware={"processor": "P1", "accelerators": []})
    for step in set(STEPS[1:]) & set(scored):
        tokens = step * TOKENS_PER_STEP
        write_manifest_of(checkpoint_folder(run, step), step, tokens=tokens, flops_exact=flops * tokens)


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    folder, out = tmp_path_factory.mktemp("study"), tmp_path_factory.mktemp("docs")
    for seed in range(2):
        make_run(folder, "gpt_neox", seed, 0.8 + seed / 100, 1e6)
        make_run(folder, "lstm", seed, 0.65 + seed / 100, 1e7, fall=0.5)
    make_run(folder, "bert", 0, 0.55, 1e6, scorer="pll", scored=(0, 1, 100))
    make_run(folder, "llama", 0, 0.9, 1e6, status="running")
    make_run(folder, "gpt2", 0, 0.9, 1e6, scored=(0, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["architectures", "--runs", f"{folder}/runs/*", "--out", str(out)])
        main()
    return out


def table_of(docs, name):
    return pd.read_csv(docs / "data" / "architectures" / f"{name}.csv")


def overall(docs, equal_in, name="at_equal"):
    rows = table_of(docs, name)
    return rows[(rows["phenomenon"] == "all") & (rows["equal_in"] == equal_in) & rows["last"]].set_index("line")


def test_runs_are_read_where_they_are_equal(docs):
    tokens = overall(docs, "tokens")
    assert tokens["accuracy"].to_dict() == pytest.approx({"gpt_neox": 0.805, "lstm": 0.655, "bert": 0.55})
    assert tokens.loc["lstm", "low"] < 0.655 < tokens.loc["lstm", "high"]
    assert tokens.loc["bert", ["low", "high"]].isna().all()  # one run
    flops = overall(docs, "FLOPs")
    assert flops["level"].unique() == pytest.approx([1e8 * TOKENS_PER_STEP], rel=1e-5)
    ends = {
        "gpt_neox": 0.805,
        "lstm": 0.5 + 0.155 * 2 / 3,
        "bert": 0.55,
    }  # a decade of tokens before the end of lstm
    assert flops["accuracy"].to_dict() == pytest.approx(ends)


def test_masked_models_are_on_no_axis_of_the_loss(docs):
    loss = overall(docs, "bits per byte")
    assert set(loss.index) == {"gpt_neox", "lstm"}
    assert loss["tokens"].to_dict() == pytest.approx(
        {"gpt_neox": 10 * TOKENS_PER_STEP, "lstm": 100 * TOKENS_PER_STEP}, rel=1e-5
    )
    curves = table_of(docs, "curves").set_index("line")
    assert curves.loc["bert", "bits_per_byte"].isna().all()
    assert curves.loc["bert", "step"].max() == 100


def test_an_architecture_that_stays_behind_does_not_end_the_comparison_of_the_others():
    ends = {"gpt2": 2.0, "llama": 2.4, "lstm": 4.0}
    rows = [(name, name, tokens, bits) for name, end in ends.items() for tokens, bits in ((1e3, 6.0), (1e6, end))]
    bits = pd.DataFrame(rows, columns=["run", "line", "tokens", "bits_per_byte"])
    assert [level for level, _ in loss_levels(bits)] == [4.5, 4.25, 4.0, 2.9, 2.65, 2.4]
    lowest = loss_levels(bits)[-1][1]
    assert lowest == {"gpt2": pytest.approx(1e3 * 1e3**0.9), "llama": pytest.approx(1e6)}
    of_two = bits[bits["line"] != "llama"]
    assert [level for level, _ in loss_levels(of_two)] == [4.5, 4.25, 4.0]


def test_what_is_not_complete_is_left_out_and_named(docs):
    missing = table_of(docs, "missing").set_index("line")
    assert missing["runs"].to_dict() == {"gpt2": 0, "llama": 0, "mamba": 0, "bert": 1}
    assert missing.loc["llama", "left_out"] == "llama-14m-10M-char-demo-s0"
    page = (docs / "architectures-study.md").read_text(encoding="utf-8")
    assert "`llama` has 0 of 2" in page
    assert "`gpt2` has 0 of 2" in page
    assert "`gpt_neox` has" not in page


def test_the_page_says_what_was_planted(docs):
    page = (docs / "architectures-study.md").read_text(encoding="utf-8")
    assert re.search(r"`gpt_neox` 80\.5 \(\S+ to \S+\), `lstm` 65\.5 \(\S+ to \S+\), `bert` 55\.0\.\n", page)
    assert "about these pairs in other seeds" in page
    assert "All were trained with one learning rate" in page
    assert "All were trained on P1 in float32." in page
    assert "Mamba was trained" not in page  # there are no runs of it
    assert "`bert` by pseudo-log-likelihood" in page
    assert "Bigrams of all tokens get 70.0 %.\n" in page  # gpt_neox is above them
    assert all(
        (docs / "images" / f"architectures_{name}.png").is_file() for name in ("flops", "loss", "bits_overall")
    )


def test_the_page_is_made_of_its_files_alone(docs):
    assert PAGE.render(docs) == (docs / "architectures-study.md").read_text(encoding="utf-8")


def test_the_page_and_its_comparisons_are_made_again_without_runs(docs, tmp_path, monkeypatch, capsys):
    out = shutil.copytree(docs, tmp_path / "docs")
    for name in ("differences", "at_equal", "along", "time_ratios"):
        (out / "data" / "architectures" / f"{name}.csv").unlink()
    monkeypatch.setattr(sys, "argv", ["architectures", "--out", str(out)])
    main()
    for name in ("differences", "at_equal", "time_ratios"):  # now from numbers of six digits
        pd.testing.assert_frame_equal(table_of(out, name), table_of(docs, name), rtol=1e-3)
    assert (out / "architectures-study.md").is_file()
    monkeypatch.setattr(sys, "argv", ["architectures", "--out", str(tmp_path / "none")])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "no CSV files in" in capsys.readouterr().err


def test_the_committed_page_is_made_of_the_committed_files():
    committed = Path(__file__).parents[3] / "docs"
    assert "Mamba was trained from other first weights" in PAGE.render(committed)
    assert PAGE.render(committed) == (committed / "architectures-study.md").read_text(encoding="utf-8")
