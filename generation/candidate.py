"""A pair that may be written, and what a draw says that gives none."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Value = str | int | float | bool | None


@dataclass(frozen=True)
class Candidate:
    """A pair that may be written.

    Attributes:
        columns: what else is known of it, by the name of the column. All candidates of a source should have the same
            columns; the values are of one type within a column, or None.
    """

    good: str
    bad: str
    columns: Mapping[str, Value] = field(default_factory=dict)


class Rejected(Exception):  # noqa: N818 - a draw that fails is ordinary, not an error
    """A draw that gives no pair; ``reason`` is counted in the report."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
