import pytest

from train.commands import grid_settings, plan_text, train_command
from train.grid import cells
from ucurve.command import CONFIGURATION, compose
from ucurve.errors import RunError, UserError


def test_cells_are_products_in_order_without_repeats():
    blocks = [{"model": ["a", "b"], "seed": [0, 1]}, {"model": ["b"], "seed": [1, 2]}]
    assert cells(blocks, []) == [
        ["model=a", "seed=0"],
        ["model=a", "seed=1"],
        ["model=b", "seed=0"],
        ["model=b", "seed=1"],
        ["model=b", "seed=2"],
    ]


def test_an_override_of_the_users_replaces_its_axis():
    assert cells([{"model": ["a", "b"], "seed": [0, 1]}], ["model=c"]) == [["seed=0"], ["seed=1"]]


@pytest.mark.parametrize("axis", ["14m", [], 3])
def test_an_axis_must_be_a_list(axis):
    with pytest.raises(UserError, match=r"grid\.0\.model: got .*; an axis is a list"):
        cells([{"model": axis}], [])


@pytest.fixture
def given(monkeypatch):
    """Stand in for the overrides of a command line."""

    def set_overrides(*overrides):
        monkeypatch.setattr("train.commands.task_overrides", lambda: list(overrides))
        return compose("train", list(overrides))

    return set_overrides


@pytest.mark.parametrize("grid", [5, [1], {"seed": [0]}])
def test_a_grid_must_be_a_list_of_axes(given, grid):
    with pytest.raises(UserError, match=r"grid: got .*; a list of axes is expected"):
        grid_settings(given("tokens=10M") | {"grid": grid})


def test_an_axis_may_hold_nothing():
    assert cells([{"name": [None, "again"]}], []) == [["name=null"], ["name=again"]]


def test_zh_pythia_is_the_papers_66_cells_and_every_one_plans(given):
    grid = grid_settings(given("experiment=zh_pythia"))
    assert len(grid) == 66
    assert len({settings.run_name for settings in grid}) == 66
    by_tokenizer = [sum(settings.tokenizer.name == name for settings in grid) for name in ("cllama", "word", "char")]
    assert by_tokenizer == [60, 3, 3]
    plans = [plan_text(settings) for settings in grid]
    assert all("steps" in plan for plan in plans)
    assert "183,105 of 256 x 64 tokens" in plans[-1]


def test_the_users_own_choice_narrows_an_experiment(given):
    grid = grid_settings(given("experiment=zh_pythia", "model=14m", "seed=1"))
    assert sorted(settings.run_name for settings in grid)[0] == "14m-100M-cllama-text-s1"
    assert {settings.model.name for settings in grid} == {"14m"}
    assert {settings.seeds.init for settings in grid} == {1}


def test_a_run_that_fails_does_not_stop_the_others(given, monkeypatch, capsys):
    trained = []

    def train(settings):
        if settings.seeds.init == 1:
            raise RunError("the disk is full")
        trained.append(settings.run_name)

    monkeypatch.setattr("train.run.train_cell", train)
    with pytest.raises(RunError, match=r"1 of 3 runs failed: 14m-10M-char-text-s1"):
        train_command(given("tokens=10M") | {"grid": [{"seed": [0, 1, 2]}]})
    assert trained == ["14m-10M-char-text-s0", "14m-10M-char-text-s2"]
    assert "14m-10M-char-text-s1: the disk is full" in capsys.readouterr().err


def test_two_cells_of_one_name_are_refused(given):
    values = given("tokens=10M") | {"grid": [{"optimizer.clip": [1, 2]}]}
    with pytest.raises(UserError, match=r"two cells of the grid have one name: 14m-10M-char-text-s0"):
        grid_settings(values)


def every_choice():
    groups = ("model", "tokenizer", "data", "schedule", "engine", "tracker")
    return [f"{group}={file.stem}" for group in groups for file in sorted((CONFIGURATION / group).glob("*.yaml"))]


NEEDED = {  # what a choice cannot do without
    "data=hub": ["data.dataset=owner/name"],
    "tokenizer=hub": ["tokenizer.path=owner/name", "tokenizer.vocab_size=1000"],
    "schedule=list": ["schedule.steps=[1,10]"],
}


@pytest.mark.parametrize("choice", every_choice())
def test_every_shipped_choice_composes_and_plans(choice, given):
    settings = grid_settings(given("tokens=100M", choice, *NEEDED.get(choice, [])))[0]
    assert settings.run_name in plan_text(settings)


def test_the_demo_experiment_plans(given):
    assert [settings.run_name for settings in grid_settings(given("experiment=demo"))] == [
        "tiny-800K-char-demo-s0",
        "tiny-800K-char-demo-s1",
    ]


def test_every_experiment_has_its_test():
    assert {file.stem for file in (CONFIGURATION / "experiment").glob("*.yaml")} == {"demo", "zh_pythia"}
