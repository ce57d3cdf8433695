"""Makes the pairs of a template, and scores them with a run, which then has a curve of them."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypedDict, cast

from ucurve.analysis.data.files import scored_steps
from ucurve.analysis.data.runs import Run, find_runs
from ucurve.config import check
from ucurve.config_files import completed, load
from ucurve.errors import UserError, unknown_name
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import find_benchmark
from ucurve.eval.pairs import data_hash
from ucurve.eval.store.keys import stored_hash
from ucurve.eval.store.scores import pairs_path
from ucurve.generation.benchmark_folder import REPORT_FILE
from ucurve.generation.run import GenerateSettings, build_benchmark
from ucurve.generation.templates.make import Settings, make
from ucurve.storage.files import read_json_object, read_json_or_empty, write_json
from ucurve.storage.locks import new_output
from ucurve.storage.run_folder import EVAL
from ucurve.workbench.settings import WorkbenchSettings
from ucurve.workbench.write.projects import Project, check_name

State = Literal["running", "stopped", "failed", "done"]
_LINES = 12  # of what a scoring that failed printed, that are shown


def benchmark_folder(project: Project, template: str) -> Path:
    """Return where the pairs of a template go; the folder's name is that of the benchmark."""
    return project.made / check_name("benchmark", f"{project.name}-{template}")


def generate(project: Project, template: str, pairs: int, seed: int) -> dict[str, object] | None:
    """Make the pairs of a saved template in place of those that were made before."""
    if not 1 <= pairs <= 10_000:
        raise UserError(f"pairs={pairs}: a number from 1 to 10,000 is allowed")
    if not 0 <= seed < 2**63:
        raise UserError(f"seed={seed}: a number from 0 to 2^63 - 1 is allowed")
    place = project.template(template)
    if not place.is_file():
        raise unknown_name("template", template, project.template_names())
    out = benchmark_folder(project, template)
    keys = {"templates": place.name, "vocabulary": project.vocabulary.name, "phrases": project.phrases.name}
    # A folder with this template alone, since all templates of a folder are made.
    with TemporaryDirectory() as alone:
        shutil.copyfile(place, Path(alone) / place.name)
        files = {"templates": Path(alone), "vocabulary": project.vocabulary, "phrases": project.phrases}
        made = make(Settings(**files, language=load("source/templates.yaml")["language"]), seed)
        new = Path(alone) / out.name
        given = {"source": "templates", "out": new, "pairs": pairs, "seed": seed}
        build_benchmark(made, check(GenerateSettings, completed("generate.yaml", given)), keys)
        with new_output(out) as folder:  # which takes the place of an older one
            shutil.copytree(new, folder, dirs_exist_ok=True)
    return made_pairs(project, template)


def made_pairs(project: Project, template: str) -> dict[str, object] | None:
    """Describe the pairs that were made last of a template; None where there are none."""
    folder = benchmark_folder(project, template)
    if not (folder / REPORT_FILE).is_file():
        return None
    report = read_json_object(folder / REPORT_FILE)["paradigms"][0]
    return {"benchmark": folder.name, "folder": str(folder), "report": report, "file": REPORT_FILE}


@dataclass(frozen=True)
class Scored:
    """The scores that a run has of the pairs that were made last of a template."""

    run: Run
    benchmark: Path
    pairs_hash: str

    def steps(self) -> set[int]:
        """Return the steps with scores of these very pairs, by the scorer that has most of them."""
        name, folder = self.benchmark.name, self.run.folder
        if stored_hash(pairs_path(folder, name)) != self.pairs_hash:
            return set()  # none, or those of pairs that were made before
        scorers = [path.name for path in (folder / EVAL / name).iterdir() if path.is_dir()]
        return max((set(scored_steps(folder, name, scorer)) for scorer in scorers), key=len, default=set())

    def describe(self, state: State, planned: Sequence[int], problem: str = "") -> dict[str, object]:
        """Return what the page shows of a scoring, with the number of checkpoints that are ``done``."""
        return {
            "state": state, "run": self.run.label, "benchmark": self.benchmark.name, "problem": problem,
            "step": planned[0] if len(planned) == 1 else None, "done": len(self.steps() & set(planned)),
            "of": len(planned),
        }  # fmt: skip


class Order(TypedDict):
    """What a scoring was asked for, kept in a file so that a workbench that is started later knows it."""

    run: str
    steps: list[int]
    pairs: str  # their hash


@dataclass
class Job:
    """The scoring of one benchmark with one run, by a process of its own that prints into a file."""

    process: subprocess.Popen[bytes]
    scored: Scored
    planned: Sequence[int]  # steps
    printed: Path
    stopped: bool = False

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended yet."""
        return self.process.poll() is None

    def stop(self) -> None:
        """End the process; the scores that were made stay."""
        if self.is_running:
            self.stopped = True
            self.process.terminate()
            self.process.wait()

    def describe(self) -> dict[str, object]:
        """Return its state, and of one that failed what the process printed last."""
        if self.is_running:
            return self.scored.describe("running", self.planned)
        if self.stopped:
            return self.scored.describe("stopped", self.planned)
        if self.process.returncode == 0:
            return self.scored.describe("done", self.planned)
        lines = [line for line in self.printed.read_text(encoding="utf-8", errors="replace").splitlines() if line]
        # An error of ours is a message; of any other one the end of its traceback is shown.
        errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
        return self.scored.describe("failed", self.planned, "\n".join(errors or lines[-_LINES:]))


@dataclass
class Scoring:
    """Scores what was made; one run at a time, as the same command would by hand."""

    settings: WorkbenchSettings
    _job: Job | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def runs(self) -> list[dict[str, object]]:
        """List the runs that have checkpoints, with their steps."""
        return [{"run": run.label, "steps": run.saved} for run in self._runs() if run.saved]

    def start(self, project: Project, template: str, run: str, step: int | None) -> dict[str, object]:
        """Start scoring one checkpoint of a run, or all of them."""
        folder = benchmark_folder(project, template)
        if not folder.is_dir():
            raise UserError(f"{template}: no pairs were made yet; make them first")
        known = {one.label: one for one in self._runs()}
        if run not in known:
            raise unknown_name("run", run, known)
        target = known[run]
        if step is not None and step not in target.saved:
            raise UserError(f"step: {run} has no checkpoint of step {step}; there are {list(target.saved)}")
        planned = target.saved if step is None else (step,)
        scored = Scored(target, folder, _pairs_hash(folder))
        with self._lock:
            if self._job is not None and self._job.is_running:
                busy = self._job.scored
                raise UserError(
                    f"run: {busy.benchmark.name} is being scored with {busy.run.label}; wait until that is done, or "
                    "cancel it"
                )
            order = Order(run=target.label, steps=list(planned), pairs=scored.pairs_hash)
            write_json(_order_file(project, template), order)
            printed = _order_file(project, template).with_suffix(".log")
            self._job = Job(_start(target, folder, step, printed), scored, planned, printed)
            return self._job.describe()

    def state(self, project: Project, template: str) -> dict[str, object]:
        """Describe the last scoring of a template's pairs, or else the scores of them that a run has."""
        folder = benchmark_folder(project, template)
        if self._job is not None and self._job.scored.benchmark == folder:
            return self._job.describe()
        found = [Scored(run, folder, _pairs_hash(folder)) for run in self._runs()] if folder.is_dir() else []
        order = cast(Order, read_json_or_empty(_order_file(project, template)))
        for scored in found:
            if order and (scored.run.label, scored.pairs_hash) == (order["run"], order["pairs"]):
                left = set(order["steps"]) - scored.steps()  # by a workbench that has ended
                return scored.describe("stopped" if left else "done", order["steps"])
        last = max(found, key=lambda scored: len(scored.steps()), default=None)
        steps = last.steps() if last else set()
        return last.describe("done", sorted(steps)) if last and steps else {"state": "none"}

    def cancel(self) -> dict[str, object]:
        """End the scoring that is under way; the scores that were made stay."""
        if self._job is None:
            return {"state": "none"}
        self._job.stop()
        return self._job.describe()

    def _runs(self) -> list[Run]:
        patterns = self.settings.run_patterns()
        return find_runs(patterns) if patterns else []


def _order_file(project: Project, template: str) -> Path:
    return project.scoring / f"{template}.json"


def _pairs_hash(folder: Path) -> str:
    return data_hash(load_benchmark(find_benchmark(str(folder))))


def _start(run: Run, benchmark: Path, step: int | None, printed: Path) -> "subprocess.Popen[bytes]":
    """Start the command that scores, which prints into a file."""
    command = [
        sys.executable, "-m", "ucurve", "score", f"run={_quoted(run.folder)}",
        f"benchmarks=[{_quoted(benchmark)}]", *([] if step is None else [f"steps=[{step}]"]),
    ]  # fmt: skip
    with printed.open("wb") as file:  # not a pipe, which would have to be read
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)


def _quoted(path: Path) -> str:
    """Quote a path as the command line of Hydra reads it."""
    text = str(path.absolute()).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"
