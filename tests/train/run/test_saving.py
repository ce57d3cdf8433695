"""States and checkpoints that are written beside the training."""

import os
import signal
import time

import pytest
import torch

from ucurve.errors import RunError
from ucurve.storage.facts import read_run_facts
from ucurve.training.engine.engine import TorchEngine
from ucurve.training.engine.signals import Interrupted
from ucurve.training.run import saving
from ucurve.training.run.run import train_run
from ucurve.training.run.saving import BackgroundWriter, HostCopy, StateClock
from ucurve.training.run_folder.checkpoint import find_faults
from ucurve.training.run_folder.resume import find_newest_state


def slowly(monkeypatch, name, first=lambda: None):
    """Let a function of ``saving`` take longer than several steps do."""
    real = getattr(saving, name)

    def slow(*given, **more):
        first()
        time.sleep(0.1)
        return real(*given, **more)

    monkeypatch.setattr(saving, name, slow)


def written(run):
    """The bytes of every checkpoint and of the two newest states; the hash of the lines has their times in it."""
    files = [*run.glob("checkpoints/*/*"), *run.glob("resume/*/state.safetensors")]
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


@pytest.mark.long
def test_what_is_written_beside_the_training_is_the_same(settings_of, monkeypatch):
    at_once = settings_of("name=once", "resume.seconds=0", "resume.background=false")
    train_run(at_once)
    slowly(monkeypatch, "write_checkpoint")
    slowly(monkeypatch, "save_state")
    beside = settings_of("name=beside", "resume.seconds=0")
    train_run(beside)
    expected, found = written(at_once.folder), written(beside.folder)
    # Has the run's name's hash.
    expected = {name: data for name, data in expected.items() if "manifest" not in name}
    assert {name: data for name, data in found.items() if name in expected} == expected
    assert find_newest_state(beside.folder, {}) == 12


def test_steps_go_on_while_a_checkpoint_is_written(settings_of, monkeypatch):
    events = []
    real = saving.write_checkpoint

    def slow(run, model, tokenizer, facts):
        deadline = time.monotonic() + 30
        while facts.step == 5 and "step 8" not in events and time.monotonic() < deadline:
            time.sleep(0.01)
        events.append(f"checkpoint {facts.step}")
        return real(run, model, tokenizer, facts)

    def stepping(self, windows, rate, number, *flags):
        events.append(f"step {number}")
        return step(self, windows, rate, number, *flags)

    step = TorchEngine.step
    monkeypatch.setattr(TorchEngine, "step", stepping)
    monkeypatch.setattr(saving, "write_checkpoint", slow)
    train_run(settings_of())
    assert events.index("step 8") < events.index("checkpoint 5") < events.index("checkpoint 12")


def test_logits_are_compared_at_the_first_checkpoint_of_each_run(settings_of, monkeypatch):
    compared = []
    monkeypatch.setattr(saving, "compare_logits", lambda folder, _: compared.append(folder))
    runs = [settings_of(f"name={name}") for name in ("one", "two")]
    for settings in runs:
        train_run(settings)
    assert compared == [settings.folder / "checkpoints" / "step00000000" for settings in runs]


def test_a_signal_while_a_checkpoint_is_written_lets_it_be_finished(settings_of, monkeypatch):
    slowly(monkeypatch, "write_checkpoint", lambda: os.kill(os.getpid(), signal.SIGTERM))
    settings = settings_of()
    with pytest.raises(Interrupted, match="75"):
        train_run(settings)
    run = settings.folder
    names = sorted(path.name for path in (run / "checkpoints").iterdir())
    assert names[0] == "step00000000"
    assert [find_faults(run / "checkpoints" / name) for name in names] == [[]] * len(names)
    assert find_newest_state(run, {}) is not None
    assert not list(run.rglob(".*.tmp-*"))
    monkeypatch.undo()
    train_run(settings)
    assert read_run_facts(run).status == "finished"


def test_an_error_of_the_thread_ends_the_run_before_anything_else_is_written(settings_of, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ucurve.training.run_folder.checkpoint._save_model", full)
    settings = settings_of("resume.seconds=0")
    with pytest.raises(RunError, match=r"No space left on device; the newest whole state is kept in resume/"):
        train_run(settings)
    run = settings.folder
    assert read_run_facts(run).status == "failed"
    assert not list((run / "checkpoints").iterdir())
    assert not (run / "resume").exists()


def test_an_error_in_the_last_checkpoint_keeps_a_run_from_being_finished(settings_of, monkeypatch):
    real = saving.write_checkpoint

    def broken(run, model, tokenizer, facts):
        if facts.step == 12:
            raise RunError("a checkpoint read back differs")
        return real(run, model, tokenizer, facts)

    monkeypatch.setattr(saving, "write_checkpoint", broken)
    settings = settings_of()
    with pytest.raises(RunError, match="a checkpoint read back differs"):
        train_run(settings)
    assert read_run_facts(settings.folder).status == "failed"


def test_a_copy_stays_what_it_was():
    model = torch.nn.Linear(2, 3)
    before = {f"weights/{name}": value.clone() for name, value in model.state_dict().items()}
    moments = {"optimizer/exp_avg/weight": torch.ones(3, 2), "generator": torch.get_rng_state()}
    copied = HostCopy(model)
    held = copied.take_state({f"weights/{name}": value for name, value in model.state_dict().items()} | moments)
    with torch.no_grad():
        model.weight.zero_()
        moments["optimizer/exp_avg/weight"].zero_()
    assert held.keys() == before.keys() | moments.keys()
    assert torch.equal(held["weights/weight"], before["weights/weight"])
    assert held["optimizer/exp_avg/weight"].sum() == 6
    assert torch.equal(copied.model.weight, before["weights/weight"])
    assert not copied.take_weights(model).weight.any()


def test_the_next_piece_of_work_waits_and_an_error_is_raised_once():
    with BackgroundWriter(enabled=True) as writer:
        writer.start(lambda: int("x"))
        with pytest.raises(ValueError, match="invalid literal"):
            writer.wait()
        writer.wait()
        done = []
        writer.start(lambda: (time.sleep(0.05), done.append(1))[1])
    assert done == [1]
    assert writer.idle


def test_states_cost_at_most_two_percent_of_the_time():
    clock = StateClock(None)
    assert clock.interval == 120, "what a state costs is not known before the first"
    intervals = []
    for clock.cost in (0.01, 0.5, 70.0):
        intervals.append(clock.interval)
    assert intervals == [10, 25, 3500]
    clock = StateClock(0)
    assert clock.passed
    clock.cost = 1e6
    assert clock.interval == 0, "an interval that is given stays"
