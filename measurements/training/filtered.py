"""Counts what a pattern matches in the tokens that a run was trained on, decoded without the code that filtered them.

python -m measurements.training.filtered --run RUN --cache CACHE --pattern 'any(body|one)?'

It reads the shards of the token stream that ``run.json`` names, compares their hash with it, and decodes each document
with the run's tokenizer. Of the suite it imports nothing. It fails when there is a match.
"""

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer


def read_stream(run: Path, cache: Path) -> "np.ndarray":
    """Return the ids of a run's token stream, shape [tokens]."""
    facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
    kind = "<u4" if facts["vocabulary"] > 65_536 else "<u2"
    for index in cache.glob("tokens-*/index.json"):
        shards = sorted(index.parent.glob("shard-*.bin"))
        ids = np.concatenate([np.fromfile(shard, dtype=kind) for shard in shards])
        if hashlib.sha256(ids.tobytes()).hexdigest() == facts["data_sha256"]:
            return ids
    raise SystemExit(f"{cache} does not hold the token stream of {run}")


def count_matches(run: Path, cache: Path, pattern: str) -> tuple[int, int, list[str]]:
    """Return how many documents there are, how many have a match, and some of the matches with what surrounds them."""
    tokenizer = Tokenizer.from_file(str(run / "tokenizer" / "tokenizer.json"))
    ids = read_stream(run, cache)
    starts = np.flatnonzero(ids == ids[0])  # every document follows the same token
    wanted, found, matching = re.compile(pattern), [], 0
    for document in np.split(ids, starts[1:]):
        text = tokenizer.decode(document.tolist(), skip_special_tokens=True)
        matches = list(wanted.finditer(text))
        matching += bool(matches)
        found += [text[max(0, match.start() - 30) : match.end() + 30] for match in matches[:1]]
    return len(starts), matching, found[:5]


def main() -> None:
    """Count, print, and fail where there is a match."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, kind in {"run": Path, "cache": Path, "pattern": str}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    given = parser.parse_args()
    documents, matching, found = count_matches(given.run, given.cache, given.pattern)
    print(f"{matching:,} of {documents:,} documents have a match", *found, sep="\n  ")
    sys.exit(1 if matching else 0)


if __name__ == "__main__":
    main()
