"""What trackers are sent, with clients that stand in for them and keep to their rules about steps and runs."""

import json
import shutil
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from tests.train.run.interrupting import train_cut_off
from ucurve.errors import UserError
from ucurve.training.run.run import train_run
from ucurve.training.run.tracking import check_tracker, start_tracker

STEPS = (0, 1, 2, 5, 12)
LETTERS = "天地玄黄宇宙洪荒"


class StandIn(ModuleType):
    """A tracker's module: its runs by id, each with rows of step and values; ``opened`` counts the starts."""

    def __init__(self, name):
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)
        self.runs, self.opened = {}, 0

    def open(self, number, run):
        self.opened += 1
        return self.runs.setdefault(number, run)

    def values(self, name):
        """Every value of a name, by the step it is drawn over."""
        (run,) = self.runs.values()
        return [(run.place(step, row), row[name]) for step, row in run.rows if name in row]


class Wandb(StandIn):
    """Drops what is sent for a step before the last one, as Weights & Biases does; the end of a run adds a step."""

    class Run:
        def __init__(self):
            self.rows, self.axes, self.step, self.exit_codes = [], {}, 0, []

        def define_metric(self, names, step_metric):
            self.axes[names] = step_metric

        def log(self, values, step):
            if step >= self.step:
                self.step = step
                self.rows.append((step, values))

        def finish(self, exit_code):
            self.exit_codes.append(exit_code)
            self.step += 1

        def place(self, step, row):
            axes = {self.axes.get(f"{name.partition('/')[0]}/*") for name in row} - {None}
            return row[axes.pop()] if axes else step

    def init(self, **given):
        assert given["resume"] == "allow"
        assert given["mode"] == "offline"
        assert given["settings"]["quiet"], "the history of a cell would stand between the tables of a grid"
        return self.open(given["id"], self.Run())


class Trackio(StandIn):
    """Keeps every row in any order, and has a name of its own for the step."""

    class Run:
        def __init__(self):
            self.rows = []

        def log(self, values, step):
            assert "step" not in values
            self.rows.append((step, values))

        def finish(self):
            pass

        def place(self, step, _):
            return step

    def init(self, **given):
        assert given["resume"] == "allow"
        return self.open((given["project"], given["name"]), self.Run())


@pytest.fixture(params=[Wandb, Trackio])
def client(request, monkeypatch):
    module = request.param(request.param.__name__.lower())
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


@pytest.fixture
def tracked(tmp_path, settings_of, client):
    """Settings of a run with held-out text and a benchmark of two phenomena, tracked by the client."""
    folder = tmp_path / "benchmarks" / "zhoblimp"
    folder.mkdir(parents=True)
    pairs = [
        {
            "UID": uid,
            "phenomenon": uid.upper(),
            "sentence_good": LETTERS[:size],
            "sentence_bad": LETTERS[size::-1],
        }
        for uid in ("a", "b")
        for size in range(2, 8)
    ]
    (folder / "pairs.jsonl").write_text("\n".join(json.dumps(pair) for pair in pairs) + "\n")
    given = ["eval.benchmarks=[zhoblimp]", f"benchmark_root={folder.parent}", "data.holdout=0.1"]
    return lambda *more: settings_of(*given, f"tracker={client.__name__}", *more)


def check_values(client, run):
    """Compare what the client has with the files of the run: a value for each step and checkpoint, or it twice."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert dict(client.values("loss")) == {line["step"]: line["loss"] for line in lines}
    rows = [line.split(",") for line in (run / "held_out.csv").read_text().splitlines()[1:]]
    expected = {int(row[0]): float(row[4]) for row in rows}
    assert tuple(expected) == STEPS
    assert dict(client.values("held_out/bits_per_byte")) == expected
    for part in ("all", "A", "B"):
        found = client.values(f"accuracy/zhoblimp/{part}")
        assert tuple(sorted(dict(found))) == STEPS
        assert len(set(found)) == len(STEPS), "a step that is sent twice has the same value"


@pytest.mark.long
def test_every_checkpoint_is_sent(tracked, client):
    settings = tracked()
    train_run(settings)
    check_values(client, settings.folder)
    assert client.opened == 1
    assert len(client.values("held_out/loss")) == len(client.values("accuracy/zhoblimp/all")) == len(STEPS)


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0, 3600])
def test_a_run_that_goes_on_is_one_run(tracked, client, monkeypatch, seconds):
    settings = tracked(f"resume.seconds={seconds}")
    train_cut_off(settings, monkeypatch, 6)
    train_run(settings)
    assert client.opened == 2
    check_values(client, settings.folder)


@pytest.mark.long
def test_scores_that_are_made_at_the_end_are_sent_too(tracked, client):
    settings = tracked("eval.when=end")
    train_run(settings)
    check_values(client, settings.folder)
    train_run(settings)
    assert client.opened == 2, "one for training, one for the scores; none where nothing is new"
    shutil.rmtree(settings.folder / "eval")
    train_run(settings)
    check_values(client, settings.folder)


def test_without_a_tracker_nothing_is_sent(settings_of, tmp_path):
    assert start_tracker(settings_of(), tmp_path) is None
    assert not list(tmp_path.glob("wandb"))


@pytest.mark.parametrize(("kind", "wanted"), [("wandb", "wandb"), ("trackio", r"'ucurve\[trackio\]'")])
def test_a_missing_package_is_named_with_what_to_type(settings_of, monkeypatch, kind, wanted):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=rf"^tracker={kind}: .* is not installed: pip install {wanted}$"):
        check_tracker(settings_of(f"tracker={kind}").tracker)


@pytest.mark.long
def test_two_offline_runs_in_one_process_are_two_runs(settings_of, tmp_path):
    pytest.importorskip("wandb")
    for seed in (0, 1):
        settings = settings_of("tracker=wandb", f"seed={seed}")
        folder = tmp_path / settings.run_name
        folder.mkdir()
        tracker = start_tracker(settings, folder)
        tracker.log_step(1, {"loss": 2.0})
        tracker.log_checkpoint(0, {"held_out/loss": 3.0})
        tracker.finish(failed=False)
    found = sorted(path.parents[2].name for path in tmp_path.rglob("run-*.wandb"))
    assert found == ["tiny-1536-char-small_corpus-s0", "tiny-1536-char-small_corpus-s1"]
