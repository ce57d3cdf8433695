"""Grids: axes whose products are cells, each cell the overrides of one run."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from ucurve.errors import UserError


def cells(blocks: Sequence[Mapping[str, Any]], overrides: Sequence[str]) -> list[list[str]]:
    """Return the overrides of every cell, in order and without repeats.

    Args:
        blocks: products of axes: each maps a configuration key or group to its values.
        overrides: the user's own overrides; a key given there takes that value in every cell instead of the axis.

    Raises:
        UserError: when an axis is no list or is empty.
    """
    fixed = {override.split("=", 1)[0].lstrip("+") for override in overrides}
    found: dict[tuple[str, ...], None] = {}
    for number, block in enumerate(blocks):
        axes = {key: values for key, values in block.items() if key not in fixed}
        for key, values in axes.items():
            if not isinstance(values, list | tuple) or not values:
                raise UserError(f"grid.{number}.{key}: got {values!r}; an axis is a list of at least one value")
        for chosen in itertools.product(*axes.values()):
            found[tuple(f"{key}={_written(value)}" for key, value in zip(axes, chosen, strict=True))] = None
    return [list(cell) for cell in found]


def _written(value: Any) -> str:
    return "null" if value is None else str(value)
