"""What every source makes is scored and reported with no further setting."""

import pandas as pd
import pytest

from tests.generation.multiblimp.toy import GOOD, treebank

GRAMMAR = "eval/templates/demo_grammar"


@pytest.fixture
def run(run_command):
    def run(*words):
        code, _, said = run_command(*words)
        assert code == 0, said

    return run


@pytest.fixture
def model(make_model, make_tokenizer, write_checkpoint, tmp_path):
    """A model of characters with random weights."""
    letters = [
        chr(number) for number in (*range(32, 127), *range(0x400, 0x460), *range(0x900, 0x980), *range(0xC0, 0x180))
    ]
    tokenizer = make_tokenizer(letters)
    return write_checkpoint(
        tmp_path / "model", make_model(vocabulary=len(letters) + 2, positions=512), tokenizer=tokenizer, manifest=False
    )


def test_made_benchmarks_are_scored_and_reported(run, model, tmp_path, capsys):
    toy = tmp_path / "toy.conllu"
    toy.write_text(treebank(*GOOD), encoding="utf-8")
    made = tmp_path / "made"
    run("generate", "source=templates", f"templates={GRAMMAR}/templates", f"vocabulary={GRAMMAR}/vocabulary.tsv",
        f"phrases={GRAMMAR}/phrases.json", f"out={made / 'chinese'}", "pairs=3")  # fmt: skip
    run("generate", "source=multiblimp", f"treebanks=[{toy}]", "language=epo", f"out={made / 'toy'}")
    run("generate", "source=sweblimp", f"out={made / 'swedish'}", "pairs=2")
    run("generate", "source=folder", f"benchmark={made / 'toy'}", f"out={made / 'fewer'}", "pairs=1")
    score_and_report(run, model, [made / name for name in ("chinese", "toy", "swedish", "fewer")], tmp_path)


@pytest.mark.long
def test_benchmarks_made_of_the_published_resources_are_scored_and_reported(run, model, shared, tmp_path):
    pytest.importorskip("pymorphy3")
    made = tmp_path / "made"
    run("generate", "source=tse", f"vocabulary={shared / 'pairs/tse/vocabulary'}", f"out={made / 'suites'}", "pairs=2")
    run("generate", "source=rublimp", "treebanks=[tests/generation/rublimp/sentences.conllu]", f"resources={shared / 'pairs/rublimp'}",
        f"out={made / 'russian'}", "pairs=2")  # fmt: skip
    scored = score_and_report(run, model, [made / "suites", made / "russian"], tmp_path)
    assert set(scored.loc[scored["benchmark"].str.startswith("suites"), "scorer"]) == {"conditional"}
    assert {"suites/eus", "suites/hin", "suites/swa", "russian"} == set(scored["benchmark"])


def score_and_report(run, model, folders, tmp_path):
    """Score benchmarks and check that each is in the report; returns the accuracies."""
    out = tmp_path / "scores"
    run("score", f"model={model}", f"benchmarks=[{','.join(map(str, folders))}]", f"out={out}")
    accuracy = pd.read_csv(out / "eval" / "accuracy.csv")
    for folder in folders:
        scored = accuracy[accuracy["benchmark"].str.partition("/")[0] == folder.name]
        lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in folder.glob("*.jsonl"))
        overall = scored[(scored["phenomenon"] == "all") & (scored["paradigm"] == "all") & (scored["split"] == "all")]
        assert overall.loc[overall["linking"] == "lp", "n"].sum() == lines
    run("analyze", f"runs={out}", f"out={tmp_path / 'figures'}")
    report = (tmp_path / "figures" / "report.html").read_text(encoding="utf-8")
    assert all(folder.name in report for folder in folders)
    return accuracy
