"""The part of a run in which it trains: engine, resume state, metrics, checkpoints, scores."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from transformers import GPTNeoXForCausalLM

from train import hooks
from train.checkpoint import faults, holds_weights, write_checkpoint
from train.engine import Engine, require_complete
from train.engine_choice import make_engine
from train.loop import Callbacks, run_steps
from train.model import build_model, parameters_by_group
from train.plan import Plan
from train.prepared import Prepared
from train.processes import Processes
from train.records import MetricsLog, RunRecord
from train.resume import load_state, metrics_sha256, newest_state, save_state
from train.stopping import Interrupted, StopSignals
from train.tracking import Tracker, make_tracker
from ucurve.config import plain
from ucurve.errors import RunError
from ucurve.files import sha256_file
from ucurve.progress import ProgressBar, say
from ucurve.run_folder import MANIFEST, METRICS, METRICS_SHA256, checkpoint_folder, read_manifest


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
