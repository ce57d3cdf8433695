import pytest

from ucurve.errors import UserError
from ucurve.storage.facts import read_run_facts
from ucurve.training.api import train


def test_a_run_is_trained_as_the_command_trains_it(overrides, tmp_path):
    (folder,) = train(*overrides)
    assert folder == tmp_path / "runs" / folder.name
    facts = read_run_facts(folder)
    assert facts.finished
    assert (folder / "checkpoints").is_dir()
    assert train(*overrides) == [folder]  # finished: left as it is
    assert read_run_facts(folder) == facts


def test_a_grid_gives_the_folder_of_every_run(overrides):
    folders = train(*overrides, "seed=0,1", "dry_run=true", "-m")
    assert [folder.name[-3:] for folder in folders] == ["-s0", "-s1"]


def test_keys_are_given_by_name_too(overrides):
    (folder,) = train(*overrides, seed=3, dry_run=True, name="new", benchmarks=["demo"], start=None)
    assert folder.name.endswith("-s3-new")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["modle=tiny"], r"unknown key 'modle'.*Did you mean 'model'\?"),
        (["model=tiny"], "tokens: no value given"),
        (["--model", "tiny"], "settings are key=value: model=tiny"),
        (["model=tiny", "tokens=1K", "seed=0,1"], "seed=0,1: one value is expected; several make a grid"),
        (["model=161m", "tokens=10M"], "160m"),
    ],
)
def test_a_mistake_has_the_message_of_the_command(arguments, message):
    with pytest.raises(UserError, match=message):
        train(*arguments)
