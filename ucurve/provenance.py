"""What made a number: code revision, library versions, hardware."""

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

from ucurve import __version__

_LIBRARIES = ("torch", "transformers", "tokenizers", "datasets", "numpy", "safetensors", "deepspeed")


def versions() -> dict[str, str]:
    """Return the versions of ucurve, Python and the libraries that numbers depend on."""
    found = {"ucurve": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def code_revision() -> str | None:
    """Return the git commit of the code, with ``+changes`` when files differ from it; None outside a checkout."""
    here = Path(__file__).resolve()
    root = here.parent.parent
    commit = _git(root, "rev-parse", "HEAD")
    # Code that is not tracked is installed into a folder of another project.
    if not commit or not _git(root, "ls-files", str(here)):
        return None
    return f"{commit}+changes" if _git(root, "status", "--porcelain", "--untracked-files=no") else commit


def hardware() -> dict[str, str | int | list[str] | None]:
    """Return the machine's processor, cores and accelerators."""
    import torch

    accelerators = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "accelerators": accelerators,
    }


def processor() -> str:
    """Return the processor's model where Linux tells it, else its architecture; sums may differ between models."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{platform.machine()} {models[0]}" if models else platform.machine()


def _git(root: Path, *arguments: str) -> str | None:
    try:
        result = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip()
