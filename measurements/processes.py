"""Runs each contestant of a comparison in a process of its own, so that none has the memory of another."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def peak() -> float:
    """Return the largest resident set of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peak_of_device() -> float:
    """Return the most memory that this process has used so far, in MB: of the device where it uses one."""
    import torch

    used = torch.cuda.is_available() and torch.cuda.max_memory_allocated() > 0
    return torch.cuda.max_memory_allocated() / 2**20 if used else peak()


def environment(**more: str) -> dict[str, str]:
    """Return the variables of a process that imports from this folder and fetches nothing."""
    places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    quiet = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    return os.environ | quiet | {"PYTHONPATH": os.pathsep.join(places)} | more


def run_alone(
    script: str, out: Path, options: Mapping[str, object], threads: int | None = None
) -> dict[str, Any]:
    """Start a script with options and ``--out``, and return what it wrote there as JSON.

    Unless the option ``device`` names another one, the script sees the processor alone.
    """
    variables = environment()
    if options.get("device", "cpu") == "cpu":
        variables |= {"CUDA_VISIBLE_DEVICES": ""}
    if threads is not None:
        variables |= {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true"}
    given = [text for key, value in {**options, "out": out}.items() for text in (f"--{key}", str(value))]
    command = [sys.executable, "-W", "ignore", script, *given]
    subprocess.run(command, check=True, env=variables, stdout=subprocess.DEVNULL)
    return dict(json.loads(out.read_text()))
