"""Time loading of benchmarks: the published files of one, and as many made-up languages of a family as its card has.

python measurements/speed/loading.py --root BENCHMARKS --benchmark NAME --family NAME [--pairs 128000]

The made-up files have the columns that the family's card names and ten more. Peak memory is the resident set of the
process with all pair tables kept.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from measurements.processes import peak
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import expand_benchmarks, find_card

COLUMNS = (
    "sen",
    "wrong_sen",
    "phenomenon",
    "feature_vals",
    "distance",
    *(f"more_{number}" for number in range(10)),
)
WORDS = 12  # of a sentence


def make_languages(family: str, root: Path, pairs: int) -> None:
    """Write so many made-up pairs, as tab-separated tables, evenly over the languages of a family."""
    draw, languages = random.Random(0), sorted(find_card(family).languages)  # noqa: S311
    words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 9))) for _ in range(3000)]
    for language in languages:
        lines = ["\t".join(COLUMNS)]
        for _ in range(-(-pairs // len(languages))):
            sentence = " ".join(draw.choices(words, k=WORDS))
            about = draw.choice("#PG"), "SG -> PL", draw.randint(1, 5), *(draw.randint(0, 999) for _ in range(10))
            lines.append("\t".join(map(str, (f"{sentence} a.", f"{sentence} b.", *about))))
        file = root / family / f"{language}.tsv"
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Read the command line and print seconds and memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--family", required=True)
    parser.add_argument("--pairs", type=int, default=128_000)
    arguments = parser.parse_args()
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        loaded = load_benchmark(arguments.benchmark, arguments.root)
        taken.append(time.perf_counter() - began)
    print(f"{arguments.benchmark}: {len(loaded):,} pairs, median of 5 {statistics.median(taken):.2f} s")
    with tempfile.TemporaryDirectory() as name:
        make_languages(arguments.family, Path(name), arguments.pairs)
        began = time.perf_counter()
        cards = expand_benchmarks([arguments.family], Path(name))
        tables = [load_benchmark(card, Path(name)) for card in cards]
        seconds = time.perf_counter() - began
    total = sum(map(len, tables))
    print(
        f"{arguments.family}: {total:,} pairs of {len(tables)} languages, {seconds:.1f} s, {peak():.0f} MB at most"
    )


if __name__ == "__main__":
    main()
