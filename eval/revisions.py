"""The revisions of a published suite: the steps in their names, and finding all of them."""

import re
from pathlib import Path

from ucurve.errors import UserError, may_be_hub_id, missing_folder

ALL = "all"
_STEP = r"(?:.*[^a-z])?step[-_]?(\d+)"
_LAST_NUMBER = r"\D*(\d+)"
_CHECKPOINT = "step|checkpoint|ckpt|chck"  # a number behind another word, as in v2, is no step


def step_of(revision: str) -> int:
    """Read a step off a name: ``step512``, ``chck_512``, ``512``, or with more behind it ``step1000-tokens4B``.

    Raises:
        UserError: when it has none.
    """
    found = re.match(_STEP, revision) or re.fullmatch(_LAST_NUMBER, revision)
    if found is None:
        raise UserError(f"revisions: no step can be read off {revision!r}; names like step512 are expected")
    return int(found[1])


def all_revisions(model: str) -> list[str]:
    """Return the revisions of a model whose names have a step, as ``step512``, in the order of their steps.

    Args:
        model: a local folder, whose subfolders are its revisions, or ``owner/name`` on the hub; where the hub is out of
            reach, the revisions that its cache has.

    Raises:
        UserError: when there is no such model, or no such revision.
    """
    local = Path(model).expanduser()
    if local.is_dir():
        names = [path.parent.name for path in local.glob("*/config.json")]
    elif may_be_hub_id(model):
        names = _on_the_hub(model)
    else:
        raise missing_folder("model", local)
    found = sorted(filter(_names_a_checkpoint, names), key=step_of)
    if not found:
        raise UserError(f"revisions=[{ALL}]: {model} has no revision named like step512; name those wanted")
    return found


def _names_a_checkpoint(name: str) -> bool:
    has_step = re.match(_STEP, name) or re.fullmatch(_LAST_NUMBER, name)
    return bool(has_step and re.search(_CHECKPOINT, name))


def _on_the_hub(model: str) -> list[str]:
    from huggingface_hub import HfApi, constants

    try:
        return [branch.name for branch in HfApi().list_repo_refs(model).branches]
    except Exception as error:  # the hub's client raises errors of several libraries
        cached = Path(constants.HF_HUB_CACHE, f"models--{model.replace('/', '--')}", "refs")
        names = [path.name for path in cached.glob("*")]
        if not names:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise UserError(f"model: the hub does not list the revisions of {model} ({reason})") from error
        return names
