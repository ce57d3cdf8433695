"""README's way from a treebank to a learning curve runs as it is printed, on a small treebank and with a small budget."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from tests.generation.multiblimp.toy import GOOD, PL, SG, noun, sentence, treebank, verb

README = Path(__file__).resolve().parents[1] / "README.md"
SMALLER = {"14m": "tiny", "10M": "40K"}
ADVERBS = [
    "multe/multe/ADV//22/advmod"
] * 20  # between subject and verb: what follows the verb is left out of a pair
LONG = [
    sentence(f"long-{number}", noun(subject, "hundo", feats, 22), *ADVERBS, verb(form, "kuri", feats))
    for number, (subject, feats, form) in enumerate([("hundo", SG, "kuras"), ("hundoj", PL, "kurajn")])
]


def commands() -> list[list[str]]:
    """The commands of the section, as a shell splits them, for a smaller model and budget."""
    text = README.read_text(encoding="utf-8").partition("## From a treebank to a learning curve\n")[2]
    found = re.search(r"```\n(.*?)```", text, re.DOTALL)
    assert found is not None
    block = found[1]
    for usual, small in SMALLER.items():
        assert usual in block
        block = block.replace(usual, small)
    return [shlex.split(line) for line in block.splitlines()]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a small treebank under the name that README gives, and texts of the same letters."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nl_alpino-ud-train.conllu").write_text(treebank(*GOOD, *LONG), encoding="utf-8")
    texts = tmp_path / "TEXTS"
    texts.mkdir()
    lines = ["Kato kuras. hundoj bojajn tre multe de estas estajn kurinta katoj kurajn"] * 600
    (texts / "one.txt").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(run_command):
    def run(words: list[str]) -> tuple[int, str]:
        python, script, *arguments = words
        assert python == "python"
        code, _, said = run_command(script.removesuffix(".py"), *arguments)
        return code, said

    return run


def test_no_argument_of_the_section_is_expanded_by_a_shell():
    text = README.read_text(encoding="utf-8").partition("## From a treebank to a learning curve\n")[2]
    block = text.partition("```\n")[2].partition("```")[0]
    unquoted = re.sub(r"'[^']*'", "", block)
    assert not set("[]*?{}") & set(unquoted)  # zsh refuses a pattern that matches no file


@pytest.mark.long
def test_from_a_treebank_to_a_learning_curve(place, run):
    for words in commands():
        assert run(words)[0] == 0
    folder = place / "runs" / "tiny-40K-char-TEXTS-s0"
    accuracy = pd.read_csv(folder / "eval" / "accuracy.csv")
    assert set(accuracy["benchmark"]) == {"dutch"}
    assert accuracy["step"].nunique() > 1
    assert (place / "figures" / "report.html").is_file()


@pytest.mark.usefixtures("place")
@pytest.mark.long
def test_without_batch_length_the_remedy_is_named(run):
    generate, train, score, _ = commands()
    assert run(generate)[0] == 0
    assert run([word for word in train if not word.startswith("batch.")])[0] == 0
    code, said = run(score)
    assert code == 2
    assert re.search(r"tokens, but the model's context holds 64 \(.*; \d+ of \d+ pairs fit\b.*\)", said)
    assert "batch.length=" in said
