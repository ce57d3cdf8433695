"""Full states: the two newest, from which an interrupted run continues, and those of steps that the run keeps."""

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ucurve.errors import DamagedError, RunError, UserError
from ucurve.progress import log_line
from ucurve.storage.facts import StateFacts, read_state_facts, write_state_facts
from ucurve.storage.faults import foreign_faults
from ucurve.storage.files import (
    contents,
    disk_faults,
    has_hash,
    link_or_copy,
    new_folder,
    remove_leftovers,
    sha256_file,
)
from ucurve.storage.run_folder import RESUME, STATE_FACTS, STEPS, parse_step, step_name

if TYPE_CHECKING:  # verify.py answers a mistake before torch is imported
    import torch


_STATE = "state.safetensors"
_KEPT = 2  # the newest, in case one is damaged


def save_state(
    run: Path, step: int, state: dict[str, "torch.Tensor"], owner: dict[str, str], kept: Collection[int] = ()
) -> None:
    """Write the state after ``step`` with the hashes of its ``owner``, and remove all but the newest and the kept."""
    from safetensors.torch import save_file

    with new_folder(state_folder(run, step)) as temporary:
        with disk_faults():
            # safetensors takes contiguous tensors only.
            save_file({name: value.contiguous() for name, value in state.items()}, temporary / _STATE)
        facts = StateFacts(**owner, step=step, state_sha256=sha256_file(temporary / _STATE))
        write_state_facts(temporary, facts)
    names = set(map(step_name, kept))
    # The newest state comes first.
    for old in [folder for folder in _states(run / RESUME) if folder.name not in names][_KEPT:]:
        shutil.rmtree(old)


def check_kept_states(run: Path, kept: Collection[int], finished: bool) -> None:
    """Check that no state is to be kept that a run has passed without keeping it.

    Raises:
        UserError: naming the step.
    """
    newest = next((folder.name for folder in _states(run / RESUME)), "")
    for step in sorted(kept):
        # Names of steps have leading zeros, so they compare as the steps do.
        passed = finished or step_name(step) < newest
        if passed and not state_folder(run, step).exists():
            raise UserError(
                f"resume.keep_states: {run} is past step {step}, whose state was not kept; leave it out"
            )


def copy_state(source: Path, run: Path, step: int, owner: dict[str, str]) -> None:
    """Give a run the state after ``step`` of another run, as one of its own.

    Raises:
        RunError: when the other run has no whole state of that step.
    """
    facts = _whole_facts(state_folder(source, step))
    if facts is None:
        raise RunError(
            f"{state_folder(source, step)}: no whole resume state to go on from; restore it from a copy"
        )
    with new_folder(state_folder(run, step)) as temporary:
        link_or_copy(state_folder(source, step) / _STATE, temporary / _STATE)
        # The copy gets the hashes of the run that it is for.
        write_state_facts(temporary, facts.model_copy(update=owner))


def find_newest_state(run: Path, owner: dict[str, str]) -> int | None:
    """Return the step of the newest state that is whole and of this ``owner``, or None; damaged ones are logged.

    Raises:
        UserError: when a whole state belongs to another configuration or other data.
    """
    folder = run / RESUME
    if not folder.is_dir():
        return None
    remove_leftovers(folder)
    for candidate in _states(folder):
        facts = _whole_facts(candidate)
        if facts is not None:
            wrong = [key for key, value in owner.items() if getattr(facts, key) != value]
            # A whole state of another run is no damage but a mistake of the user.
            if wrong:
                raise UserError(f"{candidate} is the state of another run: {', '.join(wrong)} differ")
            return facts.step
        log_line(f"{candidate} is damaged; going on from an older state, or from the start where there is none")
    return None


def newest_step(run: Path) -> int:
    """Return the step of the newest state, whether or not it is whole; 0 where there is none."""
    return max((parse_step(folder.name) or 0 for folder in _states(run / RESUME)), default=0)


def has_state(run: Path, step: int, state_sha256: str) -> bool:
    """Tell whether a run has the state after ``step``, whole and with a hash."""
    facts = _whole_facts(state_folder(run, step))
    return facts is not None and facts.state_sha256 == state_sha256


def load_state(run: Path, step: int) -> dict[str, "torch.Tensor"]:
    """Read the state after ``step``, which was found whole."""
    from safetensors.torch import load_file

    state: dict[str, torch.Tensor] = load_file(state_folder(run, step) / _STATE)
    return state


def metrics_sha256(run: Path, step: int) -> str | None:
    """Return the hash of the lines of ``metrics.jsonl`` when the state after ``step`` was saved; None without it."""
    facts = _read_facts(state_folder(run, step))
    return None if facts is None else facts.metrics_sha256


def state_faults(run: Path, kept: Collection[int] = ()) -> list[str]:
    """Name what is not whole in ``resume/``, what does not belong there, and states that are missing of those kept."""
    folder = run / RESUME
    wanted = [state_folder(run, step) for step in sorted(kept)]
    problems = [f"{path}: missing, and resume.keep_states names it" for path in wanted if not path.exists()]
    for path in contents(folder) if folder.is_dir() else ():
        facts = _whole_facts(path)
        # A state in a folder that names another step would be found as that step's.
        if facts is None or state_folder(run, facts.step) != path:
            problems += foreign_faults([path], "no whole resume state; it may be removed")
        else:
            more = [inner for inner in contents(path) if inner.name not in (_STATE, STATE_FACTS)]
            problems += foreign_faults(more, "not part of a resume state")
    return problems


def state_folder(run: Path, step: int) -> Path:
    """Return the folder of the state after ``step``."""
    return run / RESUME / step_name(step)


def _states(folder: Path) -> list[Path]:
    # Names of steps have leading zeros, so their order is that of the steps.
    return sorted(folder.glob(STEPS), reverse=True)


def _whole_facts(folder: Path) -> StateFacts | None:
    """Return the facts of a state; None for one that is not whole."""
    facts = _read_facts(folder)
    return facts if facts is not None and has_hash(folder / _STATE, facts.state_sha256) else None


def _read_facts(folder: Path) -> StateFacts | None:
    try:
        return read_state_facts(folder)
    except DamagedError:
        return None
