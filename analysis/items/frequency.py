"""How often the words and word pairs in which a pair's sentences differ stood in the training text of each run."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pandas as pd

from ucurve.analysis.data.groups import Pairs
from ucurve.analysis.items.histories import History
from ucurve.errors import UserError
from ucurve.eval.edits import FREQUENCIES, Edits, find_edits

_COLUMNS = ("run", "line", "pair", "phenomenon", "paradigm", "good", "bad")


def frequency_table(histories: Sequence[History]) -> pd.DataFrame:
    """Look up the rarest word and the rarest bigram of the edit of each pair, in what each run had seen at its end.

    The end is the last scored checkpoint. ``FREQUENCIES`` are log10 of (count + 1) per million words seen; NaN, and the
    word missing, where the sentence has no word of its own or no bigram at the edit.
    """
    edits: dict[int, Edits] = {}
    tables = []
    for history in histories:
        shared = history.shared
        if id(shared) not in edits:
            edits[id(shared)] = find_edits(shared.table)
        table = shared.table[["pair", "phenomenon", "paradigm", "good", "bad"]].reset_index(drop=True)
        table = table.assign(run=history.run.label, line=history.run.line)[list(_COLUMNS)]
        run, step = history.run, int(history.checkpoints["step"].max())
        if run.facts is None:
            raise UserError(
                f"{run.label} was not trained here, so it is not known how often words stood in its training text; "
                "open the runs that were trained here without it"
            )
        if step < 1:
            raise UserError(f"{run.label}: only step 0 is scored, at which it had seen no text")
        tables.append(table.join(edits[id(shared)].rarest(history.run.folder, step)))
    return pd.concat(tables, ignore_index=True)


def with_frequencies(histories: Sequence[History], columns: Collection[str]) -> list[History]:
    """Add ``FREQUENCIES`` to the pairs that all runs were scored on, each the mean over the runs, if a column is one.

    They are rounded to two places, so that values have short names.
    """
    if set(FREQUENCIES).isdisjoint(columns):
        return list(histories)
    table = frequency_table(histories)
    values = table[list(FREQUENCIES)].to_numpy().reshape(len(histories), -1, len(FREQUENCIES)).mean(axis=0)
    means = dict(zip(FREQUENCIES, values.round(2).T, strict=True))
    pairs = Pairs(histories[0].shared.table.assign(**means))
    return [replace(history, shared=pairs) for history in histories]
