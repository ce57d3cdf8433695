"""Measure seconds and memory of ``analyze.py`` over many simulated run folders.

python measurements/speed/analysis.py [--pairs] [--sizes 5] [--seeds 3] [--checkpoints 47] [--items 300] [--folder DIR]

The folders hold what training and scoring write: run.json, metrics.jsonl, accuracy.csv and statistics.csv of a
benchmark of 118 paradigms in 15 phenomena under five linking functions, with --pairs every pair's score too. The scores
are drawn from curves of several shapes. With --folder the runs stay there and are used again.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

if TYPE_CHECKING:
    from ucurve.storage.facts import Manifest, RunFacts

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
PARADIGMS, PHENOMENA = 118, 15
LINKINGS = ("lp", "mean_lp", "pen_lp", "slln_lp", "slor")
PARAMETERS = (3_000_000, 14_000_000, 70_000_000, 160_000_000, 410_000_000)
TOKENS = 3_000_000_000
BATCH = 16_384
METRICS = 5_000  # lines of metrics.jsonl
BYTES_PER_TOKEN = 3.0
Floats = npt.NDArray[np.float64]


def make_run(folder: Path, size: int, seed: int, checkpoints: int, items: int, *, with_pairs: bool) -> None:
    """Write one run folder: its record, metrics, accuracies, statistics and, if asked for, every pair's score."""
    from ucurve.eval.linking import parse_linking
    from ucurve.eval.metrics.accuracy import accuracy_table
    from ucurve.eval.metrics.significance import statistics_table
    from ucurve.eval.store.scores import pairs_path, score_path
    from ucurve.eval.store.tables import ACCURACY, STATISTICS
    from ucurve.storage.facts import write_manifest, write_run_facts
    from ucurve.storage.run_folder import checkpoint_folder
    from ucurve.training.checkpoint_schedule import log_steps

    name = f"m{size}-3B-word-made-s{seed}"
    run = folder / name
    pairs = pair_table(items)
    linkings = [parse_linking(name) for name in LINKINGS]
    steps = list(log_steps(checkpoints, TOKENS // BATCH))
    (run / "eval" / "made" / "sentence").mkdir(parents=True)
    (run / "tokenizer").mkdir()
    write_run_facts(run, facts(name, size, seed, steps))
    write_metrics(run / "metrics.jsonl", size, seed, steps)
    pairs.to_parquet(pairs_path(run, "made"), index=False)
    accuracies = []
    for step, scores in zip(steps, simulate(pairs, size, seed, steps), strict=True):
        where = {
            "run": name,
            "step": step,
            "tokens": step * BATCH,
            "flops": 6.0 * PARAMETERS[size] * step * BATCH,
        }
        place = where | {"benchmark": "made", "scorer": "sentence"}
        accuracies.append(accuracy_table(pairs, scores, linkings).assign(**place))
        if with_pairs:
            scores.to_parquet(score_path(run, "made", "sentence", step), index=False)
            checkpoint = checkpoint_folder(run, step)
            checkpoint.mkdir(parents=True)
            write_manifest(checkpoint, manifest(step, size))
    # Statistics take longer than accuracies: those of the last checkpoint stand at every other one too.
    last = statistics_table(pairs, scores, linkings, samples=2)
    places = pd.concat(accuracies)[list(STATISTICS.columns[:6])].drop_duplicates()
    for kind, tables in ((ACCURACY, accuracies), (STATISTICS, [places.merge(last, how="cross")])):
        pd.concat(tables)[list(kind.columns)].sort_values(list(kind.order)).to_csv(kind.path(run), index=False)


def pair_table(items: int) -> pd.DataFrame:
    """Return the pairs of the benchmark, in the columns of pairs.parquet."""
    paradigm = np.repeat(np.arange(PARADIGMS), items)
    pair = np.arange(PARADIGMS * items)
    columns: dict[str, object] = {
        "benchmark": "made", "language": "zho", "paradigm": [f"paradigm_{place:03d}" for place in paradigm],
        "phenomenon": [f"phenomenon_{place % PHENOMENA:02d}" for place in paradigm], "pair": pair,
        "good": [f"good{place} one" for place in pair], "bad": [f"bad{place} one" for place in pair],
    }  # fmt: skip
    return pd.DataFrame(columns)


def simulate(pairs: pd.DataFrame, size: int, seed: int, steps: list[int]) -> Iterator[pd.DataFrame]:
    """Draw the score table of every checkpoint; paradigms rise, dip, fall or stay, larger models more surely."""
    random = np.random.default_rng([size, seed])
    count = len(pairs)
    items = count // PARADIGMS
    shape = np.repeat(np.arange(PARADIGMS) % 4, items)
    lengths = random.integers(8, 20, count)
    longer = random.choice([0, 0, 0, 1, -1], count)
    ease = random.normal(0, 1, count)
    unigram = -7.0 * lengths + random.normal(0, 3, count)
    for step in steps:
        place = np.log(1 + step) / np.log(1 + TOKENS / BATCH)
        margins = np.array(
            [2 * place, 2 * place - 3 * np.exp(-(((place - 0.5) / 0.12) ** 2)), -1.5 * place, 0.0]
        )[shape]  # fmt: skip
        margins = margins * (0.6 + 0.2 * size) + ease + random.normal(0, 0.6, count)
        bad = -4.0 * (lengths + longer) + random.normal(0, 2, count)
        yield pd.DataFrame(
            {
                "pair": pairs["pair"], "lp_good": bad + 4.0 * longer + margins, "lp_bad": bad, "n_good": lengths,
                "n_bad": lengths + longer, "unigram_good": unigram, "unigram_bad": unigram - 7.0 * longer,
                "unk_good": 0, "unk_bad": 0,
            }
        )  # fmt: skip


def facts(name: str, size: int, seed: int, steps: list[int]) -> "RunFacts":
    """Return what run.json says."""
    from ucurve.storage.facts import RunFacts

    return RunFacts.model_validate({
        "name": name, "model": f"m{size}", "tokens_budget": TOKENS, "tokenizer": "word", "tokenizer_sha256": "0" * 64,
        "vocabulary": 50_000, "data": "made", "data_sha256": "0" * 64,
        "corpus": {"documents": 1, "tokens": TOKENS, "start_tokens_seen": 1}, "seeds": {"init": seed, "data": seed},
        "config_sha256": "0" * 64, "cell_sha256": f"m{size}", "parameters": {"total": PARAMETERS[size]},
        "checkpoint_steps": steps, "versions": {}, "hardware": {}, "status": "finished",
        "factors": {"architecture": "made", "size": f"m{size}", "tokenizer": "word", "budget": "3B", "corpus": "made"},
        "engine": {"kind": "torch", "processes": 1, "precision": "float32", "compiled": False},
    })  # fmt: skip


def manifest(step: int, size: int) -> "Manifest":
    """Return the manifest of a checkpoint without files."""
    from ucurve.storage.facts import Manifest

    flops = 6.0 * PARAMETERS[size] * step * BATCH
    return Manifest(
        step=step, tokens=step * BATCH, flops=flops, flops_exact=flops, epoch=step * BATCH / TOKENS,
        data_sha256="0" * 64, config_sha256="0" * 64, precision="float32", weights_sha256=f"{step:064}",
        tokenizer_sha256="0" * 64, files={},
    )  # fmt: skip


def write_metrics(path: Path, size: int, seed: int, checkpoints: list[int]) -> None:
    """Write training metrics, of the checkpoints and others, whose bits per byte follow a power law of the FLOPs."""
    random = np.random.default_rng([size, seed, 1])
    steps = np.union1d(np.geomspace(1, TOKENS // BATCH, METRICS).round().astype(int), checkpoints[1:])
    flops = 6.0 * PARAMETERS[size] * steps * BATCH
    bits = (1.0 + 60 * flops**-0.09) * np.exp(random.normal(0, 0.01, len(steps)))
    lines = (
        json.dumps(
            {"step": step, "tokens": step * BATCH, "loss": value * BYTES_PER_TOKEN, "bits_per_byte": value}
        )
        for step, value in zip(steps.tolist(), bits.tolist(), strict=True)
    )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure(runs: Path, out: Path, more: list[str]) -> dict[str, float]:
    """Run ``analyze.py`` in a process of its own; return seconds, and the peak of the largest process in GB."""
    command = [sys.executable, str(ROOT / "analyze.py"), f"runs='{runs}/*'", f"out={out}", *more]
    start = time.perf_counter()
    subprocess.run(command, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seconds": time.perf_counter() - start,
        "processor seconds": used.ru_utime + used.ru_stime,
        "peak GB": used.ru_maxrss / 2**20,
    }


def main() -> None:
    """Make the runs, unless they are there, analyze them and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--pairs", action="store_true", help="write every pair's score, for what is computed of them"
    )
    for name, value in (("sizes", 5), ("seeds", 3), ("checkpoints", 47), ("items", 300)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--folder", type=Path)
    parser.add_argument(
        "settings", nargs="*", help="further settings of analyze.py, such as 'formats=[png,svg,pdf]'"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary) / "runs"
        for size, seed in [] if folder.exists() else product(range(given.sizes), range(given.seeds)):
            make_run(folder, size, seed, given.checkpoints, given.items, with_pairs=given.pairs)
        checkpoints = given.sizes * given.seeds * given.checkpoints
        print(f"{checkpoints} checkpoints x {PARADIGMS} paradigms, {'with' if given.pairs else 'without'} pairs")
        for what, value in measure(folder, Path(temporary) / "figures", given.settings).items():
            print(f"{what}: {value:.2f}")


if __name__ == "__main__":
    main()
