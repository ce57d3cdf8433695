"""A benchmark of many languages: per language, by group of languages, over pairs and over languages (MultiBLiMP)."""

import pandas as pd

from ucurve.analysis.data.frames import pool_pairs

LOW, MID, HIGH = "low", "mid", "high"
_LOW_SHARE, _MID_SHARE = 0.6, 0.9
EVERY = "all"


def resource_splits(frequency: pd.Series) -> pd.Series:
    """Divide languages by how frequent they are, among those whose frequency is known (MultiBLiMP, section 7.1).

    ``low`` are the 60 % least frequent languages, ``high`` the 10 % most frequent, ``mid`` those between; an empty
    string where the frequency is not known. Equally frequent languages share their mean rank.
    """
    rank = frequency.rank(pct=True)
    names = pd.Series(MID, index=frequency.index).mask(rank <= _LOW_SHARE, LOW).mask(rank > _MID_SHARE, HIGH)
    return names.mask(frequency.isna(), "")


def group_members(languages: pd.DataFrame) -> pd.DataFrame:
    """List the ``language``s of each ``group``: the splits made among these languages, then the named sets."""
    splits = resource_splits(languages["frequency"])
    parts = [languages.loc[splits == name, "language"].to_frame().assign(group=name) for name in (LOW, MID, HIGH)]
    sets = [name for name in languages.columns if name not in ("language", "name", "frequency")]
    parts += [languages.loc[languages[name], "language"].to_frame().assign(group=name) for name in sets]
    return pd.concat(parts, ignore_index=True)[["group", "language"]]


def group_table(points: pd.DataFrame, members: pd.DataFrame | None = None) -> pd.DataFrame:
    """Average languages in both ways that papers use, over all that a model was scored on (``all``) and by group.

    ``over_pairs`` weights them by their pairs (``All`` of MultiBLiMP's Table 3), ``over_languages`` all the same.
    """
    everything = points.assign(group=EVERY)
    chosen = [everything] if members is None else [everything, points.merge(members, on="language")]
    rows = pd.concat(chosen, ignore_index=True).dropna(subset="accuracy")
    keys = ["model", "group"]
    counted = rows.groupby(keys, as_index=False, sort=False, observed=True).agg(
        languages=("language", "nunique"), over_languages=("accuracy", "mean")
    )
    table = counted.merge(pool_pairs(rows, keys).rename(columns={"accuracy": "over_pairs"}), on=keys)
    return table[[*keys, "languages", "n", "over_pairs", "over_languages"]]


def language_table(points: pd.DataFrame, languages: pd.DataFrame | None = None) -> pd.DataFrame:
    """Lay accuracies out by language and model, by name (MultiBLiMP, Table 5); ``n`` is the largest over the models."""
    wide = points.pivot_table(index="language", columns="model", values="accuracy", sort=False, observed=True)
    table = points.groupby("language", sort=False, observed=True)["n"].max().to_frame().join(wide).reset_index()
    about = pd.DataFrame({"language": table["language"], "name": table["language"], "frequency": float("nan")})
    if languages is not None:
        given = languages.set_index("language")
        about["name"] = about["language"].map(given["name"]).fillna(about["language"])
        about["frequency"] = about["language"].map(given["frequency"])
    about["split"] = resource_splits(about["frequency"])
    merged = about.merge(table, on="language")
    merged.columns.name = None
    return merged.sort_values("name", key=lambda names: names.str.casefold(), kind="stable", ignore_index=True)
