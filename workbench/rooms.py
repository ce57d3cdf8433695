"""The rooms, in the order of the menu: most people come for the curves."""

from ucurve.workbench.explore.room import explore_room
from ucurve.workbench.judge.room import judge_room
from ucurve.workbench.room import Room
from ucurve.workbench.settings import WorkbenchSettings
from ucurve.workbench.write.room import write_room


def make_rooms(settings: WorkbenchSettings) -> list[Room]:
    """Make the rooms, which share nothing but the settings."""
    return [explore_room(settings), write_room(settings), judge_room(settings)]
