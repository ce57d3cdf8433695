"""Run folders with score files: what every pair got at every checkpoint, planted by a test."""

from pathlib import Path

import numpy as np
import pandas as pd

from eval.store.scores import pairs_path, score_path
from tests.analysis.synthetic import MakeRun, score_row

BENCHMARK = "zho"


def pair_table(paradigms: dict[str, str], n: int) -> pd.DataFrame:
    """``n`` pairs of each paradigm, by the phenomenon it belongs to."""
    rows = [
        {"pair": f"{name}-{number}", "phenomenon": phenomenon, "paradigm": name, "good": f"g{name}{number}", "bad": "b"}
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
