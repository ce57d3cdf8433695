"""From the name of a benchmark to its pair table, read once as long as its files stay as they are."""

import functools
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from eval.benchmarks.custom import CustomBenchmark, custom_files, load_custom
from eval.benchmarks.registry import REGISTRY, find_benchmark
from eval.pairs import pair_table
from ucurve.progress import say

Fingerprint = tuple[tuple[Path, int, int], ...]


def load_benchmark(name: str, root: Path | None = None, custom: CustomBenchmark | None = None) -> pd.DataFrame:
    """Load the pair table of a benchmark.

    Args:
        root: folder with one folder per benchmark; None takes the benchmark from its source.
        custom: what the name ``custom`` stands for.

    Returns:
        The pair table (``eval.pairs``). Another number of pairs or paradigms than the published one is said on
        standard error.

    Raises:
        UserError: when the name is unknown, files are missing or broken, or the source cannot be reached.
    """
    card = find_benchmark(name)
    if name == "custom" and custom is not None:
        return _load_custom(custom, _fingerprint(custom_files(custom))).copy()
    return _load(name, root, _fingerprint(card.matching(root) if root is not None else [])).copy()


@functools.lru_cache(maxsize=128)  # scoring after each checkpoint asks again and again, for up to 101 languages
def _load(name: str, root: Path | None, fingerprint: Fingerprint) -> pd.DataFrame:  # noqa: ARG001
    card = REGISTRY[name]
    pairs = pair_table(card.load(card, root), name, card.language, card.keys)
    if card.pairs is not None and len(pairs) != card.pairs:
        say(f"{name}: {len(pairs)} pairs; the published benchmark has {card.pairs}")
    elif card.paradigms not in (None, found := pairs["paradigm"].nunique()):
        say(f"{name}: {found} paradigms; the published benchmark has {card.paradigms}")
    return pairs


@functools.lru_cache(maxsize=8)
def _load_custom(custom: CustomBenchmark, fingerprint: Fingerprint) -> pd.DataFrame:  # noqa: ARG001
    return load_custom(custom)


def _fingerprint(files: Iterable[Path]) -> Fingerprint:
    facts = ((file, file.stat()) for file in files)
    return tuple((file, stat.st_size, stat.st_mtime_ns) for file, stat in facts)
