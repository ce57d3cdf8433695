"""The experiment tracker beside ``metrics.jsonl``: Weights & Biases, Trackio, or none."""

import contextlib
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ucurve.config import plain
from ucurve.errors import UserError
from ucurve.training import evaluation
from ucurve.training.config import RunRequest, TrackerSettings

if TYPE_CHECKING:
    import trackio
    import wandb

_AT_CHECKPOINTS = ("accuracy/*", "held_out/*")  # only checkpoints have values of these names
_CHECKPOINT = "checkpoint"  # the step of the checkpoint that values belong to


class Tracker:
    """The run of a tracker that belongs to a run folder; a run that goes on is the same run there."""

    def __init__(self, run: "wandb.Run | trackio.Run") -> None:
        self._run = run

    def log_step(self, step: int, values: Mapping[str, float]) -> None:
        """Send the values of an optimizer step."""
        self._run.log(dict(values), step=step)

    def log_checkpoint(self, step: int, values: Mapping[str, float]) -> None:
        """Send the values of the checkpoint of ``step``, which may be an earlier one than the last step sent."""
        self._run.log(dict(values), step=step)

    def finish(self, failed: bool) -> None:  # noqa: ARG002 - for trackers that keep an exit code
        """Send what is left and close the run."""
        self._run.finish()


class WandbTracker(Tracker):
    """A run of Weights & Biases, found again by its id; every run folder has its own, also within one process."""

    def __init__(self, settings: RunRequest, run: Path) -> None:
        import wandb

        started = wandb.init(
            project=settings.tracker.project,
            mode=settings.tracker.mode,
            name=settings.run_name,
            id=settings.run_name,  # by which a run that goes on is found again
            resume="allow",
            dir=str(run),
            config=plain(asdict(settings)),
            reinit="create_new",  # one process trains many runs of a grid
            settings={"quiet": True},  # else its history of each cell stands between the tables of a grid
        )
        super().__init__(started)
        for names in _AT_CHECKPOINTS:
            self._run.define_metric(names, step_metric=_CHECKPOINT)

    def log_checkpoint(self, step: int, values: Mapping[str, float]) -> None:
        """Send the values of a checkpoint over a step of their own."""
        # What is sent for a step before the last one is dropped.
        self._run.log({_CHECKPOINT: step, **values}, step=max(step, self._run.step))

    def finish(self, failed: bool) -> None:
        """Send what is left, and whether the run failed."""
        self._run.finish(exit_code=int(failed))


class TrackioTracker(Tracker):
    """A run of Trackio, in its local database (``TRACKIO_DIR``), found again by project and name."""

    def __init__(self, settings: RunRequest) -> None:
        import trackio

        name, config = settings.run_name, plain(asdict(settings))
        super().__init__(trackio.init(project=settings.tracker.project, name=name, resume="allow", config=config))

    def log_step(self, step: int, values: Mapping[str, float]) -> None:
        """Send the values of an optimizer step, without ``step``, a name that Trackio keeps for itself."""
        self._run.log({name: value for name, value in values.items() if name != "step"}, step=step)


def check_tracker(settings: TrackerSettings) -> None:
    """Check that the tracker asked for is installed.

    Raises:
        UserError: naming the extra to install.
    """
    kind = settings.kind
    if kind != "none" and importlib.util.find_spec(kind) is None:
        wanted = "'ucurve[trackio]'" if kind == "trackio" else kind
        raise UserError(f"tracker={kind}: the package {kind} is not installed: pip install {wanted}")


def start_tracker(settings: RunRequest, run: Path) -> Tracker | None:
    """Start the tracker's run that belongs to a run folder, or continue it; None without a tracker."""
    if settings.tracker.kind == "none":
        return None
    return WandbTracker(settings, run) if settings.tracker.kind == "wandb" else TrackioTracker(settings)


def track_checkpoint(tracker: Tracker, run: Path, step: int, held_out: Mapping[str, float]) -> None:
    """Send the held-out loss of a checkpoint, and its accuracies as far as it is scored."""
    values = {f"held_out/{name}": value for name, value in held_out.items()}
    values |= evaluation.read_accuracies(run).get(step, {})
    if values:
        tracker.log_checkpoint(step, values)


@contextlib.contextmanager
def tracking_late_scores(settings: RunRequest) -> Iterator[None]:
    """Send the accuracies of the checkpoints that are scored inside, after the end of training."""
    if settings.tracker.kind == "none":
        yield
        return
    before = evaluation.read_accuracies(settings.folder)
    try:
        yield
    finally:
        found = evaluation.read_accuracies(settings.folder)
        late = {step: values for step, values in found.items() if values != before.get(step)}
        tracker = start_tracker(settings, settings.folder) if late else None
        if tracker is not None:
            for step, values in late.items():
                tracker.log_checkpoint(step, values)
            tracker.finish(failed=False)
