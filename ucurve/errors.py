"""Errors that reach the user as one message and an exit code, never as a traceback."""

import difflib
import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ParamSpec, TypeVar

INTERRUPTED = 130  # the exit code after Ctrl-C, as shells expect it
Given = ParamSpec("Given")
Result = TypeVar("Result")


class UcurveError(Exception):
    """An error whose message is complete: the command line prints it and exits with ``exit_code``."""

    exit_code = 1


class UserError(UcurveError):
    """A mistake in what the user gave, and where it is, what is allowed and, for a name, the nearest one."""

    exit_code = 2
    __module__ = "ucurve"  # where programs find it, for the last line of a traceback

    def _render_traceback_(self) -> list[str]:
        """Show the message alone in a notebook, where IPython asks for this in place of a traceback."""
        return [f"{type(self).__name__}: {self}"]


class DamagedError(UserError):
    """A file of a run or a model that is not what was written; a run that goes on turns this into ``RunError``."""


class BusyError(UserError):
    """A run folder that another process is writing."""


class RunError(UcurveError):
    """A run that cannot go on although what the user gave was well formed (a loss that is not finite, a full disk)."""


def short_traceback(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Let a function that programs call raise a ``UserError`` with their own lines as traceback, without those here."""

    @functools.wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except UserError as error:
            raise error.with_traceback(None) from None

    return call


def nearest(name: str, allowed: Iterable[str], likeness: float = 0.5) -> str | None:
    """Return the allowed name closest to ``name``, or None when nothing is as close as ``likeness``, 1 for equal."""
    # Of names that differ in their capitals alone, the first in order is proposed.
    plain = {one.casefold(): one for one in sorted(allowed, reverse=True)}  # BLiMP is blimp
    matches = difflib.get_close_matches(name.casefold(), sorted(plain), n=1, cutoff=likeness)
    return plain[matches[0]] if matches else None


def did_you_mean(name: str, allowed: Iterable[str], likeness: float = 0.5) -> str:
    """Return the end of a message that names the closest allowed name; empty when nothing is close."""
    close = nearest(name, allowed, likeness)
    return f" Did you mean {close!r}?" if close else ""


def unknown_name(kind: str, name: str, allowed: Iterable[str], where: str = "") -> UserError:
    """Build the error for a name of some kind (``"benchmark"``) that is not one of the allowed ones."""
    choices = sorted(allowed)
    place = f" in {where}" if where else ""
    return UserError(
        f"unknown {kind} {name!r}{place}; allowed: {', '.join(choices)}.{did_you_mean(name, choices)}"
    )


def missing_folder(kind: str, path: Path) -> UserError:
    """Build the error for a folder that is not there, given for a key such as ``"run"``, with the nearest beside it."""
    beside = path.parent
    present = [entry.name for entry in beside.iterdir() if entry.is_dir()] if beside.is_dir() else []
    close = nearest(path.name, present) or next(
        (name for name in present if name.endswith(f"-{path.name}")), None
    )
    hint = f" Did you mean {str(beside / close)!r}?" if close else ""
    return UserError(f"{kind}: no folder {path}.{hint}")


def refuse_missing_folder(kind: str, path: Path) -> None:
    """Raise ``missing_folder`` unless the folder that was given for a key is there."""
    if not path.is_dir():
        raise missing_folder(kind, path)


def first_line(error: Exception) -> str:
    """Return the kind and the first line of a library's error, for a message of ours."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def may_be_hub_id(name: str, old_names: bool = False) -> bool:
    """Tell ``owner/name`` on the hub from a mistyped path: no ``owner`` is here, and it looks like no path.

    ``old_names`` takes a name without an owner too, as ``gpt2``, which the hub knows of its first repositories.
    """
    parts = name.split("/")
    if old_names and len(parts) == 1 and "." not in name:
        return not Path(name).exists()
    return len(parts) == 2 and all(parts) and name[0] not in ".~" and not Path(parts[0]).exists()
