import re
import shlex
import sys
from pathlib import Path

import pytest

from ucurve.arguments import read_arguments, with_lists
from ucurve.cli import COMMANDS
from ucurve.config import compose, sweep
from ucurve.config_files import choices as all_choices
from ucurve.config_files import groups, known_keys
from ucurve.help import command_help

ROOT = Path(__file__).resolve().parents[2]
OF_A_GRID = ("cost", "emit", "status", "workers")


@pytest.fixture(params=COMMANDS)
def name(request, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["train.py"])
    return request.param


def examples(text):
    return re.findall(r"^  ((?:python|ucurve) .*)$", text, flags=re.MULTILINE)


def test_help_says_what_a_command_does_and_gives_examples(name):
    text = command_help(name)
    said = text.split("\n\n")[1]
    assert said[0].isupper()
    assert said.endswith(".")
    assert len(examples(text)) >= 2
    assert max(map(len, text.splitlines())) <= 100
    assert "???" not in text
    assert "$" not in text


def test_help_has_every_key_of_a_choice_that_is_made(name):
    choices = [file.removesuffix(".yaml").split("/") for group in groups(name) for file in all_choices(group)]
    text = "".join(command_help(name, [f"{group}={choice}"]) for group, choice in choices) + command_help(name)
    parts = {key for key, value in known_keys(name).items() if isinstance(value, dict)}
    of_choices = {
        "model",
        "tokenizer",
        "data",
        "schedule",
        "engine",
        "tracker",
        "experiment",
        "source",
        "eval",
        "kind",
    }
    wanted = [
        key for key in known_keys(name) if key not in parts | of_choices and key.rpartition(".")[2] != "kind"
    ]
    mappings = ("prompt.", "model.config.")  # are written as one mapping
    wanted = [key for key in wanted if not key.startswith(mappings)]
    below = [key for key in wanted if key.startswith("eval.")] if name == "train" else []
    assert [key for key in wanted if f"  {key}=" not in text and key not in below] == []


def test_the_examples_have_keys_and_choices_that_exist(name):
    for line in examples(command_help(name)):
        words = shlex.split(line)
        given = [word for word in words[1:] if "=" in word or (word.startswith(("-m",)) and len(word) == 2)]
        arguments = read_arguments([word for word in given if "=" in word])
        own = {key.partition(".")[0] for key in known_keys(name)}
        if name in OF_A_GRID:
            arguments = [one for one in arguments if one.partition("=")[0].partition(".")[0] not in own]
            if "score" in words:  # workers that score
                compose("score", with_lists("score", arguments))
                continue
            cells = sweep("train", arguments)
            [compose("train", cell) for cell in cells]
        elif " -m " in line and not line.startswith("python -m"):
            [compose(name, cell) for cell in sweep(name, arguments)]
        else:
            compose(name, with_lists(name, arguments))


def test_the_keys_are_those_of_what_is_chosen():
    text = command_help("train", ["model=tiny", "data.path=TEXTS"])
    assert "  model=tiny  " in text
    assert "  model.layers=2\n" in text
    assert "model.architecture" not in text
    assert "objective.last_rate" not in text
    assert re.search(r"  data\.path=null +a file, folder or glob", text)
    assert "  data.dataset" not in text
    assert "model.layers=6\n" in command_help("train", ["model=15m"]), "an unknown choice shows the default"
    assert "model.architecture=gpt2  " in command_help("train", ["model=gpt2-14m"])
    assert "  treebanks=" not in command_help("generate")
    assert "  treebanks=" in command_help("generate", ["source=multiblimp"])


def test_words_stand_behind_their_own_key():
    text = " ".join(command_help("score").split())
    assert "keep=true Of a model of the hub; false removes the weights" in text
    assert "check=false report on the data" in text
    assert "needed;\n" not in command_help("verify")


def test_a_part_has_its_words_and_a_choice_its_names():
    text = command_help("train")
    assert "batch.*  (ZhoBLiMP, section 3: 256 x 64 tokens for all sizes)" in text
    assert re.search(r"  model=14m +one of 1\.4b, 14m, 160m", text)
    assert re.search(r"  tokens=\.\.\. +needed; training tokens: 10M", text)
    assert text.endswith("score.py --help explains them.\n")
