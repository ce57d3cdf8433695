"""The rooms, in the order of the menu: most people come for the curves."""

from workbench.explore.room import explore_room
from workbench.judge.room import judge_room
from workbench.room import Room
from workbench.settings import WorkbenchSettings
from workbench.write.room import write_room


def make_rooms(settings: WorkbenchSettings) -> list[Room]:
    """Make the rooms, which share nothing but the settings."""
    return [explore_room(settings), write_room(settings), judge_room(settings)]
