"""The type that ``dtype=auto`` stands for."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from ucurve.eval.models.folder import read_config
from ucurve.eval.models.targets import Target
from ucurve.eval.scoring.loading import Dtype, on_accelerator
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.store.keys import find_key, scores_below
from ucurve.progress import log_line

_HALF: tuple[Dtype, ...] = ("bfloat16", "float16")


def choose_dtype(settings: ScoreSettings, targets: Sequence[Target], folder: Path | None = None) -> ScoreSettings:
    """Put a type in the place of ``auto``, one for all targets, and say what it costs.

    Models of this suite are scored in float32. For others it is the type of the scores that are in the folder already,
    else on an accelerator the half precision in which the first target's weights are stored, else float32.
    """
    if settings.dtype != "auto":
        return settings
    if targets[0].ours:
        return replace(settings, dtype="float32")
    stored = set() if folder is None else {dtype_of(scores) for scores in scores_below(folder)} - {None}
    if len(stored) == 1 and (known := [name for name in get_args(Dtype) if name in stored]):
        return replace(settings, dtype=known[0])
    saved = _saved_dtype(targets[0].folder)
    if saved is None or not on_accelerator(settings.device):
        return replace(settings, dtype="float32")
    gigabytes = targets[0].weight_bytes() / 1e9
    log_line(
        f"dtype=auto: {targets[0].name} is scored in {saved}, the type of its weights ({gigabytes:.2g} GB), with a "
        "float32 log-softmax; dtype=float32 takes twice the memory, and by an estimate for an H100 ten times as long"
    )
    return replace(settings, dtype=saved)


def dtype_of(scores: Path) -> object:
    """Return the type of a stored score; None where its key cannot be read."""
    key = find_key(scores)
    return None if key is None else key.settings.get("dtype")


def _saved_dtype(folder: Path) -> Dtype | None:
    """Return the half precision in which a model says that it was stored; None where it names another type or none."""
    config = read_config(folder)
    text = config.get("text_config")
    places = (config, text if isinstance(text, dict) else {})
    named = {place.get(name) for place in places for name in ("dtype", "torch_dtype")}
    return next((half for half in _HALF if half in named), None)
