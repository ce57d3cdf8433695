"""Resume states and checkpoints of a run, written by one thread beside the training from a copy in host memory."""

import copy
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Self

import torch
from transformers import PreTrainedModel

from ucurve.progress import log_line
from ucurve.storage.run_folder import checkpoint_folder
from ucurve.training.engine.engine import Engine
from ucurve.training.engine.processes import Processes
from ucurve.training.run.prepare import PreparedRun
from ucurve.training.run_folder.checkpoint import compare_logits, find_faults, holds_weights, write_checkpoint
from ucurve.training.run_folder.resume import save_state

if TYPE_CHECKING:
    from ucurve.training.run_folder.records import MetricsLog

_FIRST = 120.0  # seconds until the first state, whose cost is not known
_LEAST = 10.0  # seconds between two states, however little they cost
_SHARE = 0.02  # of the time that goes into states, at most


class Saver:
    """Writes states and checkpoints in rank 0, beside the training; every process calls every method at the same steps.

    A thread writes copies; its errors are raised in every process by the next method. ``use_checkpoint`` is called in
    every process with the step of a checkpoint that is whole.

    What the thread writes is a copy, so that training may change the weights meanwhile. Without a place for copies all
    is written at once.
    """

    def __init__(
        self,
        run: PreparedRun,
        engine: Engine,
        processes: Processes,
        copied: "HostCopy | None",
        use_checkpoint: Callable[[int], None],
    ) -> None:
        self._run, self._engine, self._processes = run, engine, processes
        self._copied, self._use_checkpoint = copied, use_checkpoint
        self._writer = BackgroundWriter(enabled=copied is not None)
        self._writing = False
        self._unused: int | None = None  # step of the checkpoint that is not known to be whole
        self._logits_compared = False
        self._due = StateClock(run.plan.settings.resume.seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.__exit__()

    @property
    def state_due(self) -> bool:
        """Whether it is time for a state; rank 0 knows."""
        return self._processes.is_rank0 and self._due.passed

    def wait(self) -> None:
        """Wait until everything is written, and use the checkpoint that is then whole; raise the writer's error."""
        if self._writing:
            self._processes.run_on_rank0(self._writer.wait)
        step, self._unused, self._writing = self._unused, None, False
        if step is not None:
            self._use_checkpoint(step)

    @property
    def busy(self) -> bool:
        """Whether this process is writing something."""
        return not self._writer.idle

    def use_written(self) -> None:
        """Use a checkpoint that no process is writing any more."""
        if self._writing:
            self.wait()

    def save_state(self, step: int, metrics: "MetricsLog | None") -> None:
        """Save the state after ``step``, which is the current one; rank 0 has the lines of the steps so far."""
        self.wait()
        began = time.monotonic()
        state = self._engine.state()  # gathered from all processes
        self._processes.run_on_rank0(lambda: self._start_state(step, state, metrics, began))
        self._writing = True

    def save_checkpoint(self, step: int) -> None:
        """Write the checkpoint of ``step``, which is the current one."""
        self.wait()

        def start() -> None:
            model = self._engine.model
            held = model if self._copied is None else self._copied.take_weights(model)
            self._writer.start(lambda: self._write_checkpoint(step, held))

        self._processes.run_on_rank0(start)
        self._writing, self._unused = True, step

    def _start_state(
        self, step: int, state: dict[str, torch.Tensor], metrics: "MetricsLog | None", began: float
    ) -> None:
        """Copy the state and let it be written beside the training; rank 0 alone calls this."""
        assert metrics is not None, "rank 0 has the lines"
        # The hash is taken now, because the next steps add lines while the state is written.
        owner = self._run.owner | {"metrics_sha256": metrics.sha256}
        held = state if self._copied is None else self._copied.take_state(state)

        def write() -> None:
            metrics.sync()  # a state must not be newer than the lines of the steps before it
            save_state(self._run.folder, step, held, owner, self._run.plan.settings.kept_steps)
            self._due.cost = time.monotonic() - began

        self._writer.start(write)
        self._due.restart()

    def _write_checkpoint(self, step: int, model: PreTrainedModel) -> None:
        """Write a checkpoint, unless a resumed run finds it whole and with the same weights."""
        run = self._run
        folder = checkpoint_folder(run.folder, step)
        if folder.exists():
            if not find_faults(folder) and holds_weights(folder, model):
                return
            log_line(f"{folder} is incomplete or has other weights than this run computes; it is rewritten")
        facts = run.plan.describe_checkpoint(step, run.store.sha256, run.store.length)
        write_checkpoint(run.folder, model, run.tokenizer, facts)
        # Once: the bytes of each are compared, and all are written by the same export.
        if not self._logits_compared:
            compare_logits(folder, model)
            self._logits_compared = True


class StateClock:
    """When the next state is due: without a given interval, when fifty times the cost of the last one has passed.

    States then cost at most 2 % of the time.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self.cost: float | None = None  # seconds of copying and writing, as if training stopped meanwhile
        self.restart()

    def restart(self) -> None:
        """Count from now."""
        self._from = time.monotonic()

    @property
    def passed(self) -> bool:
        """Whether the interval has passed."""
        return time.monotonic() - self._from >= self.interval

    @property
    def interval(self) -> float:
        """Seconds between two states."""
        if self._seconds is not None:
            return self._seconds
        return _FIRST if self.cost is None else max(_LEAST, self.cost / _SHARE)


class BackgroundWriter:
    """Does one piece of work at a time in a thread, or at once if it is not ``enabled``; the end waits for it."""

    def __init__(self, enabled: bool) -> None:
        self._threads = ThreadPoolExecutor(1, "writer") if enabled else None
        self._work: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._threads is not None:
            self._threads.shutdown()

    def start(self, work: Callable[[], None]) -> None:
        """Start a piece of work. ``wait`` was called since the one before was started."""
        assert self._work is None, "what failed before must be known before more is written"
        if self._threads is not None:
            self._work = self._threads.submit(work)
        else:
            work()

    def wait(self) -> None:
        """Wait for the work that was started, and raise its error."""
        work, self._work = self._work, None
        if work is not None:
            work.result()

    @property
    def idle(self) -> bool:
        """Whether no work goes on."""
        return self._work is None or self._work.done()


class HostCopy:
    """The weights and the optimizer's state of one moment, which stay as they are, pinned, while training goes on."""

    def __init__(self, model: "PreTrainedModel") -> None:
        import torch

        held = {one: _pinned(torch.empty_like(one, device="cpu")) for one in model.parameters()}
        # With the memo, ``deepcopy`` takes these parameters and copies none of those on the device.
        memo = {id(one): torch.nn.Parameter(values, one.requires_grad) for one, values in held.items()}
        self.model: PreTrainedModel = copy.deepcopy(model, memo)
        torch.nn.Module.to(self.model, "cpu")  # the buffers, which are not in the memo
        self._held = {f"weights/{name}": parameter.data for name, parameter in self.model.named_parameters()}

    def take_weights(self, model: "PreTrainedModel") -> "PreTrainedModel":
        """Copy the weights of a model of the same kind; return the copy."""
        self.take_state({f"weights/{name}": parameter.data for name, parameter in model.named_parameters()})
        return self.model

    def take_state(self, state: "Mapping[str, torch.Tensor]") -> "dict[str, torch.Tensor]":
        """Copy a state of an engine (``Engine.state``); return the copies by the same names."""
        import torch

        for name, value in state.items():
            if name not in self._held:
                self._held[name] = _pinned(torch.empty_like(value, device="cpu"))
            self._held[name].copy_(value, non_blocking=True)
        # The thread that writes reads host memory, and the copies may still be on their way to it.
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return {name: self._held[name] for name in state}


def _pinned(tensor: "torch.Tensor") -> "torch.Tensor":
    import torch

    return tensor.pin_memory() if torch.cuda.is_available() else tensor
