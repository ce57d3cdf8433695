"""The mean over the lines of the study, whose runs share one variance of seeds, for these pairs in other seeds.

Lines are fixed: nothing is claimed of other lines. All that is needed are the accuracies of the runs, so that nothing
is said of other pairs, and the number of pairs, which bounds the error where all runs agree.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from studies.hundred_million.courses import PAPER
from ucurve.analysis.shape.classify import classify, is_testable, shape_test
from ucurve.analysis.shape.power import dip_power, holm_level
from ucurve.analysis.shape.smoothing import Array, Curve, smoothing_weights, without_pair_error

_NAMES = {
    "p_rise": "p_rise", "holm_rise": "p_rise_holm", "p_fall": "p_fall", "holm_fall": "p_fall_holm", "dip": "dip",
    "dip_place": "bottom", "p_u": "p_dip", "holm_u": "p_dip_holm", "q_u": "q_dip", "bump": "bump", "bump_place": "peak",
    "p_inverted_u": "p_bump", "holm_inverted_u": "p_bump_holm",
}  # fmt: skip
_COLUMNS = ["phenomenon", "named", "lines", "runs", "items", "start", "end", *_NAMES.values(), "detectable_dip"]


def mean_over_lines(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Test the mean over the lines of ``run_curves``, if one has two runs; ``shapes`` has the numbers of pairs.

    A row of ``over_lines`` is a phenomenon, or all pairs. ``p_rise``, ``p_fall``, ``p_dip`` and ``p_bump`` are of the
    tests of shape, ``*_holm`` over the phenomena, ``q_dip`` is the q value of a dip over them. ``dip`` and ``bump``
    (fractions) are the deepest and the highest of the smoothed curve, at ``bottom`` and ``peak`` (tokens), whether they
    are significant or not; ``start`` and ``end`` are its ends. ``detectable_dip`` is the dip that would be found in
    80 %, infinite above 50 points.
    """
    curves, items = tables["run_curves"], tables["shapes"].groupby("phenomenon")["items"].first()
    trained = curves[(curves["tokens"] > 0) & curves["phenomenon"].isin(items.index)]
    families = [_test_means(family, items) for _, family in trained.groupby(trained["phenomenon"] == "all")]
    table = pd.concat([pd.DataFrame(), *families], ignore_index=True)
    return {"over_lines": table.rename(columns=_NAMES).reindex(columns=_COLUMNS)}


def _test_means(curves: pd.DataFrame, items: pd.Series) -> pd.DataFrame:
    """Test the mean curve of each phenomenon that can be tested; all of them are a family of Holm's procedure."""
    rows, means = [], list[Curve]()
    for phenomenon, own in curves.groupby("phenomenon"):
        wide = own.pivot_table(index="tokens", columns=["line", "run"], values="accuracy").dropna()
        lines = [line.to_numpy(np.float64) for _, line in wide.T.groupby(level="line")]
        tokens, runs = wide.index.to_numpy(np.float64), wide.shape[1]
        if runs == len(lines) or not is_testable(tokens):
            continue
        means.append(_mean_of_lines(lines, tokens, int(items[phenomenon])))
        smooth = smoothing_weights(means[-1].log_tokens) @ means[-1].mean
        rows.append({
            "phenomenon": phenomenon, "named": phenomenon in PAPER, "lines": len(lines), "runs": runs,
            "items": means[-1].items, "start": smooth[0], "end": smooth[-1], **shape_test(means[-1]),
        })  # fmt: skip
    if not rows:
        return pd.DataFrame()
    tested = classify(pd.DataFrame(rows))
    level = holm_level(tested, is_one_run=False)
    return tested.assign(detectable_dip=[dip_power(mean).smallest_dip(level) for mean in means])


def _mean_of_lines(lines: Sequence[Array], tokens: Array, items: int) -> Curve:
    """Return the mean over lines, each float64[S, T], of equal weight, with the error over their seeds alone."""
    apart = np.concatenate([own - own.mean(axis=0) for own in lines])
    freedom = len(apart) - len(lines)
    weight = sum(1 / len(own) for own in lines) / len(lines) ** 2
    nothing = np.zeros((len(tokens), len(tokens)))
    mean = np.mean([own.mean(axis=0) for own in lines], axis=0)
    return without_pair_error(
        Curve(
            tokens,
            mean,
            1 + freedom,
            items,
            nothing,
            weight * apart.T @ apart / freedom,
            nothing,
            item_freedom=1.0,
        )
    )
