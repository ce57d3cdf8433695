"""Studies of synthetic runs, and scores of pairs beside their accuracies."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tests.analysis.synthetic import Row, score_row
from tests.settings import analyze_settings
from ucurve.analysis.data.frames import score_frame
from ucurve.analysis.data.runs import Run, find_runs
from ucurve.analysis.data.study import BenchmarkScores, Study, read_study


def study_of(root: Path, **settings) -> Study:
    """Read the runs below ``root/runs``."""
    pattern = f"{root}/runs/*"
    return read_study(find_runs([pattern]), analyze_settings(runs=pattern, out=str(root / "figures"), **settings))


def frame_of(root: Path) -> tuple[pd.DataFrame, list[Run]]:
    """Read the scores of the runs below ``root/runs``, and the runs."""
    runs = find_runs([f"{root}/runs/*"])
    return score_frame(runs), runs


def scored_of(root: Path, benchmark: str = "zho", **settings) -> BenchmarkScores:
    """Read the runs below ``root/runs`` and take one benchmark."""
    (scored,) = [one for one in study_of(root, **settings).benchmarks() if one.benchmark == benchmark]
    return scored


def paradigm_rows(step: int, accuracies: dict[tuple[str, str], float], **changes) -> list[Row]:
    """Rows of paradigms, by phenomenon and name, and the aggregates over their pairs."""
    rows = [
        score_row(step, value, phenomenon=phenomenon, paradigm=paradigm, **changes)
        for (phenomenon, paradigm), value in accuracies.items()
    ]
    for phenomenon in dict.fromkeys(name for name, _ in accuracies):
        own = [value for (name, _), value in accuracies.items() if name == phenomenon]
        rows.append(score_row(step, float(np.mean(own)), phenomenon=phenomenon, **changes))
    mean = float(np.mean(list(accuracies.values())))
    return [*rows, score_row(step, mean, **changes), score_row(step, mean, paradigm="macro", **changes)]


def write_pairs(
    folder: Path,
    benchmark: str,
    step: int,
    values: Sequence[tuple[float, float, int, int]],
    unigram: float = float("nan"),
    sentences: Sequence[str] = (),
) -> None:
    """Store pairs and what a model gave them: lp and tokens of the good and the bad member.

    With ``sentences``, both members of a pair are that sentence, as for rated sentences.
    """
    table = pd.DataFrame(values, columns=["lp_good", "lp_bad", "n_good", "n_bad"])
    table.insert(0, "pair", range(len(table)))
    table["unigram_good"], table["unigram_bad"] = unigram * table["n_good"], unigram * table["n_bad"]
    pairs = pd.DataFrame({
        "benchmark": benchmark, "language": "und", "paradigm": [f"p{place % 2}" for place in table["pair"]],
        "phenomenon": "ph", "pair": table["pair"],
        "good": list(sentences) or [f"good{place} one" for place in table["pair"]],
        "bad": list(sentences) or [f"bad{place} one" for place in table["pair"]],
    })  # fmt: skip
    place = folder / "eval" / benchmark / "sentence"
    place.mkdir(parents=True, exist_ok=True)
    pairs.to_parquet(place.parent / "pairs.parquet")
    table.to_parquet(place / f"step{step:08d}.parquet")
