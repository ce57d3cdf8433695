"""Makes the pairs of a template, and scores them with a run, which then has a curve of them."""

import os
import shutil
import subprocess
import sys
import threading
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from analysis.data.runs import Run, find_runs
from generation.benchmark_folder import REPORT_FILE, report_rows
from generation.run import GenerateSettings, build_benchmark
from generation.templates.make import Settings, make
from ucurve.errors import UserError, unknown_name
from workbench.settings import WorkbenchSettings
from workbench.write.projects import Project, check_name

_LINES = 12  # of what the scoring says, that are shown
_BUFFER = 4096


def benchmark_folder(project: Project, template: str) -> Path:
    """Return where the pairs of a template go; the folder's name is that of the benchmark."""
    return project.made / check_name("benchmark", f"{project.name}-{template}")


def generate(project: Project, template: str, pairs: int, seed: int) -> dict[str, object]:
    """Make the pairs of a saved template in place of those that were made before."""
    if not 1 <= pairs <= 10_000:
        raise UserError(f"pairs={pairs}: a number from 1 to 10,000 is allowed")
    if not 0 <= seed < 2**63:
        raise UserError(f"seed={seed}: a number from 0 to 2^63 - 1 is allowed")
    place = project.template(template)
    if not place.is_file():
        raise unknown_name("template", template, project.template_names())
    out = benchmark_folder(project, template)
    settings = GenerateSettings(source="templates", out=out, pairs=pairs, seed=seed)
    keys = {"templates": place.name, "vocabulary": project.vocabulary.name, "phrases": project.phrases.name}
    with TemporaryDirectory() as alone:
        shutil.copyfile(place, Path(alone) / place.name)
        made = make(Settings(templates=Path(alone), vocabulary=project.vocabulary, phrases=project.phrases), seed)
        outcomes = build_benchmark(made, settings, keys)
    return {"benchmark": out.name, "folder": str(out), "report": report_rows(outcomes)[0], "file": REPORT_FILE}


@dataclass
class Job:
    """The scoring of one benchmark with one run, by a process of its own."""

    process: subprocess.Popen[bytes]
    run: str
    benchmark: str
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))

    def __post_init__(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()

    def describe(self) -> dict[str, object]:
        """Return its state and the last lines that it printed."""
        code = self.process.poll()
        state = "running" if code is None else "done" if code == 0 else "failed"
        return {"state": state, "run": self.run, "benchmark": self.benchmark, "lines": list(self.lines)}

    def _listen(self) -> None:
        assert self.process.stdout is not None
        left = b""
        while part := os.read(self.process.stdout.fileno(), _BUFFER):
            *whole, left = (left + part).replace(b"\r", b"\n").split(b"\n")
            self.lines.extend(line.decode(errors="replace") for line in whole if line.strip())


@dataclass
class Scoring:
    """Scores what was made; one run at a time, as the same command would by hand."""

    settings: WorkbenchSettings
    _job: Job | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def runs(self) -> list[dict[str, object]]:
        """List the runs that have checkpoints, with their steps."""
        patterns = self.settings.run_patterns()
        found = find_runs(patterns) if patterns else []
        return [{"run": run.label, "steps": run.saved} for run in found if run.saved]

    def start(self, project: Project, template: str, run: str, step: int | None) -> dict[str, object]:
        """Start scoring one checkpoint of a run, or all of them."""
        folder = benchmark_folder(project, template)
        if not folder.is_dir():
            raise UserError(f"{template}: no pairs were made yet; make them first")
        target = self._find(run, step)
        with self._lock:
            if self._job is not None and self._job.process.poll() is None:
                raise UserError(f"{self._job.benchmark} is being scored with {self._job.run}; wait until that is done")
            self._job = Job(_start(target, folder, step), target.label, folder.name)
            return self._job.describe()

    def state(self) -> dict[str, object]:
        """Describe the scoring that was started last."""
        return {"state": "none"} if self._job is None else self._job.describe()

    def _find(self, label: str, step: int | None) -> Run:
        known = {run.label: run for run in find_runs(self.settings.run_patterns())}
        if label not in known:
            raise unknown_name("run", label, known)
        if step is not None and step not in known[label].saved:
            raise UserError(f"{label} has no checkpoint of step {step}; there are {list(known[label].saved)}")
        return known[label]


def _start(run: Run, benchmark: Path, step: int | None) -> "subprocess.Popen[bytes]":
    command = [
        sys.executable, "-m", "ucurve", "score", f"run={_quoted(run.folder)}",
        f"benchmarks=[{_quoted(benchmark)}]", *([] if step is None else [f"steps=[{step}]"]),
    ]  # fmt: skip
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def _quoted(path: Path) -> str:
    """Quote a path as the command line of Hydra reads it."""
    text = str(path.absolute()).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"
