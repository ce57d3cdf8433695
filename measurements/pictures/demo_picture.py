"""Draw the curve of the demo that gets worse before it gets better, for the first page of the documentation.

python -m measurements.pictures.demo_picture [--runs runs/demo] [--out docs/images/demo-learning-curves.png]

The phenomenon and, for comparison, the classifiers of single nouns, which are the regularity that is learned first.
Line: mean over the runs; band: from the lowest to the highest run; linking function SLLN-LP, ties count half.
"""

import argparse
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from measurements.shapes.demo_u import PHENOMENON
from ucurve.analysis.plotting.style import drawing_style

SINGLE_NOUNS = "classifier_noun"
_CHOSEN = "linking == 'slln_lp' and split == 'all' and ties_rule == 'half' and tokens > 0"
_TURNING, _PLAIN = "#D55E00", "#767676"
_TICKS = {1_024: "1K", 10_000: "10K", 100_000: "100K", 799_744: "800K"}
_WIDTH, _HEIGHT, _DOTS = 7.0, 3.7, 200  # inches, and dots per inch


def accuracies(folder: Path, condition: str) -> pd.DataFrame:
    """Return accuracies in percent at the trained checkpoints of all runs in a folder, with a column for each run."""
    table = pd.concat(pd.read_csv(path) for path in sorted(folder.glob("*/eval/accuracy.csv")))
    rows = table.query(f"{_CHOSEN} and {condition}")
    return 100 * rows.pivot_table(index="tokens", columns="run", values="accuracy")


def draw(turning: pd.DataFrame, plain: pd.DataFrame) -> Figure:
    """Draw both curves with the words that tell them apart."""
    with drawing_style():
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        axes = figure.add_subplot()
        axes.axhline(50, color="black", linewidth=0.8, linestyle=(0, (4, 3)))
        axes.text(turning.index[-1], 51.5, "chance", ha="right", fontsize=10)
        _line(axes, plain, _PLAIN, 1.6)
        _line(axes, turning, _TURNING, 2.8)
        axes.text(17_000, 93, "classifier of a single noun", color=_PLAIN, ha="right", fontsize=10.5)
        axes.text(1_050, 27, "classifier of\na compound", color=_TURNING, fontsize=11.5)
        mean = turning.mean(axis=1)
        axes.annotate(
            "got worse before\nit got better", (mean.idxmin(), mean.min() + 2), (36_000, 34), color=_TURNING,
            fontsize=13, ha="center", va="center",
            arrowprops={"arrowstyle": "-|>", "color": _TURNING, "linewidth": 2, "shrinkB": 4},
        )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xticks(list(_TICKS), list(_TICKS.values()), fontsize=10.5)
        axes.set_xticks([], minor=True)
        axes.set_xlim(turning.index[0] / 1.08, turning.index[-1] * 1.08)
        axes.set_ylim(0, 100)
        axes.yaxis.set_major_formatter(PercentFormatter(decimals=0))
        axes.tick_params(axis="y", labelsize=10.5)
        axes.set_xlabel("training tokens", fontsize=11)
        axes.set_ylabel("pairs judged correctly", fontsize=11)
    return figure


def _line(axes: Axes, values: pd.DataFrame, color: str, width: float) -> None:
    axes.fill_between(values.index, values.min(axis=1), values.max(axis=1), color=color, alpha=0.2, linewidth=0)
    mean = values.mean(axis=1)
    axes.plot(values.index, mean, "o-", color=color, linewidth=width, markersize=2 * width, clip_on=False)


def main() -> None:
    """Read the runs and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("runs/demo"))
    parser.add_argument("--out", type=Path, default=Path("docs/images/demo-learning-curves.png"))
    arguments = parser.parse_args()
    turning = accuracies(arguments.runs, f"phenomenon == '{PHENOMENON}' and paradigm == 'all'")
    plain = accuracies(arguments.runs, f"paradigm == '{SINGLE_NOUNS}'")
    draw(turning, plain).savefig(arguments.out, dpi=_DOTS, metadata={"Software": None})


if __name__ == "__main__":
    main()
