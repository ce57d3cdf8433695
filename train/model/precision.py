"""The precision of a run's matrix products, and the one that ``engine.precision=auto`` takes on this machine."""

import os
import sys
from pathlib import Path

from ucurve.storage.facts import Precision

# Made by the drivers of NVIDIA and AMD, and by Windows for its Linux.
_DEVICE_FILES = (Path("/dev/nvidiactl"), Path("/dev/kfd"), Path("/dev/dxg"))


def choose_precision(device: str) -> Precision:
    """Return bfloat16 where the device computes in it, otherwise float32."""
    if device == "cpu" or not may_have_accelerator():
        return "float32"  # without importing torch, which takes seconds
    import torch

    fits = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    return "bfloat16" if fits else "float32"


def may_have_accelerator() -> bool:
    """Tell whether this machine has what the drivers of accelerators make; the rest is known when torch is imported."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    absent = sys.platform == "linux" and not any(path.exists() for path in _DEVICE_FILES)
    return not (hidden or absent)


def describe_precision(precision: Precision) -> str:
    """Describe what is computed in which precision."""
    return precision if precision == "float32" else f"products in {precision}; weights, moments and loss in float32"
