"""Time the count of a benchmark's n-grams in the training tokens of a run.

python measurements/speed/ngrams.py --root BENCHMARKS --benchmark NAME [--corpus PATH] [--tokenizer char]
    [--tokens 21000000]

The tokens are those of a corpus, or else random characters of the benchmark, common and rare ones as in text (Zipf).
They are written to shards, read back in the order of a training, and counted in a process of its own on one core, with
a stop after a quarter, half and all of them. The line of half gives the seconds since the beginning, and so on.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from measurements.processes import peak, run_alone
from ucurve.config import check
from ucurve.config_files import completed
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.scoring.ngrams import ORDERS, SeenNgrams
from ucurve.eval.scoring.text.sentences import encode
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.token_stream.order import Batches
from ucurve.token_stream.store import open_store
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.settings import CorpusSettings
from ucurve.training.data.store import build_token_store
from ucurve.training.tokenizer.build import TokenizerSettings, build_tokenizer

SIZES = {"char": None, "word": 6000, "bpe": 6000}
LENGTH, SEQUENCES = 128, 64  # of a batch
DOCUMENT = 600  # characters of a made document
BILLIONS = 3  # tokens, of a large run


def make_text(benchmark: str, root: Path, characters: int, file: Path) -> None:
    """Write documents of random characters of a benchmark, the n-th most common with a share of about 1 / n."""
    pairs = load_benchmark(benchmark, root)
    counts = Counter("".join([*pairs["good"], *pairs["bad"]]))
    letters = np.array([letter for letter, _ in counts.most_common() if not letter.isspace()])
    draw = np.random.default_rng(0)
    with file.open("w", encoding="utf-8") as lines:
        for _ in range(-(-characters // DOCUMENT)):
            ranks = (len(letters) ** draw.random(DOCUMENT)).astype(np.int64)
            lines.write("".join(letters[ranks - 1]) + "\n")


def count(arguments: argparse.Namespace) -> dict[str, Any]:
    """Count in this process, and say how long that took and how much memory."""
    tokenizer = load_tokenizer(arguments.folder / "tokenizer")
    [stream] = (arguments.folder / "cache").glob("tokens-*")
    store = open_store(stream)
    pairs = load_benchmark(arguments.benchmark, arguments.root)
    sentences = encode(pairs, tokenizer)
    before, begun = peak(), time.perf_counter()
    training, size = Batches.over(store, 0, LENGTH, SEQUENCES), 1 + max(tokenizer.get_vocab().values())
    seen = SeenNgrams(training, [sentences], tokenizer.eos_token_id, size, [tokenizer.eos_token_id])
    listed = time.perf_counter() - begun
    steps = arguments.tokens // (LENGTH * SEQUENCES)
    begun, lines = time.perf_counter(), []
    for step in (steps // 4, steps // 2, steps):
        seen.up_to(step)
        lines.append((step * LENGTH * SEQUENCES, time.perf_counter() - begun))
    begun = time.perf_counter()
    for length in ORDERS:
        seen.log_probabilities(sentences, length, 1.0)
    return {
        "pairs": len(pairs),
        "vocabulary": size,
        "epoch": (store.length - 1) // LENGTH * LENGTH,
        "listed": listed,
        "lines": lines,
        "scored": time.perf_counter() - begun,
        "followers": sum(seen.followers),
        "before": before,
        "peak": peak(),
    }


def make(arguments: argparse.Namespace) -> dict[str, Any]:
    """Make tokenizer and token stream in this process, whose memory must not count as that of the counts."""
    folder, corpus = arguments.folder, arguments.corpus
    if corpus is None:
        corpus = folder / "made.txt"
        make_text(arguments.benchmark, arguments.root, arguments.tokens, corpus)
    settings = check(CorpusSettings, completed("data/text.yaml", {"path": str(corpus), "name": "measured"}))
    kind = arguments.tokenizer
    built = build_tokenizer(TokenizerSettings(kind=kind, name=kind, vocab_size=SIZES[kind]), settings, folder)
    built.rename(folder / "tokenizer")
    store = build_token_store(Corpus(settings), folder / "tokenizer", folder / "cache", processes=1)
    return {"tokens": store.length}


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    """Make a token stream, count in it, each in a process of its own, and print the figures."""
    given = {key: value for key, value in vars(arguments).items() if value is not None} | {"folder": folder}
    run_alone(__file__, folder / "made.json", {**given, "work": "make"})
    facts = run_alone(__file__, folder / "counted.json", {**given, "work": "count"}, threads=1)
    print(f"{facts['pairs']:,} pairs, vocabulary {facts['vocabulary']:,}, epochs of {facts['epoch']:,} tokens")
    print(f"{facts['listed']:.1f} s to number the n-grams")
    for tokens, seconds in facts["lines"]:
        print(f"{tokens:12,} tokens  {seconds:7.1f} s  {tokens / seconds:11,.0f} tokens/s")
    tokens, seconds = facts["lines"][-1]
    print(f"{facts['scored']:.1f} s for the scores of all orders")
    print(f"{facts['followers']:,} different tokens after contexts of the benchmark")
    print(f"peak {facts['peak']:,.0f} MB, {facts['before']:,.0f} MB of it before the n-grams are numbered")
    print(f"{BILLIONS}e9 tokens at this rate: {BILLIONS * 1e9 / tokens * seconds / 3600:.1f} hours")


def main() -> None:
    """Read the command line; ``--work`` is for the processes this one starts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--corpus", type=Path, help="file or folder of text")
    parser.add_argument("--tokenizer", choices=SIZES, default="char")
    parser.add_argument("--tokens", type=int, default=21_000_000)
    parser.add_argument("--work", choices=["make", "count"], help=argparse.SUPPRESS)
    for name in ("folder", "out"):
        parser.add_argument(f"--{name}", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work = {"make": make, "count": count}[arguments.work]
        arguments.out.write_text(json.dumps(work(arguments)))
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(arguments, Path(folder))


if __name__ == "__main__":
    main()
