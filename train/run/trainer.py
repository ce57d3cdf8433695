"""The part of a run in which it trains: one optimizer step after another, checkpoints on schedule, scores."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import GPTNeoXForCausalLM

from train import evaluation as hooks
from train.data.order import Batches
from train.data.store import TokenStore
from train.engine.choice import make_engine
from train.engine.engine import DivergedError, Engine, StepResult, require_complete
from train.engine.processes import Processes
from train.engine.signals import Interrupted, StopSignals
from train.model.neox import build_model, parameters_by_group
from train.optim import learning_rate
from train.plan import Plan
from train.run.prepared import Prepared
from train.run.tracking import Tracker, make_tracker
from train.run_folder.checkpoint import faults, holds_weights, write_checkpoint
from train.run_folder.records import MetricsLog, RunRecord
from train.run_folder.resume import load_state, metrics_sha256, newest_state, save_state
from ucurve.config import plain
from ucurve.errors import RunError
from ucurve.progress import ProgressBar, say
from ucurve.storage.files import sha256_file
from ucurve.storage.run_folder import MANIFEST, METRICS, METRICS_SHA256, checkpoint_folder, read_manifest


class Training:
    """Trains one run, from its newest state if it was cut off. The first process alone writes."""

    def __init__(self, prepared: Prepared, processes: Processes, signals: StopSignals, record: RunRecord) -> None:
        self._prepared, self._processes, self._signals, self._record = prepared, processes, signals, record
        self._engine: Engine = _build_engine(prepared, processes)

    def run(self) -> None:
        """Train to the end of the plan.

        Raises:
            Interrupted: on a signal or Ctrl-C, with the state of the last step saved.
            RunError: when the run cannot go on.
        """
        done = self._restore()
        self._processes.on_first(lambda: self._record.begin(done))
        with self._logs(done) as on_step:
            self._take_steps(done, on_step)
            self._processes.on_first(self._finish)

    def _take_steps(self, done: int, on_step: Callable[[dict[str, float]], None]) -> None:
        plan = self._prepared.plan
        callbacks = Callbacks(on_step, self._checkpoint, self._save, self._poll)
        last = run_steps(self._engine, self._prepared.batches, plan, done, callbacks)
        if last < plan.steps:
            (by_hand,) = self._processes.any(self._signals.by_hand)
            raise self._signals.interruption(f"the state after step {last} is kept, the same command goes on", by_hand)

    def _finish(self) -> None:
        require_checkpoints(self._prepared.folder, self._prepared.plan)
        self._metrics.sync()
        self._record.write("finished", steps=self._prepared.plan.steps, **{METRICS_SHA256: self._metrics.sha256})

    def _restore(self) -> int:
        """Take up the newest whole state that the first process finds, and return its step; 0 where there is none."""
        prepared, processes = self._prepared, self._processes
        step = processes.on_first(lambda: newest_state(prepared.folder, prepared.owner))
        if step is None:
            return 0
        processes.together(lambda: self._load(step))
        if processes.is_first:
            say(f"{prepared.folder.name}: going on after step {step}")
        return step

    def _load(self, step: int) -> None:
        state = load_state(self._prepared.folder, step)
        require_complete(state, self._engine.model, step)
        self._engine.load(state)

    @contextlib.contextmanager
    def _logs(self, done: int) -> Iterator[Callable[[dict[str, float]], None]]:
        """Open what the numbers of every step go to, in the first process; the tracker learns whether all went well."""
        if not self._processes.is_first:
            yield lambda _: None
            return
        settings, run = self._prepared.settings, self._prepared.folder
        self._metrics = MetricsLog(run / METRICS, done, metrics_sha256(run, done))
        tracker = make_tracker(settings, run, plain(asdict(settings)))
        exit_code = 1
        try:
            with ProgressBar(settings.run_name, self._prepared.plan.steps, done) as bar:
                yield lambda values: _log(values, self._metrics, tracker, bar)
            exit_code = 0
        finally:
            with contextlib.suppress(OSError):  # a full disk must not keep the tracker from being closed
                self._metrics.close()
            tracker.finish(exit_code)

    def _checkpoint(self, step: int) -> None:
        model = self._engine.export()
        self._processes.on_first(lambda: self._write_and_score(step, model))

    def _write_and_score(self, step: int, model: GPTNeoXForCausalLM) -> None:
        """Write a checkpoint, unless one is there whole and with the same weights, and score it.

        A run that goes on finds it from before it was cut off. A signal ends the scoring; the loop, which asks after
        every step whether one came, then saves the state and stops. At the end all missing scores are made.
        """
        prepared = self._prepared
        folder = checkpoint_folder(prepared.folder, step)
        if not (folder.exists() and not faults(folder) and holds_weights(folder, model)):
            if folder.exists():
                say(f"{folder} is not what this run computes; it is written anew")
            facts = prepared.plan.facts(step, prepared.store.sha256, prepared.store.length)
            write_checkpoint(prepared.folder, model, prepared.tokenizer, facts, live=self._engine.model)
        with contextlib.suppress(Interrupted), self._signals.at_once():
            hooks.score_checkpoint(prepared.folder, prepared.settings.eval, step)

    def _save(self, step: int) -> None:
        state = self._engine.state()
        self._processes.on_first(lambda: self._write_state(step, state))

    def _write_state(self, step: int, state: dict[str, torch.Tensor]) -> None:
        self._metrics.sync()  # a state must not outlive the lines of the steps before it
        owner = self._prepared.owner | {METRICS_SHA256: self._metrics.sha256}
        save_state(self._prepared.folder, step, state, owner)

    def _poll(self, due: bool) -> tuple[bool, bool]:
        save, stop = self._processes.any(due and self._processes.is_first, self._signals.requested)
        return save, stop


def require_metrics(run: Path, record: dict[str, Any]) -> None:
    """Stop where the metrics of a finished run are not those that were written, if its record says which.

    Raises:
        RunError: naming the file.
    """
    path = run / METRICS
    if METRICS_SHA256 in record and not (path.is_file() and sha256_file(path) == record[METRICS_SHA256]):
        raise RunError(f"{path}: not what was written; restore it from a copy")


def require_checkpoints(run: Path, plan: Plan) -> None:
    """Stop where a checkpoint of a finished run is gone: the steps before the resume state cannot be taken again.

    Raises:
        RunError: naming the checkpoints.
        DamagedError: naming a manifest that is not what was written.
    """
    folders = [checkpoint_folder(run, step) for step in plan.checkpoint_steps]
    missing = [folder.name for folder in folders if not (folder / MANIFEST).exists()]
    if missing:
        raise RunError(f"{run}: checkpoints are missing: {', '.join(missing)}; train the run anew in another folder")
    for folder in folders:
        read_manifest(folder)


def _build_engine(prepared: Prepared, processes: Processes) -> Engine:
    settings, plan = prepared.settings, prepared.plan
    model = build_model(
        settings.model.shape, plan.vocabulary, settings.batch.length, prepared.document_token, settings.seeds.init
    )
    assert parameters_by_group(model) == plan.parameters, "the formula for parameters does not fit the model"
    return make_engine(settings, processes, model)


def _log(values: dict[str, float], metrics: MetricsLog, tracker: Tracker, bar: ProgressBar) -> None:
    metrics.append(values)
    tracker.log(values, step=int(values["step"]))
    bar.advance(note=f"loss {values['loss']:.3f}, {values['tokens_per_second']:.0f} tokens/s")


@dataclass(frozen=True)
class Callbacks:
    """What the loop calls.

    Attributes:
        on_step: after every step, with its metrics.
        on_state: when a state is to be saved.
        poll: after every step, with whether a state is due by this process's clock; returns, the same in all
            processes, whether to save one and whether to stop.
    """

    on_step: Callable[[dict[str, float]], None]
    on_checkpoint: Callable[[int], None]
    on_state: Callable[[int], None]
    poll: Callable[[bool], tuple[bool, bool]] = lambda due: (due, False)


def run_steps(engine: Engine, batches: Batches, plan: Plan, done: int, callbacks: Callbacks) -> int:
    """Take the steps after ``done`` up to the end of the plan, or until ``poll`` says to stop.

    Args:
        engine: holds the state after step ``done``.
        batches: where each step's batch comes from.
        plan: steps and checkpoints.
        done: optimizer steps already taken; 0 also writes the checkpoint of the untrained model.

    Returns:
        The last step taken; the state after it was handed to ``on_state`` if it is not the last of the plan.

    Raises:
        DivergedError: when a loss is not finite; the state of the last good step is handed to ``on_state`` first.
    """
    scheduled = set(plan.checkpoint_steps)
    saved_at = time.monotonic()
    if done == 0:
        callbacks.on_checkpoint(0)
    for step in range(done + 1, plan.steps + 1):
        started = time.monotonic()
        windows = batches.of_step(step)
        rate = learning_rate(plan.settings.optimizer, step, plan.steps)
        try:
            result = engine.step(windows, rate, step)
        except DivergedError:
            callbacks.on_state(step - 1)
            raise
        seconds = time.monotonic() - started
        callbacks.on_step(_metrics(result, windows, batches.store, step, rate, seconds))
        if step in scheduled:
            callbacks.on_checkpoint(step)
        save, stop = callbacks.poll(time.monotonic() - saved_at >= plan.settings.resume.seconds)
        if save or stop:
            callbacks.on_state(step)
            saved_at = time.monotonic()
        if stop:
            return step
    return plan.steps


def _metrics(
    result: StepResult, windows: NDArray[np.int64], store: TokenStore, step: int, rate: float, seconds: float
) -> dict[str, float]:
    targets = windows[:, 1:]
    text_bytes = int(store.token_bytes[targets].sum())
    return {
        "step": step,
        "tokens": step * targets.size,
        "loss": result.loss_sum / targets.size,
        "bits_per_byte": result.loss_sum / math.log(2) / text_bytes,
        "lr": rate,
        "grad_norm": result.grad_norm,
        "tokens_per_second": targets.size / seconds,
    }
