"""Run folders of simulated learners with the scores of n-gram models beside their own."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from measurements.shapes.simulated_ngrams import ORDERS, Learned, Learner, learn
from tests.analysis.item_runs import BENCHMARK, make_item_run
from tests.analysis.synthetic import TOKENS_PER_STEP, MakeRun
from ucurve.eval.store.scores import score_path

STEPS = (1, 3, 8, 16, 32, 64, 128, 192, 512, 2048)
PARADIGMS = 6


def make_learners(
    make_run: MakeRun,
    learners: dict[str, Learner],
    *,
    seeds: int = 3,
    items: int = 300,
    orders: Sequence[int] = ORDERS,
    **settings,
) -> list[Path]:
    """Write runs of a line whose phenomena are learned like these, with n-gram scores at every checkpoint."""
    draw = np.random.default_rng(3)
    tokens = TOKENS_PER_STEP * np.array(STEPS, dtype=np.float64)
    learned = {
        name: learn(learner, tokens, draw, items=items, paradigms=PARADIGMS, seeds=seeds)
        for name, learner in learners.items()
    }
    pairs = pd.concat([_pairs(name, one) for name, one in learned.items()], ignore_index=True)
    half_points = np.concatenate([one.half_points for one in learned.values()], axis=2)
    margins = np.concatenate([one.margins for one in learned.values()], axis=2)
    folders = []
    for seed in range(seeds):
        folder = make_item_run(
            make_run, pairs, dict(zip(STEPS, half_points[seed], strict=True)), seed=seed, **settings
        )
        for order in orders:
            for step, row in zip(STEPS, margins[order - 1], strict=True):
                write_ngram(folder, pairs, row, order, step)
        folders.append(folder)
    return folders


def write_ngram(folder: Path, pairs: pd.DataFrame, margins: np.ndarray, order: int, step: int) -> None:
    path = score_path(folder, BENCHMARK, f"ngram-{order}", step)
    path.parent.mkdir(parents=True, exist_ok=True)
    table = {"pair": pairs["pair"], "lp_good": -9 + margins, "lp_bad": -9.0, "n_good": 4, "n_bad": 4}
    pd.DataFrame(table).to_parquet(path, index=False)


def _pairs(name: str, learned: Learned) -> pd.DataFrame:
    return pd.DataFrame({
        "pair": [f"{name}-{number}" for number in range(len(learned.paradigms))], "phenomenon": name,
        "paradigm": [f"{name}_{number}" for number in learned.paradigms],
        "good": [f"it is{edit} so" for edit in learned.clusters], "bad": [f"it was{edit} so" for edit in learned.clusters],
    })  # fmt: skip
