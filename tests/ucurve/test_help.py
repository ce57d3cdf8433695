import re
import shlex
import sys
from pathlib import Path

import pytest

from ucurve.arguments import read_arguments, with_lists
from ucurve.cli import COMMANDS
from ucurve.config import compose, sweep
from ucurve.config_files import known_keys
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


def test_help_has_every_key_of_the_command_but_those_of_scoring_below_train(name):
    text = command_help(name)
    parts = {key for key, value in known_keys(name).items() if isinstance(value, dict)}
    of_choices = {"model", "tokenizer", "data", "schedule", "engine", "tracker", "experiment", "source", "eval", "kind"}
    wanted = [key for key in known_keys(name) if key not in parts | of_choices and key.rpartition(".")[2] != "kind"]
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


def test_a_part_has_its_words_and_a_choice_its_names():
    text = command_help("train")
    assert "batch.*  (ZhoBLiMP, section 3: 256 x 64 tokens for all sizes)" in text
    assert re.search(r"  model=14m +one of 1\.4b, 14m, 160m", text)
    assert re.search(r"  tokens=\.\.\. +needed; training tokens: 10M", text)
    assert text.endswith("score.py --help explains them.\n")
