"""Trains a prepared run: one optimizer step after another, checkpoints on schedule, resume states, scores."""

import contextlib
import math
import statistics
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel

from ucurve.errors import RunError
from ucurve.progress import ProgressBar, log_line
from ucurve.storage.facts import FullStart, RunFacts, own_faults, read_manifest
from ucurve.storage.faults import file_faults, refuse_faults
from ucurve.storage.run_folder import HELD_OUT, MANIFEST, METRICS, checkpoint_folder
from ucurve.token_stream.order import Batches
from ucurve.training import evaluation
from ucurve.training.config import RunSettings
from ucurve.training.data.prefetch import Prefetcher
from ucurve.training.engine.engine import DivergedError, Engine, StepResult
from ucurve.training.engine.execution import Execution
from ucurve.training.engine.optimizers import check_state_complete
from ucurve.training.engine.signals import Interrupted, StopSignals
from ucurve.training.model.design import NOT_PREDICTED
from ucurve.training.model.library import parameters_by_group
from ucurve.training.model.precision import device_peak
from ucurve.training.model.view import allow_both_sides, separate_documents
from ucurve.training.plan import Plan
from ucurve.training.run.group import score_in_all
from ucurve.training.run.held_out import HeldOutLog
from ucurve.training.run.prepare import PreparedRun
from ucurve.training.run.saving import HostCopy, Saver
from ucurve.training.run.tracking import start_tracker, track_checkpoint
from ucurve.training.run_folder.checkpoint import take_weights
from ucurve.training.run_folder.records import MetricsLog, RunRecord
from ucurve.training.run_folder.resume import find_newest_state, load_state, metrics_sha256

_RECENT_STEPS = 101  # by which the time of a step is judged
_ABOVE_CHANCE = 0.4  # nats of the first loss that are worth a message; of `tiny` it is about 0.25 above chance


class Flags(NamedTuple):
    """What the processes of a run, or one of several, have to say at a step."""

    state_due: bool
    stop: bool  # a signal has come
    writing: bool  # in the background


class Trainer:
    """Trains one run, from its newest resume state if it was interrupted. Only rank 0 writes."""

    def __init__(self, run: PreparedRun, execution: Execution, signals: StopSignals, record: RunRecord) -> None:
        self._run, self._signals, self._record = run, signals, record
        self._plan, self._settings, self._processes = run.plan, run.plan.settings, execution.processes
        model = build_model(self._settings, self._plan.vocabulary, run.document_token, execution.device)
        assert parameters_by_group(model) == self._plan.parameters, "the plan counts other parameters"
        if self._settings.start is not None:
            take_weights(Path(self._settings.start).expanduser(), model)
        beside = self._processes.is_rank0 and self._settings.resume.background
        self._copied = HostCopy(model) if beside else None
        self._engine: Engine = execution.build_engine(self._settings, model)
        self._held_out = HeldOutLog(run, record, execution.device, self._processes)
        self._peak = device_peak(execution.device, self._settings.engine.precision)

    def train(self) -> None:
        """Take the steps that are left.

        Raises:
            DivergedError: when a loss is not finite, with the state of the last good step saved.
            Interrupted: on a signal or Ctrl-C, with the state of the last step saved.
            RunError: when the run cannot continue.
        """
        scheduled, kept = set(self._plan.checkpoint_steps), set(self._settings.kept_steps)
        done = self._restore()
        self._processes.run_on_rank0(lambda: self._record.begin(done))
        with (
            StepLog(self._run, done, self._share_of_peak())
            if self._processes.is_rank0
            else contextlib.nullcontext() as log,
            Prefetcher(
                self._run.batches,
                self._engine.place,
                self._plan.steps,
                self._processes.share,
                reads_all=self._processes.is_rank0,  # it counts the bytes of the batch
            ) as batches,
            Saver(
                self._run,
                self._engine,
                self._processes,
                self._copied,
                lambda step: self._use_checkpoint(step, log),
            ) as saver,
        ):
            if done == 0:
                saver.save_checkpoint(0)
            for step in range(done + 1, self._plan.steps + 1):
                result = self._take_step(step, batches, saver, log)
                if step in scheduled:
                    saver.save_checkpoint(step)
                if not self._flags_after(result, saver).writing:
                    saver.use_written()
                # Asked again, because scoring a checkpoint takes long and a signal may have come meanwhile.
                flags = self._flags_after(result, saver)
                if flags.state_due or flags.stop or step in kept:
                    saver.save_state(step, None if log is None else log.metrics)
                # After the last step nothing is left to interrupt, and the run is finished as usual.
                if flags.stop and step < self._plan.steps:
                    saver.wait()
                    (by_hand,) = self._processes.any_rank(self._signals.by_hand)
                    note = f"the state after step {step} is kept, the same command goes on"
                    raise self._signals.interruption(note, by_hand)
            saver.wait()
            self._processes.run_on_rank0(lambda: self._finish(log))

    def _take_step(self, step: int, batches: Prefetcher, saver: Saver, log: "StepLog | None") -> StepResult:
        """Take one step of the optimizer and write its line; where it diverges, save the state before it."""
        started = time.monotonic()
        windows, share = batches.of_step(step)
        rate = self._plan.learning_rate(step)
        try:
            result = self._engine.step(share, rate, step, lambda: self._flags(saver))
        except DivergedError:
            # The weights are still those of the step before; see ``DivergedError``.
            saver.save_state(step - 1, None if log is None else log.metrics)
            saver.wait()
            raise
        if log is not None:
            log.write(step, windows, result, rate, time.monotonic() - started)
        return result

    def _flags(self, saver: Saver) -> Flags:
        return Flags(saver.state_due, self._signals.requested, saver.busy)

    def _flags_after(self, result: StepResult, saver: Saver) -> Flags:
        """Return the flags of now; several processes, which must act alike, have those that the step shared."""
        return self._flags(saver) if self._processes.size == 1 else Flags(*result.flags)

    def _share_of_peak(self) -> float | None:
        """Return the share of the devices' peak (MFU) that one token a second is; None where the peak is not known."""
        if self._peak is None:
            return None
        log_line(
            f"{self._run.folder.name}: mfu is of {self._peak / 1e12:g} TFLOP/s on each device, by NVIDIA's data sheet"
        )
        return self._plan.flops_exact(self._plan.tokens) / self._plan.tokens / (self._peak * self._processes.size)

    def _restore(self) -> int:
        """Load the newest whole resume state and return its step; without one 0, with that of ``start_with=state``."""
        step = self._processes.run_on_rank0(lambda: find_newest_state(self._run.folder, self._run.owner))
        if step is None:
            if self._processes.is_rank0 and self._record.before is not None and self._plan.parent is None:
                log_line(
                    f"{self._run.folder.name}: beginning again at step 0, as no state was saved before the end"
                )
            start = self._settings.started_from
            if isinstance(start, FullStart):
                self._load_state(self._settings.start_run, start.step)
            return 0
        # Before the steps that are left, which may take days.
        self._processes.run_on_rank0(lambda: check_checkpoints(self._run.folder, self._plan, step))
        self._load_state(self._run.folder, step)
        if self._processes.is_rank0:
            log_line(f"{self._run.folder.name}: going on after step {step}")
        return step

    def _load_state(self, run: Path, step: int) -> None:
        def load() -> None:
            state = load_state(run, step)
            check_state_complete(state, self._engine.model, self._settings.optimizer, step)
            self._engine.load(state)

        self._processes.run_on_all(load)

    def _use_checkpoint(self, step: int, log: "StepLog | None") -> None:
        """Measure the held-out loss of a checkpoint that is whole on disk, score it, and send both to the tracker."""
        held_out: dict[str, float] = {}
        (stop,) = self._processes.any_rank(self._signals.requested)
        # Else the state comes first; the next checkpoint adds a missing line.
        if not stop or step == self._plan.steps:
            held_out = self._held_out.measure(step)
        folder, settings = self._run.folder, self._settings.eval
        # The loop saves the state before it stops; scores that are missing are made when the run has finished.
        with contextlib.suppress(Interrupted):
            score_in_all(
                self._processes,
                self._signals,
                lambda group: evaluation.score_checkpoint(folder, settings, step, group),
            )
        if log is not None:
            log.pace.count_checkpoint()
            if log.tracker is not None:
                track_checkpoint(log.tracker, folder, step, held_out)

    def _finish(self, log: "StepLog | None") -> None:
        assert log is not None, "rank 0 has the log"
        check_checkpoints(self._run.folder, self._plan, self._plan.steps)
        log.metrics.sync()
        self._record.write("finished", steps=self._plan.steps, metrics_sha256=log.metrics.sha256)


class Pace:
    """What the steps and the checkpoints of a run took so far, each by its median, and how long those left will take.

    The time of a checkpoint is that of writing and scoring it. In a logarithmic schedule most of them come early.
    """

    def __init__(self, steps: int, checkpoints: int) -> None:
        self._steps, self._checkpoints = steps, checkpoints  # which are left
        self._of_steps: deque[float] = deque(maxlen=_RECENT_STEPS)
        self._of_checkpoints: list[float] = []
        self._new_checkpoints = 0  # since the last step
        self._last_step = time.monotonic()

    def count_checkpoint(self) -> None:
        """Count a checkpoint that is written and scored."""
        self._new_checkpoints += 1

    def count_step(self, seconds: float) -> None:
        """Count a step that is done and took ``seconds`` by itself."""
        now = time.monotonic()
        passed = now - self._last_step
        if self._new_checkpoints:
            self._of_checkpoints.append((passed - seconds) / self._new_checkpoints)
        # Without a checkpoint in between, the time since the last step counts, with that of saving states.
        self._of_steps.append(seconds if self._new_checkpoints else passed)
        self._steps -= 1
        self._checkpoints -= self._new_checkpoints
        self._new_checkpoints, self._last_step = 0, now

    @property
    def seconds_left(self) -> float:
        """Seconds that the steps and checkpoints which are left will take."""
        left = ((self._steps, self._of_steps), (self._checkpoints, self._of_checkpoints))
        return sum(count * statistics.median(seconds) for count, seconds in left if seconds)


class StepLog:
    """Where the numbers of every step go: ``metrics.jsonl``, the experiment tracker and the progress bar."""

    def __init__(self, run: PreparedRun, done: int, share_of_peak: float | None = None) -> None:
        settings, folder = run.plan.settings, run.folder
        self.metrics = MetricsLog(folder / METRICS, done, metrics_sha256(folder, done))
        self._batches, self._batch_tokens = run.batches, settings.batch.tokens
        self.tracker = start_tracker(settings, folder)
        self._predicts_next = settings.objective.predicts_next
        self._share_of_peak, self._chance = share_of_peak, math.log(run.plan.vocabulary)
        self._bar = ProgressBar(settings.run_name, run.plan.steps, done)
        self.pace = Pace(run.plan.steps - done, sum(step >= done for step in run.plan.checkpoint_steps))

    def __enter__(self) -> "StepLog":
        self._bar.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.__exit__(*error)
        with contextlib.suppress(OSError):  # a full disk must not keep the tracker from being closed
            self.metrics.close()
        if self.tracker is not None:
            self.tracker.finish(failed=error[0] is not None)

    def write(
        self, step: int, windows: NDArray[np.int64], result: StepResult, rate: float, seconds: float
    ) -> None:
        """Write the line of one step on a global batch, of the shape that ``Engine`` says."""
        self.pace.count_step(seconds)
        tokens = self._batch_tokens
        values: dict[str, float] = {"step": step, "tokens": step * tokens}
        if isinstance(self._batches, Batches):
            # These are the nats of one bit per byte of this batch.
            nats_of_a_bit = math.log(2) * self._batches.count_bytes(step, windows)
            loss = values["loss"] = result.loss_sum / tokens  # nats per token
            values["bits_per_byte"] = (result.loss_sum - result.separator_loss) / nats_of_a_bit
            values["separator_bits"] = result.separator_loss / nats_of_a_bit
        else:
            name = "loss" if self._predicts_next else "masked_loss"
            loss = values[name] = result.loss_sum / max(1, (windows[:, 1] != NOT_PREDICTED).sum())
        if step == 1 and loss > self._chance + _ABOVE_CHANCE:
            log_line(
                f"the first loss is {loss:.2f} nats, that of a uniform guess {self._chance:.2f}: the first weights are "
                "large for this shape; model.config.initializer_range makes them smaller, where there is such a key"
            )
        values |= {"lr": rate, "grad_norm": result.grad_norm, "tokens_per_second": tokens / seconds}
        note = f"loss {loss:.3f}, {values['tokens_per_second']:.0f} tokens/s"
        if self._share_of_peak is not None:
            values["mfu"] = values["tokens_per_second"] * self._share_of_peak
            note += f", {values['mfu']:.0%} of the peak"
        self.metrics.append(values)
        if self.tracker is not None:
            self.tracker.log_step(step, values)
        self._bar.advance(note=note, seconds_left=self.pace.seconds_left)


def build_model(
    settings: RunSettings, vocabulary: int, document_token: int, device: torch.device | None = None
) -> PreTrainedModel:
    """Build the model of a run with random first weights; of a sequence it sees what the settings say."""
    design, length = settings.model.design, settings.batch.length
    model = design.build_model(vocabulary, length, document_token, settings.seeds.init, device)
    if settings.objective.kind == "mntp":
        model.config.masked_objective = "mntp"  # by which scoring knows it
    if settings.data.attention == "document":
        separate_documents(model, length)
    if settings.objective.kind == "hybrid":
        allow_both_sides(model, design.architecture, length)
    return model


def check_logs(run: Path, facts: RunFacts) -> None:
    """Compare the metrics and the held-out losses of a finished run with the hashes in ``run.json``.

    Raises:
        DamagedError: naming those that are not what was written.
    """
    faults = file_faults({run / METRICS: facts.metrics_sha256}) + own_faults(run, facts, [HELD_OUT])
    refuse_faults(faults, "restore it from a copy")


def check_checkpoints(run: Path, plan: Plan, up_to: int) -> None:
    """Check that every checkpoint up to a step that was reached is there; they cannot be trained again.

    Raises:
        RunError: naming the checkpoints that are missing.
        DamagedError: naming a manifest that is not what was written.
    """
    folders = [checkpoint_folder(run, step) for step in plan.checkpoint_steps if step <= up_to]
    missing = [folder.name for folder in folders if not (folder / MANIFEST).exists()]
    if missing:
        raise RunError(
            f"{run}: checkpoints are missing: {', '.join(missing)}; train the run again in another folder"
        )
    for folder in folders:
        read_manifest(folder)
