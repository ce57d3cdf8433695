"""score.py on a small disk: ``python -m tests.small_disk BYTES CACHE key=value ...``, where the cache is alone on it."""

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

from ucurve.cli import run


def used(cache: Path) -> int:
    """Return the bytes of all files of weights in the cache, whole or in part."""
    sizes = []
    for blob in cache.glob("*/blobs/*"):
        try:
            sizes.append(blob.stat().st_size)
        except FileNotFoundError:  # removed in the meantime
            continue
    return sum(sizes)


if __name__ == "__main__":
    capacity, cache = int(sys.argv[1]), Path(sys.argv[2])
    shutil.disk_usage = lambda _: SimpleNamespace(free=capacity - used(cache))
    sys.argv = ["score.py", *sys.argv[3:]]
    run("score")
