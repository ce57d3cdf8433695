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
from ucurve.fields import Folder
from ucurve.interpreter import ROOT
from ucurve.invocation import command
from ucurve.progress import log_line
from ucurve.storage.run_folder import RECORD


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class DemoSettings:
    """Where the runs of the demo and its figures go."""

    runs: Folder
    out: Folder


def demo_command(values: Mapping[str, object]) -> None:
    """Train and score the demo's runs, check their files, draw their curves, and say what to do next."""
    settings = check(DemoSettings, values)
    os.environ["HF_HUB_OFFLINE"] = "1"  # before the libraries of Hugging Face are imported
    from ucurve.analysis.data.settings import AnalyzeSettings
    from ucurve.analysis.run import print_analysis
    from ucurve.training.cli import train_cells
    from ucurve.training.verify import verify_folder

    overrides = ("experiment=demo", quoted_where_needed(f"paths.runs={settings.runs}"))
    train_cells([Composed(compose("train", overrides), overrides)])
    for folder in sorted(path.parent for path in Path(settings.runs).glob(f"*/{RECORD}")):
        verify_folder(folder)
    log_line("testing and drawing the curves")
    analysis = compose("analyze", []) | {"runs": f"{settings.runs}/*", "out": settings.out}
    print_analysis(check(AnalyzeSettings, analysis))
    sys.stdout.write(what_next(settings))


def what_next(settings: DemoSettings) -> str:
    """Name commands that work when they are copied, after the activation of an environment that is not in use."""
    runs = shlex.quote(f"{settings.runs}/*")
    activate = Path(".venv/bin/activate")
    is_needed = Path.cwd() == ROOT and activate.is_file() and "VIRTUAL_ENV" not in os.environ
    lines = [
        "",
        "next, to look at the pairs behind the curves, or to train on your own text:",
        *([f"    source {activate}"] if is_needed else []),
        f"    {command('workbench', f'runs={runs}')}",
        f"    {command('train', 'model=14m tokens=10M tokenizer=char data.path=TEXTS')}",
    ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    run("demo")
