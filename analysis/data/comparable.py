"""Which lines cannot be compared by bits per byte, because their tokenizers do not know some of the text."""

from collections.abc import Sequence

import pandas as pd

from ucurve.analysis.data.runs import Run

_MOST_UNKNOWN = 0.001  # of the bytes of the held-out text
_MARK = " †"


def unknown_mark(run: Run) -> str:
    """Return what follows the name of a run's line in comparisons by bits per byte: a mark, or nothing."""
    return _MARK if _unknown_share(run) > _MOST_UNKNOWN else ""


def mark_unknown(table: pd.DataFrame, runs: Sequence[Run]) -> pd.DataFrame:
    """Put the mark behind the lines in the column ``line`` of a table."""
    marks = {run.line: run.line + unknown_mark(run) for run in runs}
    return table.assign(line=table["line"].astype(str).replace(marks))


def describe_unknown(runs: Sequence[Run]) -> list[str]:
    """Say which lines have the mark and why; empty where none has it."""
    shares = {run.line: _unknown_share(run) for run in runs if unknown_mark(run)}
    return [
        f"† {line}: its tokenizer does not know {share:.2%} of the bytes of the held-out text. All that it does not "
        "know is one token, which takes fewer bits than the text, so its bits per byte are too low beside those of "
        "other lines."
        for line, share in shares.items()
    ]


def _unknown_share(run: Run) -> float:
    held_out = run.facts.held_out if run.facts and run.facts.objective in ("causal", "hybrid") else None
    return held_out.unknown_bytes / held_out.bytes if held_out else 0.0
