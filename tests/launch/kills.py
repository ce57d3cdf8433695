"""Kill commands that make several things, again and again at random moments, and see that they end as if left alone.

``python -m tests.launch.kills KILLS [--seed 0] [--work trunk] [--pairs 2]`` kills each kind of command KILLS times; the
suite runs a short version (``test_kills.py``). The first start is left alone and tells how long a command takes; then
SIGKILL, SIGTERM or SIGHUP comes at a random moment, and the same command is started again, until it is done. ``--pairs``
starts the same command twice at the same time, and once more after both have ended.
"""

import argparse
import json
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.train.launching import finish, start
from tests.train.stress import WAYS, command, outcome, write_inputs
from ucurve.progress import log_line
from ucurve.storage.files import is_leftover

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
STEPS = (48, 64)  # of the budgets of the grid
SMALLER = 32
MOST_STARTS = 30


@dataclass
class Work:
    """A command, what it needs in its folder, and where in that folder what it makes lies."""

    name: str
    arguments: Callable[[Path], list[str]]  # from its folder
    needs: Callable[[Path], object] = field(default=lambda _: None)
    has_ended: Callable[[Path], bool] = field(default=lambda place: all_finished(place / "runs"))
    made: Callable[[Path], dict[str, object]] = field(default=lambda place: runs_in(place / "runs"))
    seconds: float = 0.0  # that it takes when it is left alone
    left_alone: dict[str, object] = field(default_factory=dict)

    def is_done(self, place: Path) -> bool:
        """Whether all is there: a signal during the last scores leaves finished runs for the next start to score."""
        return self.has_ended(place) and self.made(place).keys() == self.left_alone.keys()


def grid(folder: Path, place: Path, *steps: int) -> list[str]:
    """The arguments of a grid of ``rate=wsd`` with budgets of so many steps."""
    words = [word for word in command(folder, WAYS[0], place / "runs", 1)[1:] if not word.startswith("tokens=")]
    return [
        "-m",
        f"tokens={','.join(str(128 * number) for number in steps)}",
        "rate=wsd",
        "optimizer.warmup=2",
        *words,
    ]


def make_works(folder: Path) -> dict[str, Work]:
    """The kinds of commands, on inputs in one folder."""
    write_inputs(folder)
    run_once(["train.py", *grid(folder, folder / "before", *STEPS)])
    run = next(path for path in (folder / "before" / "runs").glob(f"tiny-{128 * STEPS[0]}-*") if path.is_dir())
    works = [
        Work("trunk", lambda place: ["train.py", *grid(folder, place, *STEPS)]),
        Work(
            "smaller budget",
            lambda place: ["train.py", *grid(folder, place, SMALLER, *STEPS)],
            needs=lambda place: shutil.copytree(folder / "before" / "runs", place / "runs"),
        ),
        Work(
            "publish",
            lambda place: ["-m", "launch.publish", f"run={run}", f"out={place / 'out'}", "repo=me/suite"],
            has_ended=lambda place: (place / "out").exists(),
            made=lambda place: files_in(place / "out"),
        ),
        Work("workers", lambda place: ["-m", "launch.workers", "workers=2", *grid(folder, place, *STEPS)]),
    ]
    return {work.name: work for work in works}


def run_once(arguments: list[str]) -> None:
    codes, errors = finish(start(arguments))
    assert codes == [0], errors


def all_finished(runs: Path) -> bool:
    return {json.loads(path.read_text())["status"] for path in runs.glob("*/run.json")} == {"finished"}


def runs_in(runs: Path) -> dict[str, object]:
    """What came out of each run: the bytes of its files, and the numbers of its steps."""
    made: dict[str, object] = {}
    for run in (path for path in runs.iterdir() if not path.name.startswith(".")):
        files, made[f"{run.name}/steps"] = outcome(run)
        made |= {f"{run.name}/{name}": content for name, content in files.items()}
    return made


def files_in(folder: Path) -> dict[str, object]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def leave_alone(work: Work, place: Path) -> None:
    """Let a command end by itself; what it then made is what it is compared with."""
    place.mkdir()
    work.needs(place)
    began = time.monotonic()
    run_once(work.arguments(place))
    work.seconds, work.left_alone = time.monotonic() - began, work.made(place)


def check(work: Work, place: Path) -> None:
    """Compare what was made with what is made by a command that is left alone; nothing else is left.

    Raises:
        AssertionError: when they differ, or something was left behind.
    """
    made = work.made(place)
    differ = [
        name for name in made.keys() | work.left_alone.keys() if made.get(name) != work.left_alone.get(name)
    ]
    assert not differ, f"{work.name}: {differ} differ in {place}"
    left = [path for path in place.rglob(".*") if is_leftover(path) or path.name == ".out.lock"]
    assert not left, left
    shutil.rmtree(place)


def kill_once(work: Work, place: Path, chance: random.Random) -> str | None:
    """Start a command and signal it at a random moment; returns the signal, or None when it had ended before."""
    (process,) = processes = start(work.arguments(place))
    time.sleep(chance.uniform(0.2, 1.0) * work.seconds)
    number = chance.choice(SIGNALS)
    sent = process.poll() is None
    process.send_signal(number)
    codes, errors = finish(processes)
    assert codes[0] in (0, -number, 75), (codes, errors)
    return number.name if sent and codes[0] else None


def end(work: Work, place: Path) -> None:
    """Start a command until all is done: workers whose parent was killed may still be at work."""
    for _ in range(MOST_STARTS):
        if work.is_done(place):
            return
        codes, errors = finish(start(work.arguments(place)))
        assert codes == [0], errors
    raise AssertionError(f"{work.name}: not done after {MOST_STARTS} starts")


def kill(work: Work, folder: Path, kills: int, seed: int) -> Counter[str]:
    """Kill a command so many times, up to three times in a row, let it end each time, and compare; returns a count."""
    chance = random.Random(f"{work.name} {seed}")
    log_line(f"{work.name}: seed {seed}")
    happened: Counter[str] = Counter()
    if not work.left_alone:
        leave_alone(work, folder / f"{work.name}-alone")
    while (done := happened.total() - happened["ended before"]) < kills:
        place = folder / f"{work.name}-{happened.total()}"
        place.mkdir()
        work.needs(place)
        for _ in range(min(chance.randint(1, 3), kills - done)):
            name = kill_once(work, place, chance)
            happened[name or "ended before"] += 1
            if name is None:
                work.seconds *= 0.8  # the machine had more to do while the first one was timed
            if work.is_done(place):
                break
        end(work, place)
        check(work, place)
        log_line(f"{work.name}: {dict(happened)}")
    return happened


def pair(work: Work, folder: Path) -> None:
    """Start a command twice at the same time, let what is not done end, and compare."""
    if not work.left_alone:
        leave_alone(work, folder / f"{work.name}-alone")
    place = folder / f"{work.name}-pair-{time.monotonic_ns()}"
    place.mkdir()
    work.needs(place)
    codes, errors = finish([*start(work.arguments(place)), *start(work.arguments(place))])
    assert 0 in codes, errors
    assert set(codes) <= {0, 2}, errors  # 2: another process is writing it, or it is there already
    end(work, place)
    check(work, place)
    log_line(f"{work.name}: two at once ended with {codes}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", action="append")
    parser.add_argument("--pairs", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        works = make_works(Path(name))
        for work in (works[one] for one in given.work or works):
            if given.kills:
                log_line(f"{work.name}: {dict(kill(work, Path(name), given.kills, given.seed))}")
            for _ in range(given.pairs):
                pair(work, Path(name))


if __name__ == "__main__":
    main()
