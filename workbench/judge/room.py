"""The room judge."""

from workbench.room import Room
from workbench.settings import WorkbenchSettings


def judge_room(settings: WorkbenchSettings) -> Room:
    """Make the room."""
    del settings
    return Room("judge", "Judge", "", ())
