"""The experiment tracker beside ``metrics.jsonl``: Weights & Biases, or none."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from train.config import RunSettings, TrackerSettings
from ucurve.errors import UserError


def check_tracker(settings: TrackerSettings) -> None:
    """Check that the tracker asked for is installed.

    Raises:
        UserError: naming the extra to install.
    """
    if settings.kind == "wandb" and importlib.util.find_spec("wandb") is None:
        raise UserError("tracker=wandb: the package wandb is not installed; install ucurve with the extra [wandb]")


def start_tracker(settings: RunSettings, run: Path, configuration: Mapping[str, Any]) -> Any:
    """Start the run of Weights & Biases that belongs to a run folder, or continue it; None without a tracker.

    It is offline unless the settings say otherwise. Every run folder has a run of its own, also where one process
    trains several.
    """
    if settings.tracker.kind == "none":
        return None
    import wandb

    return wandb.init(
        project=settings.tracker.project,
        mode=settings.tracker.mode,
        name=settings.run_name,
        id=settings.run_name,
        resume="allow",
        dir=str(run),
        config=dict(configuration),
        reinit="create_new",
    )
