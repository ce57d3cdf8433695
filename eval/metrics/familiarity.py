"""Which sentences models seem to have seen, by MIN-K% PROB (RuBLiMP, section 2.4)."""

import pandas as pd


def most_familiar(mink: pd.DataFrame) -> pd.Series:
    """Return the highest MIN-K% PROB of each sentence over the models.

    A threshold t leaves the sentences on which every model is below it. To search for the t that leaves n sentences is
    the same as to take the n sentences whose highest value is lowest.

    Args:
        mink: MIN-K% PROB of the sentences, one row per sentence and one column per model.
    """
    return mink.max(axis=1)
