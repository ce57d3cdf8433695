"""People's answers as the files that ``analyze.py`` takes: ``human=``, ``ratings=`` and ``rating_pairs=``."""

import pandas as pd

from ucurve.validation.answer_files import BAD, GOOD, NONE


def human_table(paradigms: pd.DataFrame) -> pd.DataFrame:
    """Return the file for ``human=`` from a row for each paradigm, also for those that the rule drops."""
    table = paradigms[["paradigm", "correct", "total", "accuracy", "phenomenon"]]
    return table.rename(columns={"paradigm": "UID", "accuracy": "acc"})


def rating_tables(answers: pd.DataFrame, items: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the files for ``ratings=`` (1: chosen) and ``rating_pairs=``; none where the items have no sentences."""
    rated = answers[answers["choice"] != NONE]
    sentences = items[items["item"].isin(rated["item"]) & (items[GOOD] != "") & (items[BAD] != "")]
    if sentences.empty:
        return {}
    chose = rated.assign(chose=(rated["choice"] == GOOD).astype(int))
    chosen = chose.pivot_table(index="item", columns="annotator", values="chose").astype("Int64")
    chosen.columns = pd.Index([f"rater {name}" for name in chosen.columns])  # nobody is named like the other column
    good = chosen.loc[sentences["item"]].reset_index(drop=True)
    ratings = pd.concat([good, 1 - good], ignore_index=True)
    ratings.insert(0, "sentence", pd.concat([sentences[GOOD], sentences[BAD]]).to_numpy())
    return {"ratings": ratings, "rating_pairs": sentences[[GOOD, BAD]]}
