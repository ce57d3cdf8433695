"""Loss and gradients of the output layer: ours, chunk by chunk, against the plain cross-entropy.

    python measurements/speed/output_loss.py [--threads 2] [--rounds 7]

Both run in turn in one process on the same numbers; what counts is the ratio of the medians.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from ucurve.training.model.loss import output_loss

POSITIONS, WIDTH = 2048, 128  # a micro batch of 32 x 64 tokens, the 14M model


def seconds(work: Callable[[], None]) -> float:
    """Time one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def compare(vocabulary: int, rounds: int) -> str:
    """Time both ways and check that they agree; return a line of the table."""
    hidden = torch.randn(POSITIONS, WIDTH, requires_grad=True)
    weight = (torch.randn(vocabulary, WIDTH) * 0.05).requires_grad_()
    targets = torch.randint(0, vocabulary, (POSITIONS,))

    def ours() -> None:
        output_loss(hidden, weight, targets)[0].backward()

    def plain() -> None:
        cross_entropy(hidden @ weight.t(), targets, reduction="sum").backward()

    gradients = []
    for way in (ours, plain):
        hidden.grad = weight.grad = None
        way()
        gradients.append((hidden.grad, weight.grad))
    worst = max(float((a - b).abs().max()) for a, b in zip(*gradients, strict=True))
    times = [(seconds(ours), seconds(plain)) for _ in range(rounds)]
    mine, theirs = (statistics.median(column) for column in zip(*times, strict=True))
    return f"{vocabulary:>10,} {mine * 1000:>9.1f} {theirs * 1000:>9.1f} {theirs / mine:>7.2f} {worst:>10.1e}"


def main() -> None:
    """Print the comparison for a small and a large vocabulary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    print("vocabulary   ours ms  plain ms   ratio  gradients differ by at most")
    for vocabulary in (8_000, 50_000):
        print(compare(vocabulary, options.rounds))


if __name__ == "__main__":
    main()
