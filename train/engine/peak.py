"""How many matrix-product FLOPs per second devices can do, and so which share of them (MFU) a step uses."""

from typing import TYPE_CHECKING

from ucurve.storage.facts import Precision

if TYPE_CHECKING:
    import torch

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


def peak_flops(name: str, precision: Precision) -> float | None:
    """Return the FLOPs per second that a device of this name can do in dense products; None where it is not known."""
    found = next((values for part, values in _DATA_SHEETS.items() if part in name), None)
    return None if found is None else 1e12 * found[0 if precision == "bfloat16" else 1]


def device_peak(device: "torch.device", precision: Precision) -> float | None:
    """Return the peak of a CUDA device; None for others and for those whose data sheet is not known here."""
    import torch

    return peak_flops(torch.cuda.get_device_name(device), precision) if device.type == "cuda" else None
