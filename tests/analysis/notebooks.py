"""Runs the notebooks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[2] / "analysis" / "notebooks"
_PATH, _OUT = 'RUNS = "../../runs/demo/*"', 'OUT = "../../figures'


def source_of(notebook: Any) -> str:
    """All code of a notebook."""
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")


@contextmanager
def running_kernel() -> Iterator[KernelManager]:
    """Start a kernel for several notebooks: the imports take longer than all cells."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(NOTEBOOKS))
    yield manager
    manager.shutdown_kernel(now=True)


def run_on(name: str, runs: str, kernel: KernelManager) -> Any:
    """Run a notebook with its one path changed, where it stands, and return it with its outputs."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert first.source.startswith(_PATH)
    assert source_of(notebook).count("RUNS =") == 1
    first.source = first.source.replace(_PATH, f"RUNS = {runs!r}").replace(_OUT, f'OUT = "{Path(runs).parents[1]}')
    return NotebookClient(notebook, km=kernel, timeout=60).execute()
