"""Measure the memory that tokenizing takes: it must not grow with the corpus.

python measurements/speed/tokenizing.py [--megabytes 20 200] [--kinds char word bpe]

Made text of each size is encoded into a token stream, each time in a process of its own, by a tokenizer built on the
smallest. A peak is the largest resident set of that process or, where larger, of one that it starts to encode.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from measurements.processes import run_alone

SIZES = {"char": None, "word": 6000, "bpe": 8000}
DOCUMENT = 600  # characters, as in an encyclopedia
CHARACTERS = 3000  # distinct ones
PHRASE = 9  # characters up to a comma: what byte-level BPE takes for a word, and remembers
BYTES_EACH = 3  # of a Chinese character in UTF-8


def make_corpus(megabytes: int, form: str, folder: Path) -> None:
    """Write documents as JSON lines, as one row group of Parquet, or as the lines of one text file."""
    folder.mkdir()
    if form == "txt":
        with (folder / "text.txt").open("w", encoding="utf-8") as file:
            file.writelines(text + "\n" for text in documents(megabytes))
        return
    if form == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table({"text": list(documents(megabytes))})
        pq.write_table(table, folder / "text.parquet", compression="none", use_dictionary=False)
        return
    with (folder / "text.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in documents(megabytes))


def documents(megabytes: int) -> Iterator[str]:
    """Make phrases of Chinese characters, common and rare ones as in text."""
    import numpy as np

    generator = np.random.default_rng(0)
    for _ in range(megabytes * 2**20 // (DOCUMENT * BYTES_EACH)):
        codes = 0x4E00 + (CHARACTERS ** generator.random(DOCUMENT)).astype(int)
        codes[generator.random(DOCUMENT) < 1 / PHRASE] = ord("，")
        yield "".join(map(chr, codes))


def work(kind: str, corpus: Path, folder: Path, processes: int, out: Path) -> None:
    """Encode a corpus in this process, or only build the tokenizer, and write what that took."""
    from ucurve.config import check
    from ucurve.config_files import completed
    from ucurve.training.corpus.corpus import Corpus
    from ucurve.training.corpus.settings import CorpusSettings
    from ucurve.training.data.store import build_token_store
    from ucurve.training.tokenizer.build import TokenizerSettings, build_tokenizer

    tokenizer = folder / kind
    settings = check(CorpusSettings, completed("data/text.yaml", {"path": str(corpus), "name": "made"}))
    if not tokenizer.exists():
        chosen = TokenizerSettings(kind=kind, name=kind, vocab_size=SIZES[kind])  # type: ignore[arg-type]
        build_tokenizer(chosen, settings, folder).rename(tokenizer)
        return
    start = time.perf_counter()
    store = build_token_store(Corpus(settings), tokenizer, folder / f"cache-{corpus.name}", processes)
    peaks = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    out.write_text(
        json.dumps({"tokens": store.length, "seconds": time.perf_counter() - start, "peak": max(peaks)})
    )


def run(kind: str, corpus: Path, folder: Path, processes: int) -> dict[str, Any]:
    """Do ``work`` in a process of its own."""
    out, given = folder / "out.json", {"work": kind, "corpus": corpus, "folder": folder, "processes": processes}
    out.write_text("{}")
    return run_alone(__file__, out, given)


def compare(arguments: argparse.Namespace, folder: Path) -> None:
    """Encode every size with every kind of tokenizer and print the peaks, as ratios to that of the smallest."""
    sizes = sorted(arguments.megabytes)
    for size in sizes:
        make_corpus(size, arguments.form, folder / str(size))
    print("tokenizer        MB      tokens  seconds  peak MB   ratio", flush=True)
    for kind in arguments.kinds:
        run(kind, folder / str(sizes[0]), folder, arguments.processes)
        first = None
        for size in sizes:
            facts = run(kind, folder / str(size), folder, arguments.processes)
            first = first or facts["peak"]
            print(
                f"{kind:9} {size:9} {facts['tokens']:11,} {facts['seconds']:8.1f} {facts['peak']:8.0f} "
                f"{facts['peak'] / first:6.2f}x",
                flush=True,
            )


def main() -> None:
    """Read the command line; ``--work`` is for the processes this one starts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[20, 200], help="sizes of the corpora")
    parser.add_argument("--form", choices=["jsonl", "parquet", "txt"], default="jsonl")
    parser.add_argument("--kinds", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--processes", type=int, default=2, help="processes that encode")
    parser.add_argument("--work", choices=SIZES, help=argparse.SUPPRESS)
    for name in ("corpus", "folder", "out"):
        parser.add_argument(f"--{name}", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work, arguments.corpus, arguments.folder, arguments.processes, arguments.out)
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(arguments, Path(folder))


if __name__ == "__main__":
    main()
