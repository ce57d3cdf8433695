"""The room explore."""

from workbench.room import Room
from workbench.settings import WorkbenchSettings


def explore_room(settings: WorkbenchSettings) -> Room:
    """Make the room."""
    del settings
    return Room("explore", "Explore", "", ())
