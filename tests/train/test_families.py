"""A model of every family is trained as by a plain loop over the library's; longer: ``python -m tests.train.families``."""

import json
import subprocess
import sys

import pytest

from tests.train.families import WAYS, WITHIN
from tests.train.launching import ROOT, environment
from tests.train.tiny_models import TINY


@pytest.mark.long
def test_small_models_of_all_families_train_as_a_plain_loop_in_one_process_and_two(tmp_path):
    command = [sys.executable, "-m", "tests.train.families", str(tmp_path), "--tiny", "--steps", "10"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert len(found) == len(TINY)
    for facts in found:
        assert set(facts["apart"]) == {*WAYS}
        assert max(facts["apart"].values()) <= WITHIN
        assert facts["last"] < facts["first"]
    assert (tmp_path / "figures/report.html").is_file()
