"""Measure what storing the log probabilities of tokens adds to scoring a checkpoint: time and bytes.

python measurements/speed/token_scores.py --pairs benchmarks/zhoblimp [--paradigms 20] [--model FOLDER]

Both ways run in turn in one process, round after round, from the sentences to files on disk; the statistics that
``score.py`` computes after that are left out, which makes the share of the tokens look larger. What is done once for a
benchmark and a tokenizer, the description of the sentences, is timed apart. Both ways are compared by processor time,
which other processes change less; writing tokens, with the wait for the disk, is timed by the clock.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from measurements.speed.scoring import make_model, make_pairs


def measure(folder: Path, model: Path, pairs: Path, rounds: int) -> None:
    """Print the time of both ways, their ratio and the sizes of what is stored."""
    import pandas as pd

    from ucurve.eval.models.targets import model_targets
    from ucurve.eval.scoring.batching import within_memory
    from ucurve.eval.scoring.loading import load_model
    from ucurve.eval.settings import score_settings
    from ucurve.eval.store.scores import write_scores
    from ucurve.eval.store.tokens import sentences_path, token_path
    from ucurve.eval.sweep.jobs import prepare
    from ucurve.eval.sweep.load import SweepCache
    from ucurve.eval.sweep.store import ScoreStore
    from ucurve.storage.locks import score_claims

    table, settings = pd.read_parquet(pairs), score_settings(scorer="sentence", tokens=True)
    loaded = load_model(model, dtype="float32", device="cpu")
    (job,) = prepare(model_targets(str(model))[0], [table], settings, SweepCache())
    store, path = ScoreStore(folder, settings, score_claims(folder)), job.path(folder)

    def without() -> None:
        scores, notes = within_memory(None, loaded, lambda size: job.scorer.score(loaded, size))
        write_scores(path, scores, job.inputs, job.target.name, notes)

    def with_tokens() -> None:
        scores, notes, values = within_memory(None, loaded, lambda size: job.scorer.score_tokens(loaded, size))
        began = time.perf_counter()
        extra = store.write_tokens(job, values)
        writing.append(time.perf_counter() - began)
        write_scores(path, scores, job.inputs, job.target.name, notes, extra)

    writing: list[float] = []
    taken: dict[Any, list[float]] = {without: [], with_tokens: []}
    without()  # what the first pass makes for all passes
    with_tokens()
    once = writing.pop()  # with the first checkpoint
    for number in range(rounds):
        for way in (without, with_tokens) if number % 2 == 0 else (with_tokens, without):
            began = time.process_time()
            way()
            taken[way].append(time.process_time() - began)
    sentences = job.scorer.sentences
    tokens = len(sentences.tokens)
    ratios = [after / before for before, after in zip(taken[without], taken[with_tokens], strict=True)]
    medians = [statistics.median(times) for times in taken.values()]
    written = statistics.median(writing)
    (described,) = sentences_path(folder, job.benchmark, "x").parent.glob("sentences-*")
    size = token_path(path).stat().st_size
    print(
        f"{len(table):,} pairs, {len(sentences.texts):,} distinct sentences, {tokens:,} tokens; {rounds} rounds"
    )
    print(f"processor time: without tokens {medians[0]:.3f} s, with tokens {medians[1]:.3f} s")
    print(f"median ratio {statistics.median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}")
    print(f"writing them alone {written:.3f} s, {written / medians[0]:.1%} of it; the first time {once:.3f} s")
    print(f"{size:,} bytes a checkpoint, {size / tokens:.2f} a token; the scores {path.stat().st_size:,} bytes")
    print(f"{described.stat().st_size:,} bytes once, {described.stat().st_size / tokens:.2f} a token")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True, help="folder of a benchmark's files")
    parser.add_argument("--model", type=Path, help="a model folder; without it, a Pythia-14M shape")
    parser.add_argument("--vocabulary", type=int, default=8000, help="rows of the made model's output layer")
    parser.add_argument("--paradigms", type=int, help="how many of its paradigms, evenly chosen; default all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make_pairs(arguments.pairs, arguments.paradigms, place / "pairs.parquet")
        model = arguments.model or place / "model"
        if arguments.model is None:
            make_model(place / "pairs.parquet", arguments.vocabulary, model)
        measure(place / "out", model, place / "pairs.parquet", arguments.rounds)


if __name__ == "__main__":
    main()
