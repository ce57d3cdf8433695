"""The rolling full state that a cut-off run goes on from; never the place a study reads from.

``resume/step00000123/`` holds ``state.safetensors`` and ``state.json`` with its hash. A state is written whole before
an older one goes, and the two newest are kept: if the newest is damaged, the one before it is used, and that is said.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from train.disk import disk_faults
from ucurve.errors import UserError
from ucurve.files import new_folder, remove_leftovers, sha256_file, write_json
from ucurve.progress import say

_STATE, _FACTS = "state.safetensors", "state.json"
_KEPT = 2


def save_state(run: Path, step: int, state: dict[str, torch.Tensor], owner: dict[str, str]) -> None:
    """Write the state after ``step`` and remove all but the newest states.

    Args:
        run: run folder.
        step: optimizer steps taken.
        state: the engine's full state.
        owner: hashes of what the state belongs to.
    """
    with new_folder(state_folder(run, step)) as temporary:
        with disk_faults():
            save_file({name: value.contiguous() for name, value in state.items()}, temporary / _STATE)
        write_json(temporary / _FACTS, owner | {"step": step, "state_sha256": sha256_file(temporary / _STATE)})
    for old in _states(run / "resume")[_KEPT:]:
        shutil.rmtree(old)


def newest_state(run: Path, owner: dict[str, str]) -> int | None:
    """Return the step of the newest state that is whole, or None; damaged ones are named on standard error.

    Raises:
        UserError: when a whole state belongs to another configuration or other data.
    """
    folder = run / "resume"
    if not folder.is_dir():
        return None
    remove_leftovers(folder)
    for candidate in _states(folder):
        facts = _facts(candidate)
        if facts is not None and sha256_file(candidate / _STATE) == facts["state_sha256"]:
            _refuse_stranger(candidate, facts, owner)
            return int(facts["step"])
        say(f"{candidate} is damaged; going on from an older state, or from the start where there is none")
    return None


def load_state(run: Path, step: int) -> dict[str, torch.Tensor]:
    """Read the state after ``step``, which ``newest_state`` found whole."""
    state: dict[str, torch.Tensor] = load_file(state_folder(run, step) / _STATE)
    return state


def state_folder(run: Path, step: int) -> Path:
    """Return the folder of the state after ``step``."""
    return run / "resume" / f"step{step:08d}"


def _refuse_stranger(folder: Path, facts: dict[str, Any], owner: dict[str, str]) -> None:
    wrong = [key for key, value in owner.items() if facts.get(key) != value]
    if wrong:
        raise UserError(f"{folder} is the state of another run: {', '.join(wrong)} differ")


def _states(folder: Path) -> list[Path]:
    return sorted(folder.glob("step*"), reverse=True)


def _facts(folder: Path) -> dict[str, Any] | None:
    try:
        facts: dict[str, Any] = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return facts if (folder / _STATE).is_file() and {"step", "state_sha256"} <= set(facts) else None
