from pathlib import Path

import pytest

from tests.analysis.synthetic import MakeRun, run_maker


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Write a run folder below ``runs/``; what is not given is left out."""
    return run_maker(tmp_path)
