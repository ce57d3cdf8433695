"""Accuracy by length and domain, and with and without an attractor (RuBLiMP, section 5, Figures 4 to 6)."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.models.categories import with_tests
from ucurve.eval.pairs import WORD
from ucurve.yaml_files import read_yaml

GROUPS = 7


@functools.cache
def load_attractors() -> dict[str, dict[str, tuple[str, str]]]:
    """Read by benchmark, and by what they test, the paradigm without and the one with an attractor."""
    return read_yaml(Path(__file__).with_name("attractors.yaml"), dict[str, dict[str, tuple[str, str]]])


def words(sentence: str) -> int:
    """Count the words (with hyphens: one) and signs: within 1 % of RuBLiMP's Table 3, whose tokenizer is not named."""
    return len(WORD.findall(sentence))


def length_groups(lengths: Sequence[int] | npt.NDArray[np.int64], groups: int = GROUPS) -> pd.Series:
    """Divide sentences into groups of as equal size as sentences of one length staying together allows.

    The groups are categorical and in order: ``"6-7"`` for lengths 6 and 7. Group i ends at the i-th quantile; a group
    that no length falls into is left out.
    """
    values = np.asarray(lengths, dtype=np.int64)
    cuts = np.quantile(values, np.arange(1, groups) / groups, method="inverted_cdf")
    place = np.searchsorted(np.unique(cuts), values, side="left")
    spans = pd.Series(values).groupby(place).agg(["min", "max"])
    names = [f"{low}" if low == high else f"{low}-{high}" for low, high in spans.to_numpy()]
    codes = pd.Series(range(len(spans)), index=spans.index)[place]
    return pd.Series(pd.Categorical([names[code] for code in codes], categories=names, ordered=True))


def length_table(about: pd.DataFrame, credit: pd.DataFrame, groups: int = GROUPS) -> pd.DataFrame:
    """Compute accuracies with tests by length group, over all domains (``all``) and, with these groups, in each."""
    group = length_groups([words(sentence) for sentence in about["good"]], groups)
    places = [("all", np.ones(len(about), dtype=bool))]
    if "domain" in about:
        places += [(str(name), (about["domain"] == name).to_numpy()) for name in sorted(set(about["domain"].dropna()))]
    parts = [_by_group(credit[mask], group[mask], domain) for domain, mask in places]
    return with_tests(pd.concat(parts, ignore_index=True))


def paradigm_differences(points: pd.DataFrame, pairs: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
    """Compare paradigms without and with one thing, such as an attractor (RuBLiMP, section 5).

    ``difference`` is the accuracy with it minus that without, ``low`` and ``high`` are Newcombe's 95 % interval for the
    difference of two independent shares, from Wilson's intervals, each of as many independent pairs as ``effective``
    says (``n`` without this column). A model that lacks one of the two has no row.
    """
    rows = []
    known = points.set_index(["model", "suite"])[["accuracy", "effective" if "effective" in points else "n"]]
    for what, (without, with_it) in pairs.items():
        for model in points["model"].unique():
            if (model, without) in known.index and (model, with_it) in known.index:
                both = known.loc[(model, without)], known.loc[(model, with_it)]
                rows.append({"what": what, "model": model, **_difference(*both)})
    return pd.DataFrame(rows, columns=["what", "model", "without", "with_it", "difference", "low", "high"])


def _by_group(credit: pd.DataFrame, group: pd.Series, domain: str) -> pd.DataFrame:
    grouped = credit.groupby(group.cat.codes.to_numpy())  # codes, whose order is that of the lengths
    table = grouped.mean().rename_axis("group").reset_index().melt("group", var_name="model", value_name="accuracy")
    n, names = table["group"].map(grouped.size()), dict(enumerate(group.cat.categories))
    return table.assign(domain=domain, n=n.astype(int), group=table["group"].map(names))


def _difference(without: pd.Series, with_it: pd.Series) -> dict[str, float]:
    from statsmodels.stats.proportion import confint_proportions_2indep

    (one, n_one), (other, n_other) = (part.astype(float) for part in (without, with_it))
    low, high = confint_proportions_2indep(other * n_other, n_other, one * n_one, n_one, method="newcomb")
    return {"without": one, "with_it": other, "difference": other - one, "low": float(low), "high": float(high)}
