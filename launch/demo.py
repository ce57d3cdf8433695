"""The whole path on the embedded grammar, from a corpus to a report: ``ucurve demo``, or ``make demo``."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from ucurve.arguments import quoted_where_needed
from ucurve.cli import run
from ucurve.config import Composed, check, compose
from ucurve.config_files import completed
from ucurve.fields import Folder
from ucurve.interpreter import ROOT
from ucurve.invocation import command
from ucurve.progress import log_line
from ucurve.storage.run_folder import RECORD
from ucurve.training.corpus.parallel import count_processes

_WORKERS = 2  # those with which the minutes of conf/demo.yaml are counted
OWN_RUN = "model=14m tokens=10M tokenizer=char data.path=TEXTS"
OWN_GRID = "-m model=14m,llama-14m,bert-14m tokenizer=char,bpe seed=0,1 tokens=10M data.path=TEXTS"


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class DemoSettings:
    """Whether the demo is the grid, and where its runs and figures go; ``None`` is a folder named after it."""

    grid: bool
    runs: Folder | None
    out: Folder | None


def demo_command(values: Mapping[str, object]) -> None:
    """Train and score the demo's runs, check their files, draw their curves, and say what to do next."""
    settings = check(DemoSettings, values)
    os.environ["HF_HUB_OFFLINE"] = "1"  # before the libraries of Hugging Face are imported
    from ucurve.analysis.data.settings import AnalyzeSettings
    from ucurve.analysis.run import print_analysis
    from ucurve.training.verify import verify_folder

    name = "demo_grid" if settings.grid else "demo"
    runs = settings.runs or f"runs/{name}"
    _train(f"experiment={name}", quoted_where_needed(f"paths.runs={runs}"), in_workers=settings.grid)
    for folder in sorted(path.parent for path in Path(runs).glob(f"*/{RECORD}")):
        verify_folder(folder)
    log_line("testing and drawing the curves")
    analysis = completed("analyze.yaml", {"runs": f"{runs}/*", "out": settings.out or f"figures/{name}"})
    print_analysis(check(AnalyzeSettings, analysis))
    sys.stdout.write(what_next(runs, OWN_GRID if settings.grid else OWN_RUN))


def _train(*overrides: str, in_workers: bool) -> None:
    """Train an experiment, in this process or in a worker for each of two cores."""
    from ucurve.launch.workers import workers_command
    from ucurve.training.cli import train_cells

    if in_workers:
        workers_command([f"workers={min(_WORKERS, count_processes())}", *overrides])
    else:
        train_cells([Composed(compose("train", overrides), overrides)])


def what_next(runs: str, own: str) -> str:
    """Name commands that work when they are copied, after the activation of an environment that is not in use.

    ``own`` are the arguments that train on the user's text what the demo has trained.
    """
    pattern = shlex.quote(f"{runs}/*")
    activate = Path(".venv/bin/activate")
    is_needed = Path.cwd() == ROOT and activate.is_file() and "VIRTUAL_ENV" not in os.environ
    lines = [
        "",
        "next, to look at the pairs behind the curves, or to train on your own text:",
        *([f"    source {activate}"] if is_needed else []),
        f"    {command('workbench', f'runs={pattern}')}",
        f"    {command('train', own)}",
    ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    run("demo")
