"""Estimate a training step of each size on an H100 from counts on a device that does not exist; no device is needed.

python measurements/speed/step_costs.py [--models 14m 70m 160m 410m 1.4b]

A step of 256 x 64 tokens in bfloat16 with a vocabulary of 49,953 is counted by ``tests/accelerator``: the layers not
compiled, the output loss as a chain of operations (plain) and as the kernel that a compiled model has (fused), whose
bytes are inductor's. The times are estimates by the constants below. They rank costs and are no measurements.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

FLOPS = {"bfloat16": 0.75 * 989e12, "float32": 0.75 * 67e12}  # products reach three quarters of the data sheet
BYTES = 0.8 * 3.35e12  # a second, of the memory
KERNEL, LAUNCH = (
    1.5e-6,
    6e-6,
)  # seconds: what each kernel takes at least, and what starting it takes the processor
PEAK = 989e12
TOKENS = 256 * 64


def estimate(counted: dict[str, Any]) -> dict[str, float]:
    """Return the figures of one step, the third."""
    step = counted["steps"][2]
    products, others = 0.0, counted["fused"] / BYTES
    for flops, moved, kind in step["work"]:
        seconds = max(flops / FLOPS.get(kind, FLOPS["float32"]), moved / BYTES) + KERNEL
        products, others = (products + seconds, others) if flops else (products, others + seconds)
    launching = LAUNCH * step["launches"]
    whole = max(products + others, launching)
    flops = sum(step["flops"].values())
    return {
        "flops": flops,
        "planned": flops / counted["planned"],
        "peak": step["peak"],
        "between": step["live"],
        "launches": step["launches"],
        "bytes": sum(step["bytes"].values()) + counted["fused"],
        "products": products,
        "others": others,
        "launching": launching,
        "tokens": TOKENS / whole,
        "mfu": counted["planned"] / whole / PEAK,
    }


def main() -> None:
    """Print a row for each model and loss."""
    from tests.accelerator.fake_device import count

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["14m", "70m", "160m", "410m", "1.4b"])
    arguments = parser.parse_args()
    print("| model | loss | FLOPs (counted / planned) | peak GB (between steps) | launches | GB beside products "
          "| products ms | others ms | launching ms | M tokens/s | MFU |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for model in arguments.models:
        for loss in ("plain", "fused"):
            row = estimate(count("count_step.py", model, "bfloat16", loss))
            # The memory inside of the fused kernel is not counted.
            memory = f"{row['peak'] / 1e9:.1f} ({row['between'] / 1e9:.2f})" if loss == "plain" else ""
            print(
                f"| {model} | {loss} | {row['flops']:.3g} ({row['planned']:.4f}) | {memory} "
                f"| {row['launches']:,} | {row['bytes'] / 1e9:.1f} "
                f"| {1e3 * row['products']:.1f} | {1e3 * row['others']:.1f} | {1e3 * row['launching']:.1f} "
                f"| {row['tokens'] / 1e6:.2f} | {row['mfu']:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
