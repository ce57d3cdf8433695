"""Signals, full disks and damaged states: what is saved, what is said, and that the run ends as if left alone."""

import json
import os
import pty
import shutil
import signal
import sys
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from tests.train.run.interrupting import before_step, outcome
from ucurve.errors import RunError, UserError
from ucurve.storage.facts import read_run_facts
from ucurve.training.engine.engine import TorchEngine
from ucurve.training.engine.optimizers import check_state_complete
from ucurve.training.engine.signals import Interrupted, StopSignals
from ucurve.training.run.run import train_run
from ucurve.training.run_folder.resume import find_newest_state, load_state, save_state
from ucurve.training.verify import run_faults

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def alone(finished_run):
    return outcome(finished_run("name=alone"))


def signal_in_step(monkeypatch, number, wanted=4):
    return before_step(monkeypatch, wanted, lambda: os.kill(os.getpid(), number))


@pytest.mark.parametrize(
    ("number", "name", "code"),
    [
        (signal.SIGTERM, "SIGTERM", 75),
        (signal.SIGUSR1, "SIGUSR1", 75),
        (signal.SIGHUP, "SIGHUP", 75),
        (signal.SIGINT, "Ctrl-C", 130),
    ],
)
def test_a_signal_finishes_the_step_saves_and_ends(alone, settings_of, monkeypatch, capfd, number, name, code):
    before, settings = signal.getsignal(number), settings_of()
    with signal_in_step(monkeypatch, number), pytest.raises(SystemExit) as raised:
        train_run(settings)
    assert raised.value.code == code
    said = capfd.readouterr().err
    kept = f"stopped by {name}: the state after step 4 is kept, the same command goes on; exit code {code}"
    assert said.splitlines()[-1] == kept
    assert ("Ctrl-C again ends at once" in said) == (number == signal.SIGINT)
    run = settings.folder
    assert read_run_facts(run).status == "interrupted"
    assert [path.name for path in (run / "resume").iterdir()] == ["step00000004"]
    assert signal.getsignal(number) == before, "outside a run the signals do what they did"
    train_run(settings)
    assert outcome(run) == alone
    assert run_faults(run) == []


def test_a_checkpoint_gone_is_said_before_the_steps_that_are_left(settings_of, monkeypatch):
    settings = settings_of()
    with signal_in_step(monkeypatch, signal.SIGTERM), pytest.raises(Interrupted):
        train_run(settings)
    shutil.rmtree(settings.folder / "checkpoints/step00000002")
    steps = len((settings.folder / "metrics.jsonl").read_text().splitlines())
    with pytest.raises(RunError, match=r"checkpoints are missing: step00000002; train the run again in another"):
        train_run(settings)
    assert len((settings.folder / "metrics.jsonl").read_text().splitlines()) == steps


def test_a_second_signal_does_not_break_the_save(settings_of, monkeypatch):
    def saving(run, step, state, owner, *kept):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGUSR1)
        save_state(run, step, state, owner, *kept)

    monkeypatch.setattr("ucurve.training.run.saving.save_state", saving)
    settings = settings_of()
    with signal_in_step(monkeypatch, signal.SIGTERM), pytest.raises(Interrupted):
        train_run(settings)
    run = settings.folder
    state = load_file(run / "resume/step00000004/state.safetensors")
    check_state_complete(state, torch.nn.Module(), settings.optimizer, 4)
    assert not list((run / "resume").glob(".*"))


def test_a_signal_while_scoring_ends_the_scoring_and_loses_no_step(alone, settings_of, monkeypatch):
    scored = []

    def scoring(run, settings, step, group):
        scored.append(step)
        if scored == [0, 1, 2, 5]:
            os.kill(os.getpid(), signal.SIGTERM)
            raise AssertionError("the scoring goes on")

    monkeypatch.setattr("ucurve.training.evaluation.score_checkpoint", scoring)
    settings = settings_of("resume.seconds=1000", "resume.background=false")
    with pytest.raises(Interrupted, match="75"):
        train_run(settings)
    run = settings.folder
    assert find_newest_state(run, {}) == 5
    train_run(settings)
    assert scored == [0, 1, 2, 5, 12]
    assert outcome(run) == alone


@pytest.mark.parametrize(("number", "code"), [(signal.SIGUSR1, 75), (signal.SIGINT, 130)])
def test_a_signal_while_preparing_ends_at_once(settings_of, monkeypatch, capfd, number, code):
    monkeypatch.setattr(
        "ucurve.training.run.prepare.build_token_store", lambda *_, **__: os.kill(os.getpid(), number)
    )
    settings = settings_of()
    with pytest.raises(Interrupted) as raised:
        train_run(settings)
    assert raised.value.code == code
    assert f": the same command goes on; exit code {code}" in capfd.readouterr().err
    assert not settings.folder.exists()


def test_ctrl_c_while_scoring_a_finished_run_keeps_the_scores_so_far(settings_of, monkeypatch, capfd):
    monkeypatch.setattr("ucurve.training.evaluation.score_at_end", lambda *_: os.kill(os.getpid(), signal.SIGINT))
    settings = settings_of()
    with pytest.raises(Interrupted):
        train_run(settings)
    assert "stopped by Ctrl-C: scores made so far are kept, the same command goes on" in capfd.readouterr().err
    assert read_run_facts(settings.folder).status == "finished"


def ended_after(*numbers, launched=False):
    """How a process ends that gets these signals one after the other: its exit code, or minus the signal's number."""
    child = os.fork()
    if child == 0:
        with StopSignals(launched) as signals:
            for number in numbers:
                os.kill(os.getpid(), number)
            os._exit(75 if signals.requested else 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_second_ctrl_c_ends_at_once(capfd):
    assert ended_after(signal.SIGINT) == 75
    assert ended_after(signal.SIGINT, signal.SIGTERM) == 75
    assert ended_after(signal.SIGINT, signal.SIGINT) == -signal.SIGINT


def test_a_launcher_that_passes_ctrl_c_on_a_second_time_does_not_break_the_save():
    assert ended_after(signal.SIGINT, signal.SIGINT, signal.SIGTERM, launched=True) == 75


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])  # in the background, and under nohup
def test_a_signal_that_is_ignored_stays_ignored(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        assert ended_after(number) == 0
    finally:
        signal.signal(number, before)


STEPS = """
import sys, time
from ucurve.training.engine.signals import StopSignals
from ucurve.progress import ProgressBar, log_line
with StopSignals() as signals, ProgressBar("steps", 10_000) as bar:
    while not signals.requested:
        bar.advance()
        log_line("a step")
        time.sleep(0.001)
    log_line("the state is saved")
    print("saved")
    open(sys.argv[1], "w").write(signals.name)
sys.exit(75)
"""


def test_a_terminal_that_is_closed_ends_as_a_signal_and_not_as_an_error(tmp_path):
    child, terminal = pty.fork()
    if child == 0:
        os.execve(  # noqa: S606
            sys.executable,
            [sys.executable, "-c", STEPS, str(tmp_path / "said")],
            os.environ | {"PYTHONPATH": str(ROOT)},
        )
    said = b""
    while b"a step" not in said:
        said += os.read(terminal, 4096)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 75
    assert (tmp_path / "said").read_text() == "SIGHUP"


def test_a_worker_that_was_forked_dies_of_a_signal():
    with StopSignals() as signals:
        child = os.fork()
        if child == 0:
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
        assert not signals.requested


def test_an_error_that_nobody_foresaw_is_on_the_record(settings_of, monkeypatch):
    def stepping(*_):
        raise ValueError("odd")

    monkeypatch.setattr(TorchEngine, "step", stepping)
    settings = settings_of()
    with pytest.raises(ValueError, match="odd"):
        train_run(settings)
    record = read_run_facts(settings.folder)
    assert (record.status, record.error) == ("failed", "ValueError: odd")


@pytest.fixture
def cut(settings_of, monkeypatch):
    """A run that was stopped after step 6, with the states after steps 5 and 6."""
    settings = settings_of("resume.seconds=0")
    with signal_in_step(monkeypatch, signal.SIGTERM, 6), pytest.raises(Interrupted):
        train_run(settings)
    assert sorted(path.name for path in (settings.folder / "resume").iterdir()) == [
        "step00000005",
        "step00000006",
    ]
    return settings


def torn(state):
    file = state / "state.safetensors"
    file.write_bytes(file.read_bytes()[:-9])


def flipped(state):
    whole = bytearray((state / "state.safetensors").read_bytes())
    whole[-1] ^= 1
    (state / "state.safetensors").write_bytes(whole)


def without(name):
    return lambda state: (state / name).unlink()


@pytest.mark.parametrize("damage", [torn, flipped, without("state.safetensors"), without("state.json")])
@pytest.mark.long
def test_a_damaged_state_is_named_and_the_one_before_it_used(alone, cut, capsys, damage):
    run = cut.folder
    damage(run / "resume/step00000006")
    train_run(cut)
    said = capsys.readouterr().err
    assert "step00000006 is damaged; going on from an older state" in said
    assert "going on after step 5" in said
    assert outcome(run) == alone


@pytest.mark.long
def test_without_a_whole_state_a_run_begins_anew_and_says_so(alone, cut, capsys):
    run = cut.folder
    for state in (run / "resume").iterdir():
        torn(state)
    train_run(cut)
    said = capsys.readouterr().err
    assert said.count("is damaged") == 2
    assert said.count("beginning again at step 0") == 1
    assert outcome(run) == alone


def test_a_run_that_was_killed_before_a_state_was_saved_says_that_it_begins_again(
    settings_of, monkeypatch, capsys
):
    settings = settings_of()
    with signal_in_step(monkeypatch, signal.SIGTERM, 6), pytest.raises(Interrupted):
        train_run(settings)
    shutil.rmtree(settings.folder / "resume")
    assert "beginning again" not in capsys.readouterr().err
    train_run(settings)
    said = capsys.readouterr().err
    assert f"{settings.folder.name}: beginning again at step 0, as no state was saved before the end" in said


def test_a_kill_during_the_save_leaves_the_state_before(alone, cut, monkeypatch):
    class Killed(BaseException):
        """Stands for SIGKILL: nothing of ours runs after it."""

    def killed(tensors, path):
        Path(path).write_bytes(b"half")
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("safetensors.torch.save_file", killed)
        patch.setattr("ucurve.storage.files.shutil.rmtree", lambda *_, **__: None)
        with pytest.raises(Killed):
            train_run(cut)
    run = cut.folder
    assert len(list((run / "resume").glob(".*"))) == 1
    train_run(cut)
    assert outcome(run) == alone
    assert not list((run / "resume").glob(".*"))


def test_a_disk_that_is_full_when_a_state_is_saved_is_one_error(alone, cut, monkeypatch):
    def full(tensors, path):
        Path(path).write_bytes(b"half")
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    run = cut.folder
    with monkeypatch.context() as patch:
        patch.setattr("safetensors.torch.save_file", full)
        with pytest.raises(RunError, match=r"No space left on device; the newest whole state is kept in resume/"):
            train_run(cut)
    assert read_run_facts(run).status == "failed"
    assert find_newest_state(run, {}) == 6
    train_run(cut)
    assert outcome(run) == alone


def test_a_state_without_moments_is_never_gone_on_from(cut):
    run = cut.folder
    state = load_state(run, 6)
    weights = {name: value for name, value in state.items() if not name.startswith("optimizer/")}
    owner = {
        key: json.loads((run / "resume/step00000006/state.json").read_text())[key]
        for key in ("config_sha256", "data_sha256")
    }
    save_state(run, 6, weights, owner)
    with pytest.raises(RunError, match=r"the state after step 6 lacks \d+ of \d+ parts, as optimizer/exp_avg/"):
        train_run(cut)


def test_logits_that_differ_from_the_live_models_stop_the_run(settings_of, monkeypatch):
    from transformers import GPTNeoXForCausalLM

    real = GPTNeoXForCausalLM.from_pretrained

    def other(*given, **named):
        model, report = real(*given, **named)
        model.base_model.rotary_emb.inv_freq *= 1.1  # which is not saved
        return model, report

    monkeypatch.setattr("transformers.GPTNeoXForCausalLM.from_pretrained", other)
    with pytest.raises(RunError, match=r"logits of the checkpoint read back differ from the live model's by"):
        train_run(settings_of())


def test_several_processes_are_refused_where_they_cannot_share(settings_of, monkeypatch):
    launcher = {"RANK": "0", "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    for name, value in launcher.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(
        UserError, match=r"batch\.sequences=8 cannot be shared by 3 processes; take a multiple of 3"
    ):
        train_run(settings_of())
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(
        UserError, match=r"engine\.zero_stage=1: the package deepspeed is not installed; .* on Linux"
    ):
        train_run(settings_of("engine.zero_stage=1"))
    with pytest.raises(UserError, match=r"engine=deepspeed: the package deepspeed is not installed"):
        train_run(settings_of("engine=deepspeed"))
    monkeypatch.delenv("MASTER_PORT")
    with pytest.raises(UserError, match=r"WORLD_SIZE=3 is set and MASTER_PORT not"):
        train_run(settings_of())
