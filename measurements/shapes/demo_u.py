"""Measure how often the U of the demo is certified: train the demo again with other seeds, and classify its curves.

python -m measurements.shapes.demo_u [--reruns 1 2 ... 20] [--folder runs/demo_u] [--out demo_u.csv]

Rerun k has the seeds 3k, 3k + 1 and 3k + 2; the demo itself has those of rerun 0. Finished runs are not trained again,
so that a measurement that was stopped goes on where it was.

Prints one row for each rerun: accuracy on the phenomenon at the first trained checkpoint, at the lowest one and at the
last one (mean over seeds, in percent), p of the U before and after Holm's procedure over all curves of the demo, and
the class. The class counts pairs and seeds as random.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import pandas as pd

from ucurve.analysis.api import open_study, read_shapes

PHENOMENON = "compound_classifier"
RERUNS = 20
_SEEDS = 3


def rerun(number: int, folder: Path) -> str:
    """Train and score the demo with the seeds of a rerun; return the pattern of its runs."""
    runs = folder / f"rerun{number:02}"
    seeds = ",".join(str(_SEEDS * number + place) for place in range(_SEEDS))
    command = [sys.executable, "train.py", "experiment=demo", f"grid=[{{seed: [{seeds}]}}]", f"paths.runs={runs}"]
    subprocess.run(command, check=True, capture_output=True)
    return f"{runs}/*"


def certify(runs: str) -> dict[str, object]:
    """Classify the curve of the phenomenon in three runs of the demo."""
    [scored] = open_study(runs).benchmarks()
    shapes = read_shapes(scored)
    assert shapes is not None
    [row] = shapes.classes.query(f"phenomenon == '{PHENOMENON}'").to_dict("records")
    accuracy = 100 * shapes.estimates[row["line"], PHENOMENON].mean
    return {
        "start": accuracy[0], "lowest": accuracy.min(), "end": accuracy[-1],
        "p": row["p_u"], "p_holm": row["holm_u"], "class": row["shape"],
    }  # fmt: skip


def main() -> None:
    """Run the reruns that are asked for, and print and store a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reruns", nargs="+", type=int, default=range(1, RERUNS + 1))
    parser.add_argument("--folder", type=Path, default=Path("runs/demo_u"))
    parser.add_argument("--out", type=Path, default=Path("demo_u.csv"))
    arguments = parser.parse_args()
    rows = []
    for number in arguments.reruns:
        rows.append({"rerun": number, **certify(rerun(number, arguments.folder))})
        table = pd.DataFrame(rows)
        table.to_csv(arguments.out, index=False)
        print(table.tail(1).to_string(index=False, header=len(rows) == 1, float_format="%.4g"), flush=True)
    print(f"{(table['class'] == 'U-shaped').sum()} of {len(table)} reruns are certified as U-shaped")


if __name__ == "__main__":
    main()
