"""Experiment trackers beside ``metrics.jsonl``."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from train.config import RunSettings, TrackerSettings
from ucurve.errors import UserError


class Tracker(Protocol):
    """An outside place that the numbers of ``metrics.jsonl`` are sent to."""

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Send the numbers of one step."""

    def finish(self, exit_code: int) -> None:
        """Close the record; 0 means the run ended well."""


class NoTracker:
    """Stands in where no tracker is asked for."""

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Do nothing."""

    def finish(self, exit_code: int) -> None:
        """Do nothing."""


class WandbTracker:
    """Weights & Biases; offline unless the settings say otherwise, and one run of its own for every run folder."""

    def __init__(self, settings: RunSettings, run: Path, configuration: Mapping[str, Any]) -> None:
        import wandb

        self._run = wandb.init(
            project=settings.tracker.project,
            mode=settings.tracker.mode,
            name=settings.run_name,
            id=settings.run_name,
            resume="allow",
            dir=str(run),
            config=dict(configuration),
            reinit="create_new",
        )

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Send the numbers of one step; see ``Tracker.log``."""
        self._run.log(dict(metrics), step=step)

    def finish(self, exit_code: int) -> None:
        """Close the record; see ``Tracker.finish``."""
        self._run.finish(exit_code=exit_code)


def check_tracker(settings: TrackerSettings) -> None:
    """Check that the tracker asked for is installed.

    Raises:
        UserError: saying how to install it.
    """
    if settings.kind == "wandb" and importlib.util.find_spec("wandb") is None:
        raise UserError("tracker=wandb: the package wandb is not installed; install ucurve with the extra [wandb]")


def make_tracker(settings: RunSettings, run: Path, configuration: Mapping[str, Any]) -> Tracker:
    """Return the tracker that the settings name."""
    if settings.tracker.kind == "wandb":
        return WandbTracker(settings, run, configuration)
    return NoTracker()
