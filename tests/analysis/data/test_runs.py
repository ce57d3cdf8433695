import shutil
from pathlib import Path

import pytest

from tests.analysis.synthetic import MakeRun, score_row, write_scores
from tests.facts import change_run
from ucurve.analysis.api import open_study
from ucurve.analysis.data.runs import describe_copies, find_runs
from ucurve.analysis.summary import runs_sections
from ucurve.errors import DamagedError, UserError
from ucurve.storage.facts import read_run_facts
from ucurve.storage.sealed import RECORD


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_runs_that_differ_in_the_seed_share_a_line(make_run: MakeRun) -> None:
    for seed in (0, 1, 2):
        make_run(seed=seed)
    make_run(seed=0, tokenizer="word")
    assert [run.line for run in find_runs(["runs/*"])] == ["char"] * 3 + ["word"]


def test_runs_of_other_settings_are_lines_of_their_own(make_run: MakeRun) -> None:
    make_run(seed=0, cell="one")
    make_run(seed=1, cell="other")
    assert [run.line for run in find_runs(["runs/*"])] == ["batch.sequences=one", "batch.sequences=other"]


def test_runs_on_other_tokens_are_another_line(make_run: MakeRun) -> None:
    """The settings of a cell may be the same where another version built another tokenizer from them."""
    for seed, stream in enumerate(("old", "new", "new")):
        change_run(make_run(seed=seed, cell="one"), data_sha256=stream)
    runs = find_runs(["runs/*"])
    assert [run.line for run in runs] == ["text=new", "text=new", "text=old"]


def test_one_identity_in_two_folders_is_told_apart_by_the_folders(make_run: MakeRun) -> None:
    make_run(seed=0, parent="here")
    make_run(seed=0, parent="there")
    runs = find_runs(["here/*", "there/*"])
    assert [run.label for run in runs] == ["here/14m-10M-char-demo-s0", "there/14m-10M-char-demo-s0"]
    assert len({run.line for run in runs}) == 2


def test_a_copy_of_a_run_is_named_with_the_run(make_run: MakeRun, tmp_path: Path) -> None:
    for seed in (0, 1):
        make_run(seed=seed)
    assert describe_copies(find_runs(["runs/*"])) == []
    write_scores(tmp_path / "runs" / "scored", [score_row(-1, 0.8)])
    shutil.copytree("runs/14m-10M-char-demo-s1", "runs/copy of s1")
    (text,) = describe_copies(find_runs(["runs/*"]))
    assert text.startswith(
        "runs/14m-10M-char-demo-s1 and runs/copy of s1 hold one run, 14m-10M-char-demo-s1: a copy is"
    )


def test_an_analysis_says_that_there_is_a_copy(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    make_run([score_row(0, 0.5), score_row(8, 0.6)])
    shutil.copytree("runs/14m-10M-char-demo-s0", "runs/14m-10M-char-demo-s1")
    study = open_study("runs/*")
    said = "runs/14m-10M-char-demo-s0 and runs/14m-10M-char-demo-s1 hold one run"
    assert said in capsys.readouterr().err
    assert any(said in str(part) for section in runs_sections(study, []) for part in section.content)


def test_two_precisions_are_two_lines_with_labels_of_their_own(make_run: MakeRun) -> None:
    make_run(seed=0)
    make_run(seed=1)
    assert {run.line for run in find_runs(["runs/*"])} == {"14m"}, "one precision is not worth a word"
    make_run(seed=0, suffix="-half", precision="bfloat16")
    assert [run.line for run in find_runs(["runs/*"])] == ["bfloat16", "float32", "float32"]


def test_choices_are_in_the_labels_of_lines(make_run: MakeRun) -> None:
    for seed in (0, 1):
        make_run(seed=seed)
    make_run(suffix="-rate=wsd")
    make_run(suffix="-objective=masked-optimizer.eps=1e-06-mine")
    assert [run.line for run in find_runs(["runs/*"])] == [
        "causal, rate=cosine", "causal, rate=cosine", "causal, rate=wsd", "masked, rate=cosine",
    ]  # fmt: skip


def test_one_folder_matched_twice_is_one_run(make_run: MakeRun) -> None:
    make_run()
    assert len(find_runs(["runs/*", "runs/14m-*", "./runs/*"])) == 1


def test_runs_come_by_size_then_budget(make_run: MakeRun) -> None:
    for model, tokens in (("70m", "10M"), ("14m", "100M"), ("14m", "30M")):
        make_run(model=model, tokens=tokens)
    assert [run.label.split("-")[:2] for run in find_runs(["runs/*"])] == [
        ["14m", "30M"],
        ["14m", "100M"],
        ["70m", "10M"],
    ]


def test_a_checkpoint_counts_once_its_manifest_is_there(make_run: MakeRun) -> None:
    folder = make_run(planned=[0, 1, 2], saved=[0, 2])
    (folder / "checkpoints" / "step00000001").mkdir()
    (run,) = find_runs(["runs/*"])
    assert run.planned == (0, 1, 2)
    assert run.saved == (0, 2)


def test_scores_of_a_model_from_elsewhere_are_a_run_too(tmp_path: Path) -> None:
    write_scores(tmp_path / "scored", [score_row(-1, 0.8)])
    (run,) = find_runs(["scored"])
    assert (run.label, run.status, run.parameters) == ("scored", "not trained here", None)


def test_other_folders_beside_runs_are_passed_over(make_run: MakeRun, tmp_path: Path) -> None:
    make_run()
    (tmp_path / "runs" / "notes").mkdir()
    (tmp_path / "runs" / "list.txt").touch()
    assert len(find_runs(["runs/*"])) == 1


def test_no_match_names_the_nearest_folder(make_run: MakeRun) -> None:
    make_run()
    with pytest.raises(UserError, match=r"no run folder matches 'runz/\*'; .* The nearest folder is 'runs'"):
        find_runs(["runz/*"])
    with pytest.raises(UserError, match=r"The nearest folder is 'runs/14m-10M-char-demo-s0'"):
        find_runs(["runs/14m-10M-chr-demo*"])
    with pytest.raises(UserError, match=r"'nowhere/\*'"):
        find_runs(["runs/*", "nowhere/*"])
    with pytest.raises(UserError, match=r"makes one in runs/\.$"):
        find_runs(["qqq/*"])


def test_the_folder_of_the_runs_is_answered_with_the_pattern(make_run: MakeRun) -> None:
    make_run()
    with pytest.raises(UserError, match=r"'runs' is not a run folder but holds some: give runs='runs/\*'"):
        find_runs(["runs"])


def test_broken_files_of_a_run_are_named(make_run: MakeRun) -> None:
    folder = make_run()
    (folder / "run.json").write_text("{")
    with pytest.raises(UserError, match=r"run\.json: cannot be read"):
        find_runs(["runs/*"])


def test_a_record_that_this_version_does_not_write_is_named(make_run: MakeRun) -> None:
    folder = make_run()
    facts = read_run_facts(folder)
    assert facts is not None
    RECORD.write(folder / "run.json", facts.model_dump() | {"tokens_budget": "10M"})
    with pytest.raises(
        DamagedError, match=r"run\.json: not what this version writes \(tokens_budget: Input should be"
    ):
        find_runs(["runs/*"])


def test_a_folder_with_brackets_in_its_name_is_found_as_written(make_run: MakeRun) -> None:
    folder = make_run(parent="runs[1]", suffix="[a]")
    for pattern in (f"runs[1]/{folder.name}", "runs[1]/*", str(folder), f"{folder.parent}/14m*"):
        assert [run.label for run in find_runs([pattern])] == [folder.name]


def test_brackets_are_wildcards_where_no_folder_is_named_so(make_run: MakeRun) -> None:
    for seed in (0, 1, 2):
        make_run(seed=seed)
    assert [run.label[-2:] for run in find_runs(["runs/*-s[01]"])] == ["s0", "s1"]


def test_settings_that_no_factor_names_are_lines_of_their_own(make_run: MakeRun) -> None:
    """A model file may be edited between two runs of one name."""
    change_run(make_run(seed=0), cell_sha256="before")
    change_run(make_run(seed=1), cell_sha256="edited")
    assert [run.line for run in find_runs(["runs/*"])] == ["settings=before", "settings=edited"]


def test_a_model_from_elsewhere_never_joins_a_line_of_its_name(make_run: MakeRun, tmp_path: Path) -> None:
    for tokenizer in ("char", "word"):
        make_run(tokenizer=tokenizer)
    write_scores(tmp_path / "char", [score_row(-1, 0.8)])
    assert [run.line for run in find_runs(["runs/*", "char"])] == ["char", "word", "char (not trained here)"]
