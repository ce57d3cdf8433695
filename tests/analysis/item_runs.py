"""Run folders with score files: what every pair got at every checkpoint, planted by a test."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from measurements.shapes.simulated_curves import SLOW, simulate
from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun, score_row
from ucurve.eval.store.scores import pairs_path, score_path

BENCHMARK = "zho"


def pair_table(paradigms: dict[str, str], n: int) -> pd.DataFrame:
    """``n`` pairs of each paradigm, by the phenomenon it belongs to."""
    rows = [
        {
            "pair": f"{name}-{number}",
            "phenomenon": phenomenon,
            "paradigm": name,
            "good": f"g{name}{number}",
            "bad": "b",
        }
        for name, phenomenon in paradigms.items()
        for number in range(n)
    ]
    return pd.DataFrame(rows)


def score_table(pairs: pd.DataFrame, half_points: np.ndarray) -> pd.DataFrame:
    """Scores under which every pair gets these half points (0, 1, 2) by every linking function of lp and n."""
    return pd.DataFrame({
        "pair": pairs["pair"], "lp_good": -10.0 + half_points.astype(float), "lp_bad": -9.0, "n_good": 4, "n_bad": 4,
    })  # fmt: skip


def write_items(
    folder: Path, pairs: pd.DataFrame, half_points: dict[int, np.ndarray], scorer: str = "sentence"
) -> None:
    pairs_file = pairs_path(folder, BENCHMARK)
    pairs_file.parent.mkdir(parents=True, exist_ok=True)
    pairs.to_parquet(pairs_file, index=False)
    for step, row in half_points.items():
        path = score_path(folder, BENCHMARK, scorer, step)
        path.parent.mkdir(parents=True, exist_ok=True)
        score_table(pairs, row).to_parquet(path, index=False)


def make_item_run(make_run: MakeRun, pairs: pd.DataFrame, half_points: dict[int, np.ndarray], **settings) -> Path:
    """A run folder with the score files and the rows of accuracy.csv that follow from them."""
    rows = []
    for step, row in half_points.items():
        share = pd.Series(row / 2)
        rows.append(score_row(step, float(share.mean())))
        means = share.groupby(pairs["phenomenon"].to_numpy()).mean()
        rows += [score_row(step, float(mean), phenomenon=name) for name, mean in means.items() if name]
    folder = make_run(rows, **settings)
    write_items(folder, pairs, half_points)
    return folder


def make_curve_runs(
    make_run: MakeRun,
    pairs: pd.DataFrame,
    curves: dict[str, Callable[[np.ndarray], np.ndarray]],
    steps: list[int],
    seeds: int,
    draw: int,
    **settings,
) -> None:
    """Run folders of a line: half of the pairs right at the first step, then those of a phenomenon on its curve."""
    random, phenomena = np.random.default_rng(draw), pairs["phenomenon"].to_numpy()
    tokens = TOKENS_PER_STEP * np.array(steps[1:], dtype=float)
    half_points = np.zeros((seeds, len(tokens), len(pairs)), dtype=np.uint8)
    for name, curve in curves.items():
        chosen = phenomena == name
        half_points[:, :, chosen] = simulate(curve, tokens, SLOW, random, seeds=seeds, items=int(chosen.sum()))
    for seed in range(seeds):
        before = {steps[0]: np.tile([0, 2], len(pairs) // 2)}
        after = dict(zip(steps[1:], half_points[seed], strict=True))
        make_item_run(make_run, pairs, before | after, seed=seed, **settings)
