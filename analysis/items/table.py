"""The item table, one row per pair and run, and what it says of each phenomenon and paradigm."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.analysis.items.histories import History
from ucurve.analysis.items.verdicts import NEVER, RIGHT, VERDICT_NAMES, find_events, first_place

ITEM_COLUMNS = (
    "run", "line", "pair", "phenomenon", "paradigm", "checkpoints", "first_right_step", "first_right_tokens",
    "right_for_good_step", "right_for_good_tokens", "lost_for_good_step", "lost_for_good_tokens", "flips",
    "times_learned", "times_forgotten", "times_relearned", "times_right", "last", "margin_last", "margin_mean",
    "margin_sd",
)  # fmt: skip
SHARES = ("ever_right", "always_right", "right_for_good", "lost", "relearned")
_MEANS = ("flips", "times_learned", "times_forgotten", "margin_last", "margin_sd")


def item_table(histories: Iterable[History]) -> pd.DataFrame:
    """Describe what became of each pair in each run, in ``ITEM_COLUMNS``.

    Of ``first_right``, ``right_for_good`` (right from there up to the last checkpoint) and ``lost_for_good`` (not right
    from there up to the last one, after it was) there are the step and the training tokens, missing where there is no
    such checkpoint. ``flips`` are changes of the verdict between neighboring checkpoints, from or to a tie included.
    ``times_learned`` counts how often the pair became right, at the first checkpoint too; ``times_forgotten`` how often
    it ceased to be. Margins are in the unit of the linking function; ``margin_sd`` is missing for one checkpoint.
    """
    return stack(map(_items_of_run, histories), ITEM_COLUMNS)


def item_summary(items: pd.DataFrame) -> pd.DataFrame:
    """Summarize the item table by run: over all pairs, by phenomenon (``paradigm`` is ``all``) and by paradigm.

    The columns are ``n`` items; the shares of those that are ``ever_right``, ``always_right``, ``right_for_good``
    (right at the last checkpoint), ``lost`` (right once, not at the last) and ``relearned``; the median of
    ``right_for_good_tokens`` over all items, missing where half of them never are; and the means of the other columns.
    """
    marked = items[["run", "line", "phenomenon", "paradigm", *_MEANS]].assign(
        ever_right=items["times_right"] > 0,
        always_right=items["times_right"] == items["checkpoints"],
        right_for_good=items["right_for_good_step"].notna(),
        lost=items["lost_for_good_step"].notna(),
        relearned=items["times_relearned"] > 0,
        right_for_good_tokens=items["right_for_good_tokens"].fillna(np.inf),
    )
    levels = [
        marked.assign(phenomenon="all", paradigm="all"),
        marked[marked["phenomenon"] != ""].assign(paradigm="all"),
        marked,
    ]
    return pd.concat([_summarize(level) for level in levels], ignore_index=True)


def _summarize(level: pd.DataFrame) -> pd.DataFrame:
    groups = level.groupby(["run", "line", "phenomenon", "paradigm"], sort=False, observed=True)
    means = groups[[*SHARES, *_MEANS]].mean()
    median = groups["right_for_good_tokens"].median().replace(np.inf, np.nan)
    return means.assign(n=groups.size(), right_for_good_tokens=median).reset_index()


def _items_of_run(history: History) -> pd.DataFrame:
    events = find_events(history.verdicts)
    right = history.verdicts == RIGHT
    learned = events.became_right.sum(axis=0)
    table = history.pairs[["pair", "phenomenon", "paradigm"]].reset_index(drop=True)
    table = table.assign(run=history.run.label, line=history.run.line, checkpoints=len(right))
    places = {"first_right": right, "right_for_good": events.learned, "lost_for_good": events.forgotten}
    for name, found in places.items():
        at = first_place(found)
        never = at == NEVER
        steps = pd.arrays.IntegerArray(history.checkpoints["step"].to_numpy(np.int64)[at], never)
        tokens = history.checkpoints["tokens"].to_numpy(np.float64)[at]
        table[f"{name}_step"], table[f"{name}_tokens"] = steps, np.where(never, np.nan, tokens)
    margins = history.margins
    numbers = {
        "flips": events.flipped.sum(axis=0), "times_learned": learned,
        "times_forgotten": events.became_not_right.sum(axis=0), "times_relearned": np.maximum(0, learned - 1),
        "times_right": right.sum(axis=0), "last": [VERDICT_NAMES[int(one)] for one in history.verdicts[-1]],
        "margin_last": margins[-1], "margin_mean": margins.mean(axis=0),
        "margin_sd": margins.std(axis=0, ddof=1) if len(margins) > 1 else np.nan,
    }  # fmt: skip
    return table.assign(**numbers)[list(ITEM_COLUMNS)]
