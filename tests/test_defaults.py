"""The default of a key has one home: a file in ``conf/``, or the class where some choice of a group lacks the key."""

import dataclasses
import importlib
import typing

import pytest

from ucurve.config import compose
from ucurve.config_files import AT_THE_TOP, NO_VALUE, choices, completed, groups, load, package

SETTINGS = {
    "analyze": "analysis.data.settings:AnalyzeSettings",
    "answers": "validation.answers:AnswerSettings",
    "batches": "training.batches:BatchesSettings",
    "build": "training.cli:BuildSettings",
    "cost": "launch.cost:CostSettings",
    "demo": "launch.demo:DemoSettings",
    "emit": "launch.emit:EmitSettings",
    "generate": "generation.run:GenerateSettings",
    "leaderboard": "eval.leaderboard.export:LeaderboardSettings",
    "power": "analysis.data.settings:AnalyzeSettings",
    "prune": "launch.prune:PruneSettings",
    "publish": "launch.publish.publish:PublishSettings",
    "questionnaire": "validation.questionnaire.run:QuestionnaireSettings",
    "score": "eval.settings:ScoreCommand",
    "selftest": "launch.selftest:SelfTestSettings",
    "status": "launch.status:StatusSettings",
    "train": "training.config:RunRequest",
    "verify": "training.verify:VerifySettings",
    "workbench": "workbench.settings:WorkbenchSettings",
    "workers": "launch.workers:WorkersSettings",
}
IN_OWN_FILES = {"model.size"}  # which a model file of one's own need not have
SOURCES = choices("source")


def load_class(place):
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"ucurve.{module}"), name)


def keys_of(values, prefix=""):
    """Return the keys of a file, and those inside of its mappings."""
    inner = [keys_of(value, f"{prefix}{key}.") for key, value in values.items() if isinstance(value, dict)]
    return {f"{prefix}{key}" for key in values}.union(*inner)


def keys_of_choice(file, prefix):
    return keys_of(
        completed(file, {}) | {key: None for key, value in load(file).items() if value == NO_VALUE},
        "" if package(file) == AT_THE_TOP else prefix,
    )


def keys_always_there(name):
    """Return the keys that a command has whatever is chosen of its groups."""
    found = keys_of(load(f"{name}.yaml"))
    for group, prefix in groups(name).items():
        if group not in ("experiment", "source"):
            found |= set.intersection(*(keys_of_choice(file, prefix) for file in choices(group)))
    return found


def classes_in(kind):
    """Return the classes that a type of a field names, in unions and annotations too."""
    found = [kind] if isinstance(kind, type) and dataclasses.is_dataclass(kind) else []
    return found + [one for argument in typing.get_args(kind) for one in classes_in(argument)]


def defaults_of(kind, prefix="", seen=()):
    """Return the keys of a class, and of those inside of it, that have a default."""
    found = set()
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        key = f"{prefix}{field.name}"
        if field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING:
            found.add(key)
        for inner in classes_in(hints[field.name]):
            if inner not in seen:
                found |= defaults_of(inner, f"{key}.", (*seen, inner))
    return found


@pytest.mark.parametrize("name", SETTINGS)
def test_no_key_has_a_default_in_its_class_and_in_every_choice(name):
    assert not defaults_of(load_class(SETTINGS[name])) & keys_always_there(name) - IN_OWN_FILES


@pytest.mark.parametrize("name", sorted(SETTINGS.keys() - {"train", "build"}))  # which take keys of groups
def test_python_callers_have_the_defaults_of_the_command_line(name):
    assert completed(f"{name}.yaml", {}) == compose(name, [])


@pytest.mark.parametrize("file", SOURCES)
def test_no_key_of_a_source_of_pairs_has_two_defaults(file):
    source = load(file)["source"]
    assert not defaults_of(load_class(f"generation.{source}.make:Settings")) & keys_of(load(file))
