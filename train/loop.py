"""The training loop: batches in the order of the data, one optimizer step each, checkpoints on schedule."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from train.engine import DivergedError, Engine, StepResult
from train.learning_rate import learning_rate
from train.order import DataOrder
from train.plan import Plan
from train.tokens import TokenStore


@dataclass(frozen=True)
class Batches:
    """The global batches of a run, each found from its step number alone."""

    store: TokenStore
    order: DataOrder
    sequences: int

    def of_step(self, step: int) -> NDArray[np.int64]:
        """Return the windows of 1-based ``step``, shape [sequences, length + 1]: inputs and their last target."""
        return self.store.windows(self.order.batch(step - 1, self.sequences), self.order.length + 1)


@dataclass(frozen=True)
class Callbacks:
    """What the loop calls.

    Attributes:
        on_step: after every step, with its metrics.
        on_checkpoint: at every scheduled step.
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
        callbacks: what to call.

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
