"""Give the readers of users' files what is not right: valid files with one change, with several, and files of no form.

python -m measurements.readers.fuzz_readers [--inputs 20000] [--seed 0] [--processes 2] [--out FOLDER]
    [--readers NAME ...]

Every input ends in what the reader makes of it, in a message, or in a failure: a traceback, more than 10 seconds of the
processor, or 2 GB of memory more than the libraries take. Of every 10 inputs 6 are a valid file with one change, 3 with
two to eight, and 1 is made up. An input follows from the seed, the reader and its number. The table has for each reader
how many inputs there were, how many of them with one change, and which share of all reached the last stage (pairs are
loaded, drawn or judged, documents are read, settings are checked). FOLDER gets each failing input with its traceback.
The exit code is 1 where something failed.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from measurements.processes import peak

READERS = ("jsonl", "json", "csv", "tsv", "card", "conllu", "template", "vocabulary", "phrases", "answers", "corpus",
           "overrides")  # fmt: skip
MOST_SECONDS = 10
MOST_BYTES = 2 * 2**30
_PER_PROCESS = 400  # inputs that one process reads, one after the other
_UNTIL_KILLED = 120  # seconds by the clock without a word from a process that no alarm wakes

Outcome = Literal["last stage", "message", "traceback", "slow", "memory"]


class Input(NamedTuple):
    """A file that is tried: its name, its content, what lies beside it, and whether it is a valid one changed once."""

    name: str
    content: bytes
    beside: dict[str, bytes]
    changed_once: bool


class Result(NamedTuple):
    """What came of an input; ``detail`` is the traceback of a failure, ``peak`` the process's memory so far in MB."""

    number: int
    outcome: Outcome
    seconds: float
    changed_once: bool
    peak: float
    detail: str = ""


class TooSlow(BaseException):
    """Raised by the alarm within a reader; no reader may take it for an error of its own."""


@dataclass
class Tally:
    """The results of one reader."""

    outcomes: Counter[str] = field(default_factory=Counter)
    changed_once: int = 0
    slowest: float = 0.0
    peak: float = 0.0

    def add(self, result: Result) -> None:
        """Count one more."""
        self.outcomes[result.outcome] += 1
        self.changed_once += result.changed_once
        self.slowest = max(self.slowest, result.seconds)
        self.peak = max(self.peak, result.peak)

    @property
    def failures(self) -> int:
        """Inputs that ended neither in the last stage nor in a message."""
        return sum(self.outcomes[kind] for kind in ("traceback", "slow", "memory"))


def make_input(reader: str, seed: int, number: int) -> Input:
    """Make an input, the same for the same three."""
    from measurements.readers.fuzz_mutations import invent, mutate
    from measurements.readers.fuzz_targets import TARGETS

    draw = random.Random(f"{reader} {seed} {number}")  # noqa: S311 - no secret
    case = draw.choice(TARGETS[reader].cases())
    kind = number % 10
    content = case.content
    if kind == 0:
        content = invent(draw)
    for _ in range(0 if kind == 0 else 1 if kind <= 6 else draw.randint(2, 8)):
        content = mutate(content, case.name, draw)
    return Input(case.name, content, dict(case.beside), changed_once=1 <= kind <= 6)


def try_inputs(reader: str, seed: int, numbers: Sequence[int]) -> Iterator[Result]:
    """Read inputs in this process, one after the other, each in a folder of its own."""
    from measurements.readers.fuzz_targets import TARGETS

    for number in numbers:
        given = make_input(reader, seed, number)
        with _folder_of(given) as folder:
            started = time.process_time()
            outcome, detail = _outcome(lambda read=TARGETS[reader].read, at=folder, of=given.name: read(at, of))
            yield Result(number, outcome, time.process_time() - started, given.changed_once, peak(), detail)


def _outcome(read: Any) -> tuple[Outcome, str]:
    from ucurve.errors import UcurveError

    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        read()
    except (UcurveError, OSError):  # the command line prints the text of both
        return "message", ""
    except TooSlow:
        return "slow", traceback.format_exc()
    except MemoryError:
        return "memory", traceback.format_exc()
    except Exception:
        return "traceback", traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "last stage", ""


def _stop(_: int, __: FrameType | None) -> None:
    raise TooSlow


def _work(reader: str, seed: int, numbers: Sequence[int], answers: Connection) -> None:
    """Run in a process of its own: send each result."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    with (
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stderr(nowhere),
        contextlib.redirect_stdout(nowhere),
    ):
        _read_valid_files(reader)
        _limit_memory()
        for result in try_inputs(reader, seed, numbers):
            answers.send(result)
    answers.close()


def _read_valid_files(reader: str) -> None:
    """Read the valid files, so that all libraries are there: an alarm may not come within an import."""
    from measurements.readers.fuzz_targets import TARGETS

    target = TARGETS[reader]
    for case in target.cases():
        with _folder_of(Input(case.name, case.content, dict(case.beside), changed_once=False)) as folder:
            target.read(folder, case.name)


@contextlib.contextmanager
def _folder_of(given: Input) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        _write(given, Path(name))
        yield Path(name)


def _write(given: Input, folder: Path) -> None:
    for name, content in {**given.beside, given.name: given.content}.items():
        (folder / name).write_bytes(content)


def _limit_memory() -> None:
    """Allow this process ``MOST_BYTES`` more of address space than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


@dataclass
class Share:
    """A part of a reader's inputs in a process of its own."""

    reader: str
    left: list[int]
    process: BaseProcess
    answers: Connection
    heard: float = field(default_factory=time.monotonic)


class Pool:
    """Processes that read inputs; one that does not answer any more is killed, and another goes on behind its input."""

    def __init__(self, seed: int, processes: int) -> None:
        self._seed, self._processes = seed, processes
        self._context = multiprocessing.get_context("spawn")

    def run(self, shares: list[tuple[str, list[int]]]) -> Iterator[tuple[str, Result]]:
        """Yield every result with its reader."""
        waiting, running = list(shares), list[Share]()
        while waiting or running:
            while waiting and len(running) < self._processes:
                running.append(self._start(*waiting.pop(0)))
            ready = wait([share.answers for share in running], timeout=1)
            for share in list(running):
                ended = False
                if share.answers in ready:
                    try:
                        yield share.reader, self._hear(share)
                    except EOFError:
                        ended = True
                silent = time.monotonic() - share.heard > _UNTIL_KILLED
                if share.left and (ended or silent):
                    yield share.reader, self._give_up(share, died=ended)
                    waiting.insert(0, (share.reader, share.left[1:]))
                    share.left = []
                if not share.left:
                    share.process.join()
                    running.remove(share)

    def _start(self, reader: str, numbers: list[int]) -> Share:
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_work, args=(reader, self._seed, numbers, theirs), daemon=True)
        process.start()
        theirs.close()
        return Share(reader, list(numbers), process, ours)

    def _hear(self, share: Share) -> Result:
        result: Result = share.answers.recv()
        share.left.remove(result.number)
        share.heard = time.monotonic()
        return result

    def _give_up(self, share: Share, died: bool) -> Result:
        """Blame the first input that a process which died, or which hangs and is killed, has not answered."""
        share.process.kill()
        share.process.join()
        number = share.left[0]
        once = make_input(share.reader, self._seed, number).changed_once
        if died:
            return Result(number, "traceback", 0, once, 0, "the process died")
        return Result(number, "slow", time.monotonic() - share.heard, once, 0, "the process had to be killed")


def shares_of(readers: Sequence[str], inputs: int) -> list[tuple[str, list[int]]]:
    """Divide the inputs evenly over the readers, and those of a reader into parts for one process each."""
    shares = []
    for place, reader in enumerate(readers):
        own = inputs // len(readers) + (place < inputs % len(readers))
        shares += [
            (reader, list(range(own))[start : start + _PER_PROCESS]) for start in range(0, own, _PER_PROCESS)
        ]
    return shares


def save_failure(out: Path, reader: str, seed: int, result: Result) -> None:
    """Write a failing input, what lies beside it, and its traceback."""
    given = make_input(reader, seed, result.number)
    folder = out / f"{reader}-{result.number}-{result.outcome}"
    folder.mkdir(parents=True, exist_ok=True)
    _write(given, folder)
    (folder / "traceback.txt").write_text(result.detail, encoding="utf-8")


def fuzz(readers: Sequence[str], inputs: int, seed: int, processes: int, out: Path) -> dict[str, Tally]:
    """Try inputs, write those that fail to ``out``, and return what came of them by reader."""
    tallies = {reader: Tally() for reader in readers}
    for reader, result in Pool(seed, processes).run(shares_of(readers, inputs)):
        tallies[reader].add(result)
        if result.outcome not in ("last stage", "message"):
            save_failure(out, reader, seed, result)
            print(
                f"{reader} {result.number}: {result.outcome}: {result.detail.strip().splitlines()[-1]}",
                flush=True,
            )
    return tallies


def table(tallies: dict[str, Tally]) -> str:
    """Return a line for each reader, and one for all."""
    lines = [
        f"{'reader':<11}{'inputs':>8}{'one change':>12}{'last stage':>12}{'message':>9}{'traceback':>11}{'slow':>6}"
        f"{'memory':>8}{'slowest s':>11}{'peak MB':>9}"
    ]
    for name, tally in {**tallies, "all": _sum(list(tallies.values()))}.items():
        found, inputs = tally.outcomes, max(sum(tally.outcomes.values()), 1)
        lines.append(
            f"{name:<11}{sum(found.values()):>8,}{tally.changed_once:>12,}{found['last stage'] / inputs:>12.1%}"
            f"{found['message']:>9,}{found['traceback']:>11,}{found['slow']:>6,}{found['memory']:>8,}"
            f"{tally.slowest:>11.2f}{tally.peak:>9,.0f}"
        )
    return "\n".join(lines)


def _sum(tallies: Sequence[Tally]) -> Tally:
    return Tally(
        sum((tally.outcomes for tally in tallies), Counter[str]()),
        sum(tally.changed_once for tally in tallies),
        max((tally.slowest for tally in tallies), default=0.0),
        max((tally.peak for tally in tallies), default=0.0),
    )


def main() -> None:
    """Read the command line, try the inputs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--readers", nargs="+", choices=READERS, default=READERS)
    arguments = parser.parse_args()
    began = time.perf_counter()
    tallies = fuzz(arguments.readers, arguments.inputs, arguments.seed, arguments.processes, arguments.out)
    print(table(tallies))
    print(f"{time.perf_counter() - began:,.0f} s, seed {arguments.seed}, {arguments.processes} processes")
    sys.exit(any(tally.failures for tally in tallies.values()))


if __name__ == "__main__":
    main()
