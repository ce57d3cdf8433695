import pytest

from ucurve import progress
from ucurve.training.checkpoint_schedule import linear_steps, log_steps
from ucurve.training.run.trainer import Pace

STEP, CHECKPOINT = 0.5, 30.0


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def seconds_left_and_true(
    schedule, total: int, clock, score: float, first: float
) -> dict[int, tuple[float, float]]:
    """Let a run go through its steps and checkpoints; what it says is left after each step, and what was."""
    pace, told, ends = Pace(total, len(schedule)), {}, {}

    def checkpoint(seconds: float) -> None:
        clock[0] += seconds
        pace.count_checkpoint()

    checkpoint(first + score)
    for step in range(1, total + 1):
        clock[0] += STEP
        pace.count_step(STEP)
        told[step], ends[step] = pace.seconds_left, clock[0]
        if step in schedule:
            checkpoint(score)
    return {step: (told[step], clock[0] - ends[step]) for step in told}


@pytest.mark.parametrize("steps", [log_steps, linear_steps])
@pytest.mark.parametrize("score", [0.01, CHECKPOINT])
@pytest.mark.parametrize("first", [0.0, 60.0])  # until the benchmark is read and its sentences are tokenized
def test_time_left_counts_the_checkpoints_to_come(clock, steps, score, first):
    schedule = steps(47, 610)
    told = seconds_left_and_true(schedule, 610, clock, score, first)
    for step, (left, true) in told.items():
        if step > schedule[2]:
            assert left == pytest.approx(true, rel=0.3, abs=STEP)


def test_a_run_that_goes_on_counts_what_is_left_of_it(clock):
    pace = Pace(10, 2)
    clock[0] += 1.0
    pace.count_step(1.0)
    assert pace.seconds_left == pytest.approx(9.0)
