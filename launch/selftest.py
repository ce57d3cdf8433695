"""Tells whether a machine trains, resumes after a kill, scores, and how fast: ``ucurve selftest gpus=8``."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ConfigDict, NonNegativeInt
from pydantic.dataclasses import dataclass

from ucurve.config import check
from ucurve.errors import RunError, UserError
from ucurve.fields import Folder
from ucurve.launch.arguments import expand_grid
from ucurve.launch.cost import measure_step
from ucurve.launch.status import CellStatus, cell_status
from ucurve.progress import log_line
from ucurve.storage.facts import read_manifest
from ucurve.storage.run_folder import METRICS, RESUME, STEPS, checkpoints, parse_step
from ucurve.text_table import format_table
from ucurve.training.grid.trunks import expect_grid
from ucurve.training.verify import run_faults

_LIMIT = 300.0  # seconds of a command; one that takes longer hangs
_NEAR = 0.02  # nats, by which the last losses of the same run may differ, summed in another order
_PROCESSES = 2  # at least, so that they have to share work and to add up gradients
# On what training was timed, with which vocabulary, and how many tokens a second there were: docs/devices.md.
_DOCUMENTED = {
    "cuda": ("an H100, 410m on an H200", 49_953, {"14m": 1_699_000, "160m": 450_000, "410m": 190_000}),
    "cpu": ("two cores of an AMD EPYC", 8_000, {"14m": 5_471}),
}


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SelfTestSettings:
    """How many CUDA devices are tested, and where the runs stay; ``None`` removes them unless a check fails."""

    gpus: NonNegativeInt  # 0 tests the processor
    out: Folder | None


@dataclass(frozen=True)
class SelfTest:
    """The checks of a machine, in the order in which they are made; each returns what it found."""

    gpus: int
    place: Path

    def checks(self) -> dict[str, Callable[[], str]]:
        """Return the checks by what they try."""
        together = f"one run in {self.processes} processes"
        return {"train": self.train, "a killed run goes on": self.kill, together: self.train_together,
                "score": self.score, "verify": self.verify, "speed": self.speed}  # fmt: skip

    @property
    def processes(self) -> int:
        """How many processes work at once."""
        return max(_PROCESSES, self.gpus)

    def train(self) -> str:
        """Train a run on each device."""
        seeds = ",".join(map(str, range(self.processes)))
        self._ucurve("workers", self._workers, *self._run("runs"), f"seed={seeds}")
        speeds = [run.tokens_per_second or 0.0 for run in self._runs("runs")]
        return f"{len(speeds)} runs, {min(speeds):,.0f} to {max(speeds):,.0f} tokens/s"

    def kill(self) -> str:
        """Kill a run with its states on disk, let it go on, and compare it with the one that was never killed."""
        # With a state after every step there is one to go on from, whenever the kill comes.
        words = ["train", *self._run("killed"), "resume.seconds=0"]
        quiet, half = subprocess.DEVNULL, max(run.steps or 0 for run in self._runs("runs")) // 2
        with subprocess.Popen(_command(*words), stderr=quiet, stdout=quiet, env=_environment()) as process:
            began = time.monotonic()
            states = f"killed/*/{RESUME}/{STEPS}"
            while process.poll() is None and all(
                (parse_step(path.name) or 0) < half for path in self.place.glob(states)
            ):
                if time.monotonic() - began > _LIMIT:
                    process.kill()
                    raise RunError(f"no state to resume from within {_LIMIT:.0f} s")
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
        if process.returncode != -signal.SIGKILL:
            raise RunError("the run ended before it could be killed")
        self._ucurve(*words)
        return self._compare("killed", exact=not self.gpus)

    def train_together(self) -> str:
        """Train one run in several processes, and compare it with that of one process."""
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
        _finish([*launcher, str(self.processes), "-m", "ucurve", "train", *self._run("together")])
        return self._compare("together")

    def score(self) -> str:
        """Score the checkpoints of all runs on the demo's pairs, in several processes."""
        self._ucurve("workers", self._workers, "score", f"run={self.place}/*/*", "benchmarks=demo", "subset=50")
        return f"{sum(len(checkpoints(run)) for run in self._folders('*'))} checkpoints"

    def verify(self) -> str:
        """Check every file of all runs."""
        if faults := [fault for run in self._folders("*") for fault in run_faults(run)]:
            raise RunError("; ".join(faults))
        return "every file is what was recorded"

    def speed(self) -> str:
        """Time steps of the sizes whose speed the documentation has."""
        device, vocabulary, documented = _DOCUMENTED["cuda" if self.gpus else "cpu"]
        found = []
        for model, there in documented.items():
            [run] = expect_grid(expand_grid(["data=demo", f"model={model}", "tokens=1M"]))
            here = run.plan.settings.batch.tokens / measure_step(replace(run.plan, vocabulary=vocabulary))
            found.append(f"{model} {here:,.0f} tokens/s, {here / there:.2f} of the documented")
        return f"{'; '.join(found)} ({device})"

    @property
    def _workers(self) -> str:
        return f"gpus={self.gpus}" if self.gpus else f"workers={_PROCESSES}"

    def _run(self, folder: str) -> list[str]:
        size = ["model=70m", "tokens=16M"] if self.gpus else ["model=tiny", "tokens=50K", "batch.sequences=32"]
        places = [f"paths.{name}={self.place / name}" for name in ("cache", "tokenizers")]
        return ["data=demo", "tokenizer=char", *size, "schedule.count=5", "benchmarks=[]", *places,
                f"paths.runs={self.place / folder}"]  # fmt: skip

    def _folders(self, folder: str) -> list[Path]:
        return sorted(path.parent for path in self.place.glob(f"{folder}/*/{METRICS}"))

    def _runs(self, folder: str) -> list[CellStatus]:
        return [cell_status(run) for run in self._folders(folder)]

    def _compare(self, folder: str, exact: bool = False) -> str:
        """Compare a run with the one of its seed in ``runs``: its last weights or, if not ``exact``, its last loss."""
        (run,), whole = self._folders(folder), self._folders("runs")[0]
        one, other = (read_manifest(checkpoints(each)[-1]).weights_sha256 for each in (run, whole))
        losses = [cell_status(each).loss or 0.0 for each in (run, whole)]
        if one == other:
            return "the same bytes as the whole run in one process"
        if exact or abs(losses[0] - losses[1]) > _NEAR:
            raise RunError(
                f"its last loss is {losses[0]:.4f}, that of the whole run in one process {losses[1]:.4f}"
            )
        return f"the last loss within {abs(losses[0] - losses[1]):.1g} of the whole run's; the bytes are others"

    def _ucurve(self, *words: str) -> None:
        _finish(_command(*words))


def selftest_command(values: dict[str, object]) -> None:
    """Make all checks, print what each found, and raise a ``RunError`` if one failed."""
    settings = check(SelfTestSettings, values)
    import torch

    there = torch.cuda.device_count()
    if settings.gpus > there:
        raise UserError(
            f"gpus={settings.gpus}: {there} CUDA devices are visible here; gpus=0 tests the processor"
        )
    os.environ["HF_HUB_OFFLINE"] = "1"  # before the libraries of Hugging Face are imported
    place = Path(settings.out or tempfile.mkdtemp(prefix="ucurve-selftest-"))
    rows, failed = [], []
    for name, attempt in SelfTest(settings.gpus, place.absolute()).checks().items():
        began, outcome = time.monotonic(), "ok"
        try:
            found = attempt()
        except (RunError, UserError) as error:
            found, outcome = str(error), "failed"
            failed.append(name)
        seconds = time.monotonic() - began
        log_line(f"{name}: {outcome}, {found}")
        rows.append({"check": name, "": outcome, "found": found.partition("\n")[0], "s": f"{seconds:.0f}"})
    print(format_table(rows))  # noqa: T201 - what came out
    if failed:
        raise RunError(f"failed: {', '.join(failed)}; the runs are in {place}")
    if settings.out is None:
        shutil.rmtree(place)


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "ucurve", *words]


def _environment() -> dict[str, str]:
    # The number of threads changes the order of sums, and so the bytes of the weights.
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def _finish(words: Sequence[str]) -> None:
    """Run a command to its end; a ``RunError`` has the end of its output."""
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT,
            check=False,
            env=_environment(),
        )
    except subprocess.TimeoutExpired as error:
        raise RunError(f"{' '.join(words[2:])}: not done within {_LIMIT:.0f} s") from error
    if done.returncode:
        raise RunError(f"{' '.join(words[2:])}: exit code {done.returncode}\n{done.stderr[-2000:]}")
