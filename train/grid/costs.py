"""What the runs of a grid cost, and tables for people."""

from collections.abc import Callable, Mapping, Sequence

from ucurve.training.plan import Plan

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
            "disk_bytes": plan.disk_bytes,
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
