"""Whether a count of words in the training text of a run would tell the good sentence of a pair."""

from pathlib import Path
from typing import Final

import pandas as pd

from ucurve.eval.edits import find_edits
from ucurve.generation.lengths import LOPSIDED
from ucurve.text_table import format_table
from ucurve.token_stream.run import RunTokens

_KINDS: Final = {"word": "word", "bigram": "two words"}


def describe_word_counts(run: Path, pairs: pd.DataFrame) -> str:
    """Say for each paradigm how often the sentence is good whose differing words a run has read more often.

    Counted are the rarest word, and the rarest two words in a row, of those in which the sentences differ, in all that
    the run was trained on. A sentence without a word of its own, and equal counts, are half right.
    """
    found = find_edits(pairs).rarest(run, RunTokens.of(run).steps)
    right = pd.DataFrame({shown: _right(found, kind) for kind, shown in _KINDS.items()})
    by_paradigm = right.groupby(pairs["paradigm"].to_numpy(), sort=False)
    shares = 100 * by_paradigm.mean()
    table = shares.round(1).rename(columns="more frequent {}, %".format).assign(pairs=by_paradigm.size())
    values = table.reset_index(names="paradigm").to_numpy(dtype=object)
    rows = [dict(zip(["paradigm", *table.columns], row, strict=True)) for row in values]
    told = int((shares > 100 * LOPSIDED).any(axis=1).sum())
    return (
        f"the sentence whose differing words stood more often in the text that {run.name} was trained on is the good "
        f"one in\n{format_table(rows)}\n"
        "(equally often, or never, counts half). "
        f"In {told} of {len(rows)} paradigms a count tells more than {LOPSIDED:.0%} of the pairs; being right in "
        "them is no proof of grammar."
    )


def _right(found: pd.DataFrame, kind: str) -> pd.Series:
    """Return 1, 0 or, where it cannot be told, .5 for each pair."""
    difference = found[f"log_frequency_{kind}_good"] - found[f"log_frequency_{kind}_bad"]
    return difference.gt(0) + difference.fillna(0).eq(0) / 2
