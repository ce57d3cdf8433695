"""``config.yaml`` of a run folder: no user's name in its paths, read back as it was, and perhaps somebody else's."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from ucurve.errors import UserError
from ucurve.storage.facts import read_run_facts
from ucurve.training.run.run import train_run
from ucurve.training.run_folder.config_file import (
    configuration_text,
    load_settings,
    read_configuration,
    stored_config_sha256,
)
from ucurve.training.verify import run_faults


@pytest.fixture
def at_home(settings_of, tmp_path, monkeypatch):
    """A run whose folders and corpus are below the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return settings_of(f"data.path={tmp_path}/texts/a.txt", f"benchmark_root={tmp_path}/benchmarks")


def written(folder, settings):
    folder.mkdir()
    (folder / "config.yaml").write_text(configuration_text(settings), encoding="utf-8")
    return folder


def test_the_home_folder_is_not_named_and_is_found_again(at_home, tmp_path):
    text = configuration_text(at_home)
    assert str(tmp_path) not in text
    values = yaml.safe_load(text)
    assert values["data"]["path"] == "~/texts/a.txt"
    assert values["paths"]["runs"] == f"~/{Path(at_home.paths.runs).relative_to(tmp_path)}"
    assert values["benchmark_root"] == values["eval"]["benchmark_root"] == "~/benchmarks"
    assert load_settings(written(tmp_path / "run", at_home)) == at_home


def test_for_somebody_else_it_is_the_same_run_with_paths_of_their_own(at_home, tmp_path, monkeypatch):
    run = written(tmp_path / "run", at_home)
    before = stored_config_sha256(run)
    monkeypatch.setenv("HOME", "/home/else")
    assert stored_config_sha256(run) == before
    assert load_settings(run).data.path == "/home/else/texts/a.txt"


def test_paths_elsewhere_and_what_determines_the_outcome_stay_as_given(at_home, tmp_path):
    elsewhere = replace(at_home, data=replace(at_home.data, path=f"{tmp_path}-other/a.txt"))
    named = replace(elsewhere, tokenizer=replace(elsewhere.tokenizer, kind="hub", path=f"{tmp_path}/tokenizer"))
    values = yaml.safe_load(configuration_text(named))
    assert values["data"]["path"] == f"{tmp_path}-other/a.txt"
    assert values["tokenizer"]["path"] == f"{tmp_path}/tokenizer"


def test_a_run_below_the_home_folder_is_gone_on_with_and_verified(settings_of, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = settings_of()
    train_run(settings)
    run = settings.folder
    before = (run / "config.yaml").read_bytes()
    assert str(tmp_path).encode() not in before
    train_run(settings)
    assert (run / "config.yaml").read_bytes() == before
    assert run_faults(run) == []
    monkeypatch.setenv("HOME", "/home/else")
    assert run_faults(run) == []
    assert read_run_facts(run).config_sha256 == stored_config_sha256(run)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("data: [", r"no readable configuration \(.*config\.yaml:1: not YAML"),
        ("data:\n  name: 2001-99-99", r"config\.yaml:2: not YAML \('2001-99-99' cannot be read as the type 'timestamp'\)"),
        ("data: !!bool x", r"config\.yaml:1: not YAML \('x' cannot be read as the type 'bool'\)"),
        ("data: &a {b: *a}", r"config\.yaml:1: not YAML \(\*a stands inside of &a\)"),
        ("[" * 3000, r"config\.yaml:1: not YAML \(more than 100 lists and mappings in one another\)"),
        ("data: {}\nseed: 0\nseed: 1", r"config\.yaml:3: the key 'seed' stands there twice"),
        ("data: 1", r"holds no configuration of a run: it lacks data, tokenizer, engine"),
        ("data: {}\ntokenizer: {}", r"holds no configuration of a run: it lacks engine"),  # as a file that was cut off
        ("{data: {parts: [1]}, tokenizer: {}, engine: {}, model: {}, objective: {}}", r"a run: it lacks data\.parts"),
        ("- 1", r"no readable configuration \(.*config\.yaml:1: configuration: got \[1\]"),
    ],
)  # fmt: skip
def test_what_is_no_configuration_is_one_message(tmp_path, text, message):
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(UserError, match=message):
        read_configuration(tmp_path)


def test_aliases_that_yaml_itself_writes_are_read(tmp_path):
    (tmp_path / "config.yaml").write_text(
        "data: &id001 {path: [a]}\ntokenizer: {}\nengine: {}\nmodel: {}\nobjective: {}\ngrid: [*id001, *id001]\n"
    )
    assert read_configuration(tmp_path)["grid"] == [{"path": ["a"]}] * 2
