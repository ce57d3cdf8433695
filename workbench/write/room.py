"""The room write."""

from workbench.room import Room
from workbench.settings import WorkbenchSettings


def write_room(settings: WorkbenchSettings) -> Room:
    """Make the room."""
    del settings
    return Room("write", "Write", "", ())
