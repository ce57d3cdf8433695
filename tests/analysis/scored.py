"""Synthetic scored models: folders with pairs, scores and accuracies, as scoring writes them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import accuracy_table
from ucurve.eval.store.scores import pairs_path, score_path

LINKINGS = ("slln_lp", "lp", "ppl")


def make_pairs(benchmark: str, paradigms: Mapping[str, str], each: int = 60, **columns: Any) -> pd.DataFrame:
    """Make a pair table.

    Args:
        benchmark: its name.
        paradigms: the phenomenon of each paradigm.
        each: pairs of a paradigm.
        **columns: further columns of the table.
    """
    names = np.repeat(list(paradigms), each)
    return pd.DataFrame({
        "benchmark": benchmark, "language": "und", "paradigm": names, "phenomenon": [paradigms[name] for name in names],
        "pair": np.arange(len(names)), "good": [f"good{number} sentence" for number in range(len(names))],
        "bad": [f"bad{number} sentence" for number in range(len(names))], **columns,
    })  # fmt: skip


def make_scores(right: np.ndarray, seed: int = 0, **columns: Any) -> pd.DataFrame:
    """Make a score table whose good sentence wins where ``right``, by sums and per token alike."""
    draw = np.random.default_rng(seed)
    n = draw.integers(5, 12, len(right))
    good = -2.0 * n - draw.random(len(right))
    margin = np.where(right, 1, -1) * draw.uniform(0.2, 1.0, len(right))
    same = {f"{name}_{side}": 0 for name in ("unk", "unigram") for side in ("good", "bad")}
    return pd.DataFrame({
        "pair": np.arange(len(right)), "lp_good": good, "lp_bad": good - margin, "n_good": n, "n_bad": n, **same, **columns,
    })  # fmt: skip


def write_scored(
    folder: Path, pairs: pd.DataFrame, scores: pd.DataFrame, scorer: str = "sentence", step: int = -1,
    linkings: Sequence[str] = LINKINGS,
) -> Path:  # fmt: skip
    """Write a benchmark's pairs and one model's scores of it into a folder, and add to its ``accuracy.csv``."""
    benchmark = str(pairs["benchmark"].iloc[0])
    for path, table in (
        (pairs_path(folder, benchmark), pairs), (score_path(folder, benchmark, scorer, step), scores)
    ):  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_parquet(path, index=False)
    rows = accuracy_table(pairs, scores, [parse_linking(name) for name in linkings])
    where = {
        "run": folder.name,
        "step": step,
        "tokens": "",
        "flops": "",
        "benchmark": benchmark,
        "scorer": scorer,
    }
    file = folder / "eval" / "accuracy.csv"
    rows = rows.assign(**where)[[*where, *rows.columns]]
    rows.to_csv(file, index=False, mode="a", header=not file.is_file())
    return folder


def chances(pairs: pd.DataFrame, share: float | Mapping[str, float], seed: int) -> np.ndarray:
    """Draw which pairs a model gets right, with one probability or one for each paradigm."""
    wanted = pairs["paradigm"].map(share) if isinstance(share, Mapping) else np.full(len(pairs), share)
    return np.asarray(np.random.default_rng(seed).random(len(pairs)) < wanted)
