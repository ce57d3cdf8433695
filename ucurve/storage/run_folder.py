"""A run folder: the names of what is in it, and where each thing lies.

::

    config.yaml  run.json  metrics.jsonl  held_out.csv  tokenizer/
    checkpoints/step00000512/   a Hugging Face folder with manifest.json
    resume/step00000512/        the state that a cut-off run goes on from
    eval/                       what scoring leaves (``ucurve.eval.store``)

A folder that a model alone is scored into has only ``eval/``.
"""

import glob
import json
import re
from pathlib import Path
from typing import Any

CONFIGURATION = "config.yaml"
RECORD = "run.json"
METRICS = "metrics.jsonl"
HELD_OUT = "held_out.csv"  # where the run has held-out text
HELD_OUT_COLUMNS = (
    "step",
    "tokens",
    "flops",
    "loss",
    "bits_per_byte",
    "separator_bits",
    "scored_tokens",
    "scored_bytes",
)
# The columns of it, where masked tokens are predicted.
MASKED_COLUMNS = (
    "step",
    "tokens",
    "flops",
    "masked_loss",
    "scored_tokens",
)
TOKENIZER = "tokenizer"
CHECKPOINTS = "checkpoints"
RESUME = "resume"
EVAL = "eval"
RATINGS = "ratings.parquet"  # beside the pairs of a benchmark: judgments of people, with one of these two schemas
RATING_COLUMNS = ("pair", "side", "person", "value", "z")
CHOICE_COLUMNS = ("pair", "person", "right")
REPORTED = "reported.json"  # beside the pairs of a benchmark: what is shown first, if no published card says so
SENTENCES = "sentences-*.parquet"  # beside the pairs of a benchmark: the tokens of its sentences
MANIFEST = "manifest.json"  # of a checkpoint
WEIGHTS = "model.safetensors"  # of a checkpoint
STATE_FACTS = "state.json"  # of a full state

STEPS = "step*"  # what finds the names of steps
STEP_TOKENS = f"tokens-{STEPS}.parquet"  # beside the scores of a step: the log probability of each token
_STEP = re.compile(r"step(-?\d+)")


def step_name(step: int) -> str:
    """Return what a step's folder or files are named: ``step00000512``; sorted by name they are in order."""
    return f"step{step:08d}"


def parse_step(name: str) -> int | None:
    """Return the step of a name that ``step_name`` gave, without an extension; None for any other name."""
    match = _STEP.fullmatch(name)
    return None if match is None else int(match[1])


def match_folders(pattern: str) -> list[Path]:
    """Return what a path or a pattern stands for, sorted; brackets in the names of folders that exist are literal."""
    path = Path(pattern)
    there = next((folder for folder in (path, *path.parents) if folder.is_dir()), Path())
    literal = str(Path(glob.escape(str(there)), *path.parts[len(there.parts) :]))
    return [Path(found) for found in sorted(glob.glob(literal))]  # noqa: PTH207 - Path.glob refuses absolute patterns


def checkpoint_folder(run: Path, step: int) -> Path:
    """Return the folder of the checkpoint of ``step``."""
    return run / CHECKPOINTS / step_name(step)


def checkpoints(run: Path) -> list[Path]:
    """Return the checkpoint folders of a run in the order of their steps."""
    return sorted((run / CHECKPOINTS).glob(STEPS))


def parse_metrics(line: str | bytes) -> dict[str, Any] | None:
    """Read a line of ``metrics.jsonl``; None for one that is not a JSON object, such as a line torn by a kill."""
    try:
        values = json.loads(line)
    except ValueError:
        return None
    return values if isinstance(values, dict) else None
