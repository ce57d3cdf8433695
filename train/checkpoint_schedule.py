"""Checkpoint schedules: pure functions from a run's length to its checkpoint steps, with step 0 and the last."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from pydantic import ConfigDict, PositiveInt, model_validator
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError

Kind = Literal["log", "pythia", "linear", "babylm", "list"]
_PYTHIA_INTERVAL = 1000  # steps
_BABYLM_UNIT = 1_000_000  # words, or tokens
_PAPER_COUNT = 47  # ZhoBLiMP 5.3; the paper does not print the spacing


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ScheduleSettings:
    """The schedule, with ``count`` checkpoints for ``log`` and ``linear`` and ascending ``steps`` for ``list``.

    ``fill_count`` says what ``log`` does without a count.
    """

    kind: Kind
    count: PositiveInt | None
    steps: tuple[int, ...]

    @model_validator(mode="after")
    def _only_what_the_kind_uses(self) -> "ScheduleSettings":
        if self.count is not None and self.kind not in ("log", "linear"):
            raise ValueError(f"count is for schedule=log and schedule=linear; this is schedule={self.kind}")
        if self.steps and self.kind != "list":
            raise ValueError(f"steps is for schedule=list; this is schedule={self.kind}")
        return self


def fill_count(settings: ScheduleSettings, total_steps: int) -> ScheduleSettings:
    """Give a log schedule without a count the paper's, or one checkpoint for each step of a run that is too short."""
    if settings.kind != "log" or settings.count is not None:
        return settings
    return replace(settings, count=min(_PAPER_COUNT, total_steps + 1))


def checkpoint_steps(
    settings: ScheduleSettings, total_steps: int, seen_per_step: int | Fraction
) -> tuple[int, ...]:
    """Return the ascending, distinct steps at which a run is checkpointed, with 0 and ``total_steps``.

    A step has seen so many tokens, or words where the budget is in words.
    """
    if settings.kind in ("log", "linear"):
        if settings.count is None:
            raise UserError(
                f"schedule.count: no value given; schedule={settings.kind} wants the number of checkpoints"
            )
        spaced = log_steps if settings.kind == "log" else linear_steps
        return spaced(settings.count, total_steps)
    if settings.kind == "pythia":
        return pythia_steps(total_steps)
    if settings.kind == "babylm":
        return babylm_steps(total_steps, seen_per_step)
    return listed_steps(settings.steps, total_steps)


def log_steps(count: int, total_steps: int) -> tuple[int, ...]:
    """Return exactly ``count`` steps, evenly spaced on a log axis after step 0, or consecutive.

    Raises:
        UserError: when ``count`` is below 2 or more than ``total_steps + 1``.
    """
    _check_count(count, total_steps)
    # Step 0 has no logarithm, so ratios begin at step 1.
    steps = [0, 1] if count > 2 else [0]
    while len(steps) < count - 1:
        remaining = count - len(steps)
        # Steps are whole numbers, so the ratio is computed again for those that remain, and the count is always met.
        ratio = (total_steps / steps[-1]) ** (1 / remaining)
        # Each step is a new one and leaves room for those after it.
        steps.append(min(max(steps[-1] + 1, round(steps[-1] * ratio)), total_steps - remaining + 1))
    return (*steps, total_steps)


def linear_steps(count: int, total_steps: int) -> tuple[int, ...]:
    """Return exactly ``count`` evenly spaced steps.

    Raises:
        UserError: when ``count`` is below 2 or more than ``total_steps + 1``.
    """
    _check_count(count, total_steps)
    # This is index * total / (count - 1), rounded to the nearest step without a float.
    return tuple((2 * index * total_steps + count - 1) // (2 * (count - 1)) for index in range(count))


def pythia_steps(total_steps: int) -> tuple[int, ...]:
    """Return Pythia's steps: 0, the powers of two up to 512, every 1000, and the last (Biderman et al. 2023, 2.1)."""
    early = [2**power for power in range(10)]  # 1 to 512
    steps = {0, *early, *range(_PYTHIA_INTERVAL, total_steps, _PYTHIA_INTERVAL), total_steps}
    return tuple(sorted(step for step in steps if step <= total_steps))


def babylm_steps(total_steps: int, seen_per_step: int | Fraction) -> tuple[int, ...]:
    """Return the first steps that have seen BabyLM 2025's counts of words, or of tokens, with 0 and the last.

    The counts are 1 to 10 M by 1 M, to 100 M by 10 M, then by 100 M.
    """
    total = total_steps * seen_per_step
    counts = [*range(1, 10), *range(10, 100, 10), *range(100, int(total // _BABYLM_UNIT) + 1, 100)]
    # Rounded up, it is the first step that has seen so many.
    steps = {int(-(-count * _BABYLM_UNIT // seen_per_step)) for count in counts}
    return tuple(sorted({0, total_steps, *(step for step in steps if step < total_steps)}))


def names_by_words(steps: Sequence[int], words_per_step: Fraction) -> list[str]:
    """Return the names that BabyLM 2025 has for checkpoints, as ``chck_10M`` of the first that has seen 10 M words.

    The last one of a budget may have seen less, by a part of a step. A ``UserError`` names a checkpoint that has not
    seen a whole number of millions.
    """
    names: dict[str, int] = {}
    for step in steps:
        seen = step * words_per_step
        millions = round(seen / _BABYLM_UNIT)
        name = f"chck_{millions}M"
        if abs(seen - millions * _BABYLM_UNIT) >= words_per_step or name in names:
            raise UserError(
                f"names=words: the checkpoint of step {step} has seen {float(seen):,.0f} words, which is no whole "
                "million of its own; schedule=babylm has checkpoints at whole millions"
            )
        names[name] = step
    return list(names)


def listed_steps(steps: Sequence[int], total_steps: int) -> tuple[int, ...]:
    """Return the given steps with 0 and ``total_steps`` added.

    Raises:
        UserError: when no step is given, or they do not ascend, or one lies outside the run.
    """
    if not steps:
        raise UserError(
            "schedule.steps is empty; schedule=list wants ascending ones: 'schedule.steps=[0,10,100]'"
        )
    for before, after in itertools.pairwise(steps):
        if after <= before:
            raise UserError(f"schedule.steps: {after} follows {before}; the steps must ascend")
    for step in steps:
        if not 0 <= step <= total_steps:
            raise UserError(f"schedule.steps: {step} is outside the run; allowed: 0 to {total_steps}")
    return tuple(sorted({0, *steps, total_steps}))


def _check_count(count: int, total_steps: int) -> None:
    if not 2 <= count <= total_steps + 1:
        raise UserError(
            f"schedule.count={count} does not fit a run of {total_steps} steps; allowed: 2 to {total_steps + 1}"
        )
