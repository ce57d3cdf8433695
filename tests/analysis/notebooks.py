"""Runs the notebooks."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = [*ROOT.glob("analysis/notebooks/*.ipynb"), *ROOT.glob("studies/*/*.ipynb")]
_RUNS, _OUT = re.compile(r'^RUNS = "(../../)?runs/demo/\*"'), 'OUT = "figures'


def source_of(notebook: Any) -> str:
    """All code of a notebook."""
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")


@contextmanager
def running_kernel() -> Iterator[KernelManager]:
    """Start a kernel for several notebooks, which all lie two folders below the root: the imports take longest."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(ROOT / "analysis" / "notebooks"))
    yield manager
    manager.shutdown_kernel(now=True)


def read(name: str) -> Any:
    """Return the notebook of a name."""
    (path,) = (path for path in NOTEBOOKS if path.stem == name)
    return nbformat.read(path, as_version=4)


def run_on(name: str, runs: str, kernel: KernelManager) -> Any:
    """Run a notebook with its one path changed and return it with its outputs."""
    notebook = read(name)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert _RUNS.match(first.source)
    assert source_of(notebook).count("RUNS =") == 1
    first.source = _RUNS.sub(f"RUNS = {runs!r}", first.source).replace(_OUT, f'OUT = "{Path(runs).parents[1]}')
    return NotebookClient(notebook, km=kernel, timeout=60).execute()
