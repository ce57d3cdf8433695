"""The precision of matrix products: what ``engine.precision=auto`` takes here, and the FLOPs that a device does in it.

The share of these FLOPs that a step uses is its MFU.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ucurve.storage.facts import Precision

if TYPE_CHECKING:
    import torch

# Made by the drivers of NVIDIA and AMD, and by Windows for its Linux.
_DEVICE_FILES = (Path("/dev/nvidiactl"), Path("/dev/kfd"), Path("/dev/dxg"))
# Dense TFLOP/s in bfloat16 and in float32 without TF32, by NVIDIA's data sheets; the first part of a name that fits.
_DATA_SHEETS = {
    "B200": (2250.0, 75.0),
    "GH200": (989.0, 67.0),
    "H200": (989.0, 67.0),
    # It stands before "H100", which is a part of its name.
    "H100 PCIe": (756.0, 51.0),
    "H100": (989.0, 67.0),
    "A100": (312.0, 19.5),
    "L40S": (362.0, 91.6),
    "RTX 4090": (165.2, 82.6),
    "RTX 3090": (71.0, 35.6),
}


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
    return (
        precision if precision == "float32" else f"products in {precision}; weights, moments and loss in float32"
    )


def peak_flops(name: str, precision: Precision) -> float | None:
    """Return the FLOPs per second that a device of this name can do in dense products; None where it is not known."""
    found = next((values for part, values in _DATA_SHEETS.items() if part in name), None)
    return None if found is None else 1e12 * found[0 if precision == "bfloat16" else 1]


def device_peak(device: "torch.device", precision: Precision) -> float | None:
    """Return the peak of a CUDA device; None for others and for those whose data sheet is not known here."""
    import torch

    return peak_flops(torch.cuda.get_device_name(device), precision) if device.type == "cuda" else None
