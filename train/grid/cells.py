"""Grids: products of axes. Each cell has the settings of one run and the overrides that give them.

All cells are checked before the first one is trained, and what they cost is listed.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ucurve.config import Composed, compose_cells
from ucurve.errors import DamagedError, UserError
from ucurve.fields import format_names
from ucurve.gather import gather
from ucurve.training.checkpoint_schedule import checkpoint_steps
from ucurve.training.config import RunRequest, RunSettings, read_request
from ucurve.training.plan import Plan
from ucurve.training.run.prepare import build_checked_tokenizer, pin_sources

_VOCABULARY = 50_000  # about that of a tokenizer whose configuration does not say its size


@dataclass(frozen=True)
class Cell:
    """One run of a grid, with the arguments of ``python train.py`` for this run alone."""

    settings: RunRequest
    overrides: tuple[str, ...]  # of Hydra's own overrides only ``hydra.searchpath`` is there

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.settings.run_name


def grid_cells(composed: Sequence[Composed]) -> list[Cell]:
    """Return the runs of a command line: one, or the cells of ``-m``, of an experiment's grid, or of both.

    Raises:
        UserError: when a cell is not well formed, or two unlike cells have one name.
    """
    expanded: list[Composed] = []
    for one in composed:
        blocks = own_grid(one.values)
        # Without the last override each cell would be expanded again.
        overrides = [(*one.overrides, *cell, "grid=[]") for cell in axis_cells(blocks, one.overrides)]
        expanded += compose_cells("train", overrides) if blocks else [one]
    found: list[Cell] = []
    problems: dict[str, list[str]] = {}
    for one in expanded:
        try:
            settings = read_request(one.values)
            if isinstance(settings, RunSettings):
                # It raises an error for a schedule that does not fit the steps.
                checkpoint_steps(settings.schedule, settings.steps, settings.seen_per_step)
            found.append(Cell(settings, one.overrides))
        except UserError as error:
            problems.setdefault(str(error), []).append(" ".join(one.overrides))
    if problems:
        raise combine_problems(problems, len(expanded))
    kept: dict[str, Cell] = {}
    # Two blocks may have the same cell, which is then one run.
    twins = {cell.name: cell for cell in found if kept.setdefault(cell.name, cell).settings != cell.settings}
    if twins:
        raise _twins_error([(kept[name], twins[name]) for name in sorted(twins)], composed)
    return list(kept.values())


def longest_first(cells: Sequence[Cell]) -> list[Cell]:
    """Sort cells by what they compute, budget times parameters, so that no worker begins a long one at the end."""

    def size(cell: Cell) -> int:
        settings = cell.settings
        vocabulary = settings.tokenizer.vocab_size or _VOCABULARY
        parameters = settings.model.design.count_parameters(vocabulary, settings.batch.length)
        # A budget in words has no tokens yet; for an order its words are near enough.
        return (settings.tokens or settings.words or 0) * parameters.total

    return sorted(cells, key=size, reverse=True)


def axis_cells(blocks: Sequence[Mapping[str, object]], overrides: Sequence[str]) -> list[list[str]]:
    """Return the overrides of every cell of an experiment's ``grid``, in order and without repeats."""
    found = dict.fromkeys(
        tuple(f"{key}={format_value(value)}" for key, value in zip(axes, chosen, strict=True))
        for axes in block_axes(blocks, overrides)
        for chosen in itertools.product(*axes.values())
    )
    return [list(cell) for cell in found]


def block_axes(blocks: Sequence[Mapping[str, object]], overrides: Sequence[str]) -> list[dict[str, list[object]]]:
    """Return the values of every key of each block that the user leaves to it.

    With a group that the user overrides (``schedule=pythia``) the keys below it are the user's choice too.

    Raises:
        UserError: when an axis has no value, or a value is no plain one.
    """
    fixed = _given(overrides)
    found = []
    for number, block in enumerate(blocks):
        axes = {
            key: list(values) if isinstance(values, list | tuple) else [values]
            for key, values in block.items()
            if not _is_given(key, fixed)
        }
        for key, values in axes.items():
            if not values or any(isinstance(value, dict | list | tuple) for value in values):
                raise UserError(
                    f"grid.{number}.{key}: got {block[key]!r}; a value, or a list of at least one, is expected"
                )
        found.append(axes)
    return found


def _given(overrides: Sequence[str]) -> set[str]:
    return {override.split("=", 1)[0].lstrip("+") for override in overrides}


def _is_given(key: str, fixed: set[str]) -> bool:
    return key in fixed or key.partition(".")[0] in fixed


def own_grid(values: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the blocks of axes that a composed configuration has under ``grid``."""
    blocks = values.get("grid") or []
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise UserError(f"grid: got {blocks!r}; a list of axes is expected, as [{{seed: [0, 1]}}]")
    return blocks


def combine_problems(problems: dict[str, list[str]], cells: int) -> UserError:
    """Return one error for all cells; a mistake that all of them share appears once."""
    if len(problems) == 1 and len(next(iter(problems.values()))) == cells:
        return UserError(next(iter(problems)))
    lines = [f"{' | '.join(names)}: {message}" for message, names in problems.items()]
    return UserError("\n  ".join(["some cells of the grid are not well formed; nothing was started:", *lines]))


def _twins_error(twins: Sequence[tuple[Cell, Cell]], composed: Sequence[Composed]) -> UserError:
    """Say which cells have one name, what tells them apart, and what the user's own values did to an experiment."""
    first, second = (set(cell.overrides) for cell in twins[0])
    apart = [", ".join(sorted(one - other)) for one, other in ((first, second), (second, first))]
    text = f"two cells of the grid have one name: {', '.join(one.name for one, _ in twins)}"
    text += f"; the first two differ in {' against '.join(filter(None, apart))}"
    # The axes of an experiment for which the user has given one value instead.
    replaced = dict.fromkeys(
        key
        for one in composed
        for block in own_grid(one.values)
        for key in block
        if _is_given(key, _given(one.overrides))
    )
    if replaced:
        return UserError(
            f"{text}. {', '.join(f'{key}=' for key in replaced)} on the command line replaces the experiment's own "
            "values in every block of its grid, so cells of several blocks became one run: leave it out, or give what "
            "differs one value on the command line too"
        )
    key = min(first ^ second).partition("=")[0].lstrip("+")
    # A choice of a group is no value.
    name = f", as 'name={key.rpartition('.')[2]}_${{{key}}}'" if "." in key else ""
    return UserError(f"{text}; an axis that is not in the name needs name= to tell its runs apart{name}")


def format_value(value: object) -> str:
    """Return the value of an override in the syntax of Hydra."""
    return "null" if value is None else str(value)


def check_cells(cells: Sequence[Cell]) -> None:
    """Build the tokenizers of a grid and check that their contexts hold the pairs; one error names what does not fit.

    Cells that differ in neither tokenizer, text, context nor scoring are checked once.

    Raises:
        UserError: for all cells at once, naming them.
    """
    alike = gather(
        (repr([one.tokenizer, one.data, one.batch.length, one.has_masks, one.eval, one.paths]), cell)
        for cell, one in [(cell, cell.settings) for cell in cells]
    )
    problems: dict[str, list[str]] = {}
    for group in alike.values():
        try:
            build_checked_tokenizer(pin_sources(group[0].settings))
        except DamagedError:
            continue  # of this run alone, which says so when its turn comes
        except UserError as error:
            problems.setdefault(str(error), []).append(format_names([cell.name for cell in group]))
    if problems:
        raise combine_problems(problems, len(alike))


Row = Mapping[str, str | float]  # the name of a run as ``cell``, and numbers

_FORMS: dict[str, tuple[str, Callable[[float], str]]] = {
    "cell": ("cell", str),
    "parameters": ("parameters", "{:,}".format),
    "flops": ("FLOPs", "{:.3e}".format),
    "disk_bytes": ("disk", lambda size: f"{size / 1e9:.2f} GB"),
    "hours": ("hours", "{:.2f}".format),
    "scoring_hours": ("scoring", "{:.2f}".format),
}


def list_costs(plans: Sequence[Plan], measure: Callable[[Plan], Mapping[str, float]] | None = None) -> list[Row]:
    """Return a row for each run, with FLOPs (6ND) of its own steps, disk and what is measured, and one of totals."""
    costs: list[dict[str, float]] = []
    for plan in plans:
        known = {
            "parameters": plan.parameters.total,
            "flops": plan.flops(plan.own_steps * plan.settings.batch.tokens),
            "disk_bytes": plan.disk_bytes,  # this is of the whole run, unlike the FLOPs
        }
        costs.append(known | dict(measure(plan) if measure is not None else {}))
    totals = {key: sum(one[key] for one in costs) for key in costs[0]}
    names = [*(plan.settings.run_name for plan in plans), "total"]
    return [{"cell": name, **numbers} for name, numbers in zip(names, [*costs, totals], strict=True)]


def format_costs(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Return the rows of ``list_costs`` in the words of a table for people."""
    return [
        {_FORMS[key][0]: value if isinstance(value, str) else _FORMS[key][1](value) for key, value in row.items()}
        for row in rows
    ]
