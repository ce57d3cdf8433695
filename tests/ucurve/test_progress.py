import pytest
from rich.console import Console

from ucurve import progress
from ucurve.progress import ProgressBar


@pytest.fixture
def clock(monkeypatch):
    """The time in seconds, which a test sets."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_line_in_a_pipe_says_what_is_left(clock, capsys):
    with ProgressBar("run", 100) as bar:
        clock[0] = 20.0
        bar.advance(10, "loss 3.1")
    assert capsys.readouterr().err == "run: 10/100 loss 3.1, about 3 minutes left\n"


def test_work_of_a_minute_has_three_lines(clock, capsys):
    with ProgressBar("run", 100) as bar:
        for second in range(1, 61):
            clock[0] = float(second)
            bar.advance()
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == ["20/100", "40/100", "60/100"]


def test_work_that_goes_on_after_an_earlier_start_is_measured_from_there(clock, capsys):
    with ProgressBar("run", 100, done=90) as bar:
        clock[0] = 20.0
        bar.advance(5)
    assert capsys.readouterr().err == "run: 95/100 about 20 seconds left\n"


def test_long_work_has_few_lines(clock, capsys):
    with ProgressBar("run", 100_000) as bar:
        for second in range(1, 36_001):
            clock[0] = float(second)
            bar.advance()
    assert 20 < capsys.readouterr().err.count("\n") < 50


def test_work_that_lost_its_first_units_has_no_time_left_yet(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.ProgressBar("scoring", 10) as bar:
        bar.advance(2)
        now[0] = 21.0
        bar.advance(-2, "smaller batches")
    assert capsys.readouterr().err == "scoring: 0/10 smaller batches\n"


def test_work_that_knows_its_time_left_says_it(clock, capsys):
    with ProgressBar("run", 100) as bar:
        clock[0] = 20.0
        bar.advance(10, "loss 3.1", seconds_left=600.0)
    assert capsys.readouterr().err == "run: 10/100 loss 3.1, about 10 minutes left\n"


def test_a_bar_on_a_terminal_says_the_time_left(clock, monkeypatch, capsys):
    monkeypatch.setattr(progress, "_console", Console(stderr=True, force_terminal=True, width=100))
    with ProgressBar("run", 100) as bar:
        clock[0] = 20.0
        bar.advance(10, "loss 3.1", seconds_left=600.0)
    assert "10/100 loss 3.1, about 10 minutes left" in capsys.readouterr().err.replace("\x1b[0m", "")
