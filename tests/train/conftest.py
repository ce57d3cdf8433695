"""A corpus of a few thousand characters and the overrides that train a small model on it in seconds."""

import json
import random

import pytest

from train.config import RunSettings, read_settings
from ucurve.config import compose

CHARACTERS = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"


@pytest.fixture
def corpus(tmp_path):
    """A folder with one file of JSON lines: 200 documents of 10 to 40 characters."""
    chance = random.Random(0)
    folder = tmp_path / "small-corpus"
    folder.mkdir()
    texts = ["".join(chance.choices(CHARACTERS, k=chance.randint(10, 40))) + "。" for _ in range(200)]
    (folder / "train.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return folder


@pytest.fixture
def overrides(tmp_path, corpus):
    """Overrides of a run of 12 steps of 8 x 16 tokens, everything below ``tmp_path``."""
    return [
        "model=tiny",
        "tokens=1536",
        "tokenizer=char",
        f"data.path={corpus}",
        "batch.sequences=8",
        "batch.length=16",
        "schedule.count=5",
        "engine.micro_batch=4",
        f"paths.runs={tmp_path / 'runs'}",
        f"paths.cache={tmp_path / 'cache'}",
        f"paths.tokenizers={tmp_path / 'tokenizers'}",
    ]


@pytest.fixture
def settings_of(overrides):
    """A function from further overrides to the settings of one run."""

    def build(*more: str) -> RunSettings:
        return read_settings(compose("train", [*overrides, *more]))

    return build
