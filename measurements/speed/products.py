"""Products of float32 matrices by the library that torch takes itself, MKL, and by the one that ucurve takes, oneDNN.

    python measurements/speed/products.py [--threads 2] [--rounds 15]

Both multiply the same numbers in one process: a layer forward, the gradient of its inputs and that of its weights, in
the sizes of Pythia 14M and SmolLM2 135M. Figures are medians; errors are beside float64. On a processor where ucurve
leaves torch its own, there is nothing to compare.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ucurve.huggingface.products import use_fast_products

SIZES = [(1024, 128, 512), (4096, 128, 512), (256, 576, 1536), (4096, 576, 1536)]  # rows, inputs, outputs


def multiply(rounds: int) -> list[tuple[str, float, float]]:
    """Return what is multiplied, GFLOP/s, and the largest error, for every size and direction."""
    torch.manual_seed(0)
    found = []
    for rows, inputs, outputs in SIZES:
        read, weight, gradient = (
            torch.randn(size) for size in ((rows, inputs), (outputs, inputs), (rows, outputs))
        )
        directions = {
            "forward": (read, weight.t()),
            "gradient of inputs": (gradient, weight),
            "gradient of weights": (gradient.t(), read),
        }
        for direction, (one, other) in directions.items():
            error = float((torch.mm(one, other) - one.double() @ other.double()).abs().max())
            speed = 2e-9 * rows * inputs * outputs / seconds(partial(torch.mm, one, other), rounds)
            found.append((f"{rows} x {inputs} x {outputs}, {direction}", speed, error))
    return found


def seconds(work: Callable[[], object], rounds: int) -> float:
    """Return the median time of ten calls, divided by ten."""
    times = []
    for _ in range(rounds + 2):  # the first two are not counted
        started = time.perf_counter()
        for _ in range(10):
            work()
        times.append((time.perf_counter() - started) / 10)
    return statistics.median(times[2:])


def main() -> None:
    """Measure, change the library, and measure again."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    before = multiply(options.rounds)
    if not use_fast_products():
        sys.exit("this processor multiplies by torch's own library")
    print(f"{'':40} {'MKL':>6} {'oneDNN':>6}  GFLOP/s; error {'MKL':>7} {'oneDNN':>7}")
    for (name, usual, error), (_, fast, other) in zip(before, multiply(options.rounds), strict=True):
        print(f"{name:40} {usual:6.0f} {fast:6.0f}  {fast / usual:5.2f} x        {error:7.1e} {other:7.1e}")


if __name__ == "__main__":
    main()
