"""The model files of ``conf/model``: sizes of different architectures are comparable."""

from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter

from ucurve.training.config import AnyModelSettings

FILES = sorted((Path(__file__).resolve().parents[3] / "conf" / "model").glob("*.yaml"))
MATCHED = [path.stem for path in FILES if "-" in path.stem]
FAMILIES = {"gpt2", "llama", "qwen3", "olmo2", "mamba", "lstm", "bert", "roberta", "modernbert"}
SIZES = ("14m", "70m", "160m")


def read(name):
    path = next(path for path in FILES if path.stem == name)
    return TypeAdapter(AnyModelSettings).validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_has_the_name_of_its_model(path):
    assert read(path.stem).name == path.stem


@pytest.mark.parametrize("size", SIZES)
def test_the_families_of_a_size_are_there(size):
    there = {name.removesuffix(f"-{size}") for name in MATCHED if name.endswith(f"-{size}")}
    assert there >= FAMILIES


@pytest.mark.parametrize("name", MATCHED)
def test_a_size_has_the_parameters_and_the_learning_rate_of_pythias(name):
    family, _, size = name.rpartition("-")
    model, pythia = read(name), read(size)
    assert model.design.architecture == family
    counted, wanted = (each.design.count_parameters(7_206, 64).non_embedding for each in (model, pythia))
    assert counted == pytest.approx(wanted, rel=0.05)
    assert model.learning_rate == pythia.learning_rate
