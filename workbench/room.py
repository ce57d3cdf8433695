"""What a room is: its page, its script and the requests that its page makes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ucurve.workbench.replies import Handler


@dataclass(frozen=True)
class Action:
    """A request that a page makes."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str  # below ``/<room>/api/``, with names in braces as Starlette reads them
    handler: Handler  # gets the values of path, query and body; what it returns is sent as JSON


@dataclass(frozen=True)
class File:
    """A file of the user's that is sent as it is."""

    content: bytes
    media_type: str = "text/plain; charset=utf-8"
    # its Content-Security-Policy. With ``sandbox``, the file is of no origin, so that nothing in it can make the
    # requests of the rooms
    policy: str = "sandbox; default-src 'none'"


@dataclass(frozen=True)
class Room:
    """A room of the workbench."""

    name: str  # in addresses; the page is ``templates/<name>.html``, its script ``static/<name>.js``
    title: str  # in the navigation
    summary: str  # what it is for, in a sentence
    needs: str  # what somebody has to have first
    actions: tuple[Action, ...]
    # gives the file of an address below ``/<name>/files/``, or raises UserError (status 404)
    files: Callable[[str], File] | None = None
    end: Callable[[], object] = lambda: None  # is called when the workbench ends
