"""Measure how soon the workbench answers on a made-up study of 705 checkpoints, and its memory.

python measurements/speed/workbench.py --folder DIR [--sizes 5] [--seeds 3] [--checkpoints 47] [--items 300]
    [--times 20]

The study is that of analysis.py --pairs beside it: a benchmark of 118 paradigms with every pair's score; what is in
the folder already is used again, but for the workbench's copies of the scores. A server of its own is asked as the page
asks it, one request after the other; then it is started again, and finds the copies that it made. The plain way, for
comparison, reads the Parquet files anew and computes one curve of them.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener, install_opener, urlopen

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
ASKED = {"benchmark": "made", "scorer": "sentence", "by": "all", "split": "all"}


def main() -> None:
    """Make the study where it is not there, start a server, and print a line for each kind of request."""
    options = read_options()
    runs = make_study(options)
    shutil.rmtree(options.folder / "cache" / "workbench", ignore_errors=True)
    with started_server(options.folder) as (server, address):
        report(
            "the first view ever, by phenomenon: the scores are copied",
            [timed(lambda: view(address), server.pid)],
        )
    with started_server(options.folder) as (server, address):
        report("the first view after another start", [timed(lambda: view(address), server.pid)])
        report("the same view again", [timed(lambda: view(address), server.pid) for _ in range(options.times)])
        alphas = [round(0.05 * number, 2) for number in range(options.times)]
        each = {
            "curves of all pairs, another alpha each time": lambda place: ask(
                address, linking=f"slln_lp:{alphas[place]}"
            ),
            "the same, pairs of equal length": lambda place: ask(
                address, linking=f"slln_lp:{alphas[place]}", split="equal"
            ),
            "curves by phenomenon": lambda place: ask(
                address, linking=f"slln_lp:{alphas[place]}", by="phenomenon"
            ),
            "curves by paradigm (118)": lambda place: ask(
                address, linking=f"slln_lp:{alphas[place]}", by="paradigm"
            ),
            "whether a run went on, which is asked every four seconds": lambda _: ask(address, "changes"),
            "pairs of one paradigm at a checkpoint": lambda place: ask_pairs(
                address, runs, place, paradigm(place)
            ),
            "pairs of all paradigms at a checkpoint": lambda place: ask_pairs(address, runs, place, None),
        }
        for what, request in each.items():
            report(what, [timed(lambda place=place, request=request: request(place), server.pid)
                          for place in range(options.times)])  # fmt: skip
        print(f"memory of the server at most: {memory(server.pid):.2f} GB")
    report(
        "the plain way: the Parquet files of all runs are read for one curve",
        [timed(lambda: read_plainly(options.folder), os.getpid())],
    )


def make_study(options: argparse.Namespace) -> list[str]:
    """Write the runs that are not there; returns their names."""
    from measurements.speed.analysis import make_run

    for size in range(options.sizes):
        for seed in range(options.seeds):
            if not (options.folder / f"m{size}-3B-word-made-s{seed}" / "eval" / "accuracy.csv").is_file():
                make_run(options.folder, size, seed, options.checkpoints, options.items, with_pairs=True)
    return sorted(path.name for path in options.folder.glob("m*"))


@contextlib.contextmanager
def started_server(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Start a workbench on the study, with its cache beside it; its token becomes a cookie of all later requests."""
    command = [sys.executable, "-m", "ucurve", "workbench", "port=0", f"runs={folder.absolute()}/m*"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert server.stdout is not None
    try:
        printed = server.stdout.readline().split()[-1]
        server.stdout.readline()  # comes after the slow imports
        install_opener(build_opener(HTTPCookieProcessor()))
        urlopen(printed).close()  # noqa: S310 - our own server
        yield server, printed.partition("/?token=")[0]
    finally:
        server.kill()


def ask(address: str, name: str = "curves", **values: Any) -> Any:
    """Ask as the page does."""
    with urlopen(f"{address}/explore/api/{name}?{urlencode(ASKED | values)}") as reply:  # noqa: S310 - our own server
        return json.loads(reply.read())


def ask_pairs(address: str, runs: list[str], place: int, name: str | None) -> Any:
    """Ask for the flipped pairs of a run's last checkpoint, those of one paradigm or of all."""
    run = runs[place % len(runs)]
    steps = STEPS.setdefault(run, ask(address, "benchmark")["runs"][0]["steps"])
    which = {} if name is None else {"by": "paradigm", "values": name}
    return ask(address, "pairs", linking="slln_lp:0.4", run=run, step=steps[-2], kind="flipped", **which)


STEPS: dict[str, list[int]] = {}


def paradigm(place: int) -> str:
    """Name a paradigm of the made-up benchmark."""
    from measurements.speed.analysis import pair_table

    return str(pair_table(1)["paradigm"].unique()[place])


def read_plainly(folder: Path) -> None:
    """Read every score and compute the overall accuracy of every checkpoint."""
    import pandas as pd

    from ucurve.eval.linking import parse_linking
    from ucurve.eval.metrics.accuracy import pair_credits

    linking = parse_linking("slln_lp:0.4")
    for path in sorted(folder.glob("m*/eval/made/sentence/*.parquet")):
        columns = [f"{name}_{side}" for name in ("lp", "n") for side in ("good", "bad")]
        pair_credits(pd.read_parquet(path, columns=columns), linking, "half").mean()


def view(address: str) -> None:
    """Ask for what the page needs to draw its first curves and list pairs."""
    ask(address, "runs")
    facts = ask(address, "benchmark")
    ask(address, "changes")
    shown = {"by": "phenomenon", "linking": "slln_lp:0.5"}
    value = ask(address, **shown)["values"][0]["name"]
    run = facts["runs"][0]
    ask(address, "pairs", **shown, values=value, run=run["run"], step=run["steps"][-1])


def timed(work: Callable[[], Any], process: int) -> tuple[float, float]:
    """Return the seconds that something takes, and the processor seconds of a process meanwhile."""
    start, used = time.perf_counter(), processor_seconds(process)
    work()
    return time.perf_counter() - start, processor_seconds(process) - used


def processor_seconds(process: int) -> float:
    """Return the processor seconds that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(what: str, measured: list[tuple[float, float]]) -> None:
    """Print median and maximum."""
    seconds, used = zip(*measured, strict=True)
    print(
        f"{what}: median {statistics.median(seconds):.2f} s, at most {max(seconds):.2f} s, of {len(seconds)}; "
        f"processor: median {statistics.median(used):.2f} s, at most {max(used):.2f} s",
        flush=True,
    )


def memory(process: int) -> float:
    """Return the most memory that a process had, in gigabytes, mapped files included."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024**2


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    for name, value in {"sizes": 5, "seeds": 3, "checkpoints": 47, "items": 300, "times": 20}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser.parse_args()


if __name__ == "__main__":
    main()
