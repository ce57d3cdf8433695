"""The registry of benchmarks: where each one's pairs are, and what is known of it."""

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from eval.pairs import pair_table, read_json_lines
from ucurve.errors import UserError, missing_folder, nearest, unknown_name
from ucurve.progress import say

Records = Iterable[tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Benchmark:
    """The card of a benchmark.

    Attributes:
        name: its name in configurations and run folders; also that of its folder under ``benchmark_root``.
        language: ISO 639-3 code.
        load: given the card and ``benchmark_root`` (None: from the source), yields the published records with places.
        linking: the linking function its authors recommend, used where a figure shows one.
        licence: what the source says about use, or "not stated".
        citation: paper to cite.
        source: a hub data set ``owner/name``, or None for a benchmark that has no source on the hub.
        pairs: number of published pairs, or None when it is not fixed.
    """

    name: str
    language: str
    load: Callable[["Benchmark", Path | None], Records]
    linking: str
    licence: str
    citation: str
    source: str | None = None
    pairs: int | None = None


REGISTRY: dict[str, Benchmark] = {}


def register(benchmark: Benchmark) -> None:
    """Add a benchmark to the registry.

    Raises:
        ValueError: when the name is taken.
    """
    if benchmark.name in REGISTRY:
        raise ValueError(f"benchmark {benchmark.name!r} is registered already")
    REGISTRY[benchmark.name] = benchmark


def find_benchmark(name: str) -> Benchmark:
    """Return the card of a benchmark.

    Raises:
        UserError: when no benchmark has the name.
    """
    if name not in REGISTRY:
        raise unknown_name("benchmark", name, REGISTRY)
    return REGISTRY[name]


def load_benchmark(name: str, root: Path | None = None) -> pd.DataFrame:
    """Load the pair table of a benchmark.

    Args:
        name: a registered name.
        root: folder with one folder per benchmark; None takes the benchmark from its source.

    Returns:
        The pair table (``eval.pairs``). A number of pairs other than the published one is said on standard error.

    Raises:
        UserError: when the name is unknown, files are missing or broken, or the source cannot be reached.
    """
    find_benchmark(name)
    return _load(name, root, _fingerprint(name, root)).copy()


@functools.lru_cache(maxsize=8)  # scoring after each checkpoint asks again and again
def _load(name: str, root: Path | None, fingerprint: tuple[object, ...]) -> pd.DataFrame:  # noqa: ARG001
    benchmark = REGISTRY[name]
    pairs = pair_table(benchmark.load(benchmark, root), name, benchmark.language)
    if benchmark.pairs is not None and len(pairs) != benchmark.pairs:
        say(f"{name}: {len(pairs)} pairs; the published benchmark has {benchmark.pairs}")
    return pairs


def _fingerprint(name: str, root: Path | None) -> tuple[object, ...]:
    files = sorted((root / name).rglob("*")) if root is not None else []
    facts = ((file, file.stat()) for file in files if file.is_file())
    return tuple((file, stat.st_size, stat.st_mtime_ns) for file, stat in facts)


def json_lines(benchmark: Benchmark, root: Path | None) -> Records:
    """Load ``<root>/<name>/*.jsonl`` in the order of file names, or every part of the hub data set without a root."""
    if root is None:
        return _from_hub(benchmark)
    records = read_json_lines(_files(benchmark.name, root))
    if not records:
        raise UserError(f"benchmark {benchmark.name!r} has no pairs in {root / benchmark.name}/*.jsonl")
    return records


def demo(benchmark: Benchmark, root: Path | None) -> Records:
    """Load the embedded demo; a folder of its name under ``root`` comes first."""
    if root is not None and not root.is_dir():
        raise missing_folder("benchmark_root", root)
    if root is not None and (root / benchmark.name).is_dir():
        return json_lines(benchmark, root)
    from eval.generation.demo import demo_pairs

    return [(f"demo pair {number}", record) for number, record in enumerate(demo_pairs())]


def _files(name: str, root: Path) -> list[Path]:
    if not root.is_dir():
        raise missing_folder("benchmark_root", root)
    folder = root / name
    if not folder.is_dir():
        present = sorted(entry.name for entry in root.iterdir() if entry.is_dir())
        close = nearest(name, present)
        hint = f" Did you mean the root of {close!r}?" if close else ""
        raise UserError(f"benchmark {name!r}: no folder {folder}; {root} holds {', '.join(present) or 'none'}.{hint}")
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise UserError(f"benchmark {name!r}: no *.jsonl files in {folder}")
    return files


def _from_hub(benchmark: Benchmark) -> Records:
    if benchmark.source is None:
        raise UserError(f"benchmark {benchmark.name!r} is not on the hub; give benchmark_root=DIR with its files")
    try:
        return list(_download(benchmark.source))
    except Exception as error:  # the hub's client raises errors of many libraries
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(
            f"benchmark {benchmark.name!r} could not be fetched from the hub data set {benchmark.source} ({reason}); "
            "give benchmark_root=DIR to read it from local files"
        ) from error


def _download(source: str) -> Records:
    import datasets

    for part in sorted(datasets.get_dataset_config_names(source)):
        rows = datasets.load_dataset(source, part, split="train")
        for number, row in enumerate(rows):
            yield f"{source}/{part}:{number + 1}", json.loads(json.dumps(row))


_ZHOBLIMP = "Liu et al., ZhoBLiMP: a Systematic Assessment of Language Models with Linguistic Minimal Pairs in Chinese"
register(
    Benchmark(
        name="zhoblimp",
        language="zho",
        load=json_lines,
        linking="slln_lp",
        licence="not stated",
        citation=_ZHOBLIMP,
        source="Junrui1202/zhoblimp",
        pairs=118 * 300,
    )
)
register(
    Benchmark(
        name="zhoblimp-excluded",
        language="zho",
        load=json_lines,
        linking="slln_lp",
        licence="not stated",
        citation=f"{_ZHOBLIMP}, appendix B: the 11 paradigms people agreed too little on",
        pairs=11 * 300,
    )
)
register(
    Benchmark(
        name="demo",
        language="zho",
        load=demo,
        linking="slln_lp",
        licence="Apache-2.0",
        citation="the embedded demo of ucurve",
    )
)
