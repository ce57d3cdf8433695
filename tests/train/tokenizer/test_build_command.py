import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ucurve.config import check, compose
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.training.config import CorpusSettings, TokenizerSettings
from ucurve.training.tokenizer.folder import read_statistics

ROOT = Path(__file__).resolve().parents[3]


def build(*arguments, cwd):
    command = [sys.executable, str(ROOT / "tokenizers" / "build.py"), *arguments]
    variables = {**os.environ, "HF_HUB_OFFLINE": "1"}
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False)


def test_builds_one_tokenizer_alone(tmp_path, monkeypatch, run_command):
    (tmp_path / "my-books.txt").write_text("天地玄黄，宇宙洪荒。天地。\n" * 3, encoding="utf-8")
    result = build("tokenizer=word", "data=text", "data.path=my-books.txt", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    folder = tmp_path / result.stdout.splitlines()[0]
    assert folder.parent == tmp_path / "tokenizers"
    assert folder.name.startswith("word-my_books-")
    tokenizer = load_tokenizer(folder)
    counts = read_statistics(folder)["tokens"]
    assert result.stdout.split()[-3:] == [
        str(counts[name]) for name in ("all", "single_character", "multi_character")
    ]
    assert (counts["all"], counts["single_character"]) == (len(tokenizer), 8)
    unigrams = np.load(folder / "unigram_counts.npy")
    assert unigrams.shape == (len(tokenizer),)
    assert unigrams[tokenizer.eos_token_id] == 3
    monkeypatch.chdir(tmp_path)
    assert run_command("build", "tokenizer=word", "data=text", "data.path=my-books.txt") == (0, result.stdout, "")


@pytest.mark.parametrize("group", ["data", "tokenizer"])
def test_every_shipped_choice_is_composed_and_checked(group):
    for file in sorted((ROOT / "conf" / group).glob("*.yaml")):
        parts = "data.parts=[{{data: demo, {0}}}, {{dataset: x, {1}}}]"
        needed = {
            "data/hub": ["data.dataset=x"],
            "data/mixture": [parts.format("weight: 2", "weight: 3"), "data.name=mixture"],
            "data/stages": [parts.format("tokens: 5M", "split: train"), "data.name=stages"],
            "tokenizer/hub": ["tokenizer.path=x"],
        }
        values = compose("build", [f"{group}={file.stem}", *needed.get(f"{group}/{file.stem}", [])])
        data, tokenizer = check(CorpusSettings, values["data"]), check(TokenizerSettings, values["tokenizer"])
        chosen = data.run_name if group == "data" else tokenizer.name
        assert chosen == {"data/hub": "x", "tokenizer/hub": "x"}.get(f"{group}/{file.stem}", file.stem)
