"""A corpus of a few thousand characters and the overrides that train a small model on it in seconds."""

import functools
import json
import random
import shutil

import pytest

from ucurve.config import compose
from ucurve.training.config import RunRequest, read_request
from ucurve.training.run.run import train_run

ELSEWHERE = "/folder-of-the-test"
CHARACTERS = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"


@pytest.fixture
def tmp_path(request, tmp_path, tmp_path_factory):
    """An empty folder: with one path in all tests that share trained runs, since a run names the paths it was made of."""
    if "finished_run" not in request.fixturenames:
        return tmp_path
    folder = tmp_path_factory.getbasetemp() / "of-a-test"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


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


@functools.cache
def composed(overrides):
    """Compose once in a process: Hydra takes longer than the steps of such a run."""
    return compose("train", overrides)


def with_text(value, old, new):
    """Replace a text in every string of nested values."""
    if isinstance(value, dict):
        return {key: with_text(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [with_text(item, old, new) for item in value]
    return value.replace(old, new) if isinstance(value, str) else value


@pytest.fixture
def values_of(tmp_path):
    """A function from overrides to composed values."""

    def build(words):
        values = composed(tuple(word.replace(str(tmp_path), ELSEWHERE) for word in words))
        return with_text(values, ELSEWHERE, str(tmp_path))

    return build


@pytest.fixture
def settings_of(overrides, values_of):
    """A function from further overrides to the settings of one run."""

    def build(*more: str) -> RunRequest:
        return read_request(values_of([*overrides, *more]))

    return build


@pytest.fixture(scope="session")
def kept_folders(tmp_path_factory):
    """The folders of finished runs by their overrides, and where they are kept."""
    return {}, tmp_path_factory.mktemp("kept")


@pytest.fixture
def finished_run(kept_folders, settings_of, tmp_path):
    """A function from further overrides to a finished run, which is trained once in a process and then copied."""
    kept, place = kept_folders

    def train(*more: str):
        settings = settings_of(*more)
        if more in kept:
            shutil.copytree(kept[more], tmp_path, dirs_exist_ok=True)
        else:
            train_run(settings)
            kept[more] = shutil.copytree(tmp_path, place / str(len(kept)))
        return settings.folder

    return train
