"""The runs of a study as a small table that shows itself."""

from collections.abc import Collection

import pandas as pd

from ucurve.analysis.data.runs import NOT_TRAINED_HERE, Run
from ucurve.fields import format_count

_MOST_RUNS = 20  # that are listed


class RunList(list[Run]):
    """The runs of a study, which show themselves as a table."""

    def _repr_html_(self) -> str:
        return table_html(describe_runs(self))

    def __repr__(self) -> str:
        return table_text(describe_runs(self))


def describe_runs(runs: Collection[Run]) -> pd.DataFrame:
    """Tabulate model, tokens, seed and status of each run."""
    rows = []
    for run in runs:
        facts = run.facts
        seeds = sorted({facts.seeds.init, facts.seeds.data}) if facts else []
        rows.append(
            {
                "run": run.label,
                "model": run.model,
                "tokens": format_count(facts.tokens_budget) if facts else "",
                "seed": " and ".join(map(str, seeds)),
                "status": facts.status if facts else NOT_TRAINED_HERE,
            }
        )
    return pd.DataFrame(rows)


def table_html(table: pd.DataFrame) -> str:
    """Write the first rows of a table of runs as HTML."""
    more = f"<p>and {len(table) - _MOST_RUNS} more runs</p>" if len(table) > _MOST_RUNS else ""
    named = table.rename(columns=lambda name: str(name).replace("_", " "))
    return str(named.head(_MOST_RUNS).to_html(index=False)) + more


def table_text(table: pd.DataFrame) -> str:
    """Write the first rows of a table of runs as text."""
    more = f"\nand {len(table) - _MOST_RUNS} more runs" if len(table) > _MOST_RUNS else ""
    return str(table.head(_MOST_RUNS).to_string(index=False)) + more
