"""The regular expressions of cards, which nothing may keep busy for ever: one that takes too long is an error."""

from functools import cache
from typing import Annotated

import regex
from pydantic import AfterValidator

from ucurve.errors import UserError

_SECONDS = 1.0  # of processor time for one text; no expression that a card needs takes a thousandth of it
_SHOWN = 40  # characters of the text in the message


def check_expression(expression: str) -> str:
    """Return a regular expression that can be used; a ``ValueError`` for any other text."""
    try:
        _compiled(expression)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{expression!r} is not a regular expression ({error})") from error
    return expression


def search(expression: str, text: str, place: str) -> bool:
    """Tell whether an expression matches in a text; an error names the text's ``place`` if that takes over a second."""
    try:
        return _compiled(expression).search(text, timeout=_SECONDS) is not None
    except TimeoutError as error:
        raise _too_slow(expression, text, place) from error


def groups(expression: str, text: str, place: str) -> dict[str, str]:
    """Return the named groups of a match of the whole text, empty without a match; errors as in ``search``."""
    try:
        found = _compiled(expression).fullmatch(text, timeout=_SECONDS)
    except TimeoutError as error:
        raise _too_slow(expression, text, place) from error
    return {} if found is None else {name: value or "" for name, value in found.groupdict().items()}


Expression = Annotated[str, AfterValidator(check_expression)]


@cache  # a card's expression is asked for every row
def _compiled(expression: str) -> "regex.Pattern[str]":
    return regex.compile(expression)


def _too_slow(expression: str, text: str, place: str) -> UserError:
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return UserError(
        f"{place}: the regular expression {expression!r} takes more than {_SECONDS:g} s on {shown!r}; "
        "write it without a repetition inside of a repetition, such as (a+)+"
    )
