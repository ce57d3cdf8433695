"""The room Explore: curves of scored runs under any linking function, and the pairs behind each point."""

from ucurve.analysis.data.groups import columns
from ucurve.analysis.data.runs import Run
from ucurve.errors import UserError
from ucurve.workbench.explore.curves import curve_figure, curve_rows, curves, linking_functions, read_asked
from ucurve.workbench.explore.library import Library, list_changes, list_scores
from ucurve.workbench.explore.pairs import KINDS, list_pairs, pair_margins
from ucurve.workbench.explore.seen import pair_card, seen_before
from ucurve.workbench.explore.tokens import TokenTables
from ucurve.workbench.explore.verdicts import shape_verdicts
from ucurve.workbench.replies import Values, text_of
from ucurve.workbench.room import Action, Room
from ucurve.workbench.settings import WorkbenchSettings


def explore_room(settings: WorkbenchSettings) -> Room:
    """Make the room."""
    library, tokens = Library(settings.run_patterns), TokenTables()
    return Room(
        "explore",
        "Explore",
        "Curves of scored runs under any linking function, and the pairs that make them.",
        "a run that was scored on a benchmark, such as the demo's.",
        (
            Action("GET", "runs", lambda _: {"runs": list(map(_describe, library.runs())), "kinds": KINDS}),
            Action("GET", "benchmark", lambda values: _benchmark(library, values)),
            Action("GET", "curves", lambda values: curves(library, read_asked(values))),
            Action("GET", "table", lambda values: curve_rows(library, read_asked(values))),
            Action("GET", "figure", lambda values: curve_figure(library, read_asked(values))),
            Action(
                "GET",
                "changes",
                lambda values: list_changes(library, text_of(values, "benchmark"), text_of(values, "scorer")),
            ),
            Action("GET", "shapes", lambda values: shape_verdicts(library, read_asked(values))),
            Action("GET", "pairs", lambda values: list_pairs(library, read_asked(values), values)),
            Action("GET", "pair", lambda values: pair_margins(library, read_asked(values), values)),
            Action("GET", "card", lambda values: pair_card(library, read_asked(values), values)),
            Action("GET", "seen", lambda values: seen_before(library, read_asked(values), values)),
            Action("GET", "tokens", lambda values: tokens.table(library, read_asked(values), values)),
        ),
    )


def _describe(run: Run) -> dict[str, object]:
    return {
        "run": run.label, "line": run.line, "status": run.status, "model": run.model,
        "scored": list_scores(run),
    }  # fmt: skip


def _name(run: Run) -> str:
    """Name a run by its line and seeds, as its folder may be called anything."""
    if run.facts is None or run.is_alone:
        return run.label
    seeds = dict.fromkeys((run.facts.seeds.init, run.facts.seeds.data))
    return f"{run.line}, seed{'s' if len(seeds) > 1 else ''} {' and '.join(map(str, seeds))}"


def _benchmark(library: Library, values: Values) -> dict[str, object]:
    """List what can be drawn of a benchmark: linking functions, columns of its pairs, factors that vary, and runs."""
    matrices = library.matrices(text_of(values, "benchmark"), text_of(values, "scorer"))
    functions = linking_functions(matrices)
    if not functions:
        raise UserError("no linking function can be computed of what is stored")
    pairs = matrices[0].pairs
    design = matrices[0].run.design.among(one.run.label for one in matrices if one.run.facts)
    return {
        "linkings": functions,
        "columns": columns(pairs),
        "pairs": len(pairs),
        "phenomena": list(matrices[0].shared.group("phenomenon").names),
        "factors": {factor: design.levels(factor) for factor in design.varying},
        "runs": [
            {
                "run": one.run.label,
                "name": _name(one.run),
                "line": one.run.line,
                "steps": one.steps,
                "tokens": one.tokens,
                "status": one.run.status,
                "levels": {
                    factor: str(level)
                    for factor in design.varying
                    if (level := design.level(one.run.label, factor)) is not None
                },
            }
            for one in matrices
        ],
    }
