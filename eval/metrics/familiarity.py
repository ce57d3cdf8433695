"""Which sentences models seem to have seen, by MIN-K% PROB (RuBLiMP, section 2.4)."""

import pandas as pd


def most_familiar(mink: pd.DataFrame) -> pd.Series:
    """Return the highest MIN-K% PROB of each sentence over the models, which are the columns.

    A threshold t leaves the sentences on which every model is below it: the n sentences whose highest value is lowest
    are those that the t leaves which leaves n.
    """
    return mink.max(axis=1)
