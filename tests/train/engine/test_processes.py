"""Processes of one run end in order: what is left of their connection would abort one of them now and then."""

import sys

import pytest

from tests.train.launching import finish, start

ENDING = """
import atexit, os, sys
from pathlib import Path
from ucurve.training.engine.processes import connect, read_processes

def tell_threads():
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    sys.stderr.write(f"THREADS {sum('gloo' in name for name in names)}\\n")

atexit.register(tell_threads)  # the last to be called
processes = read_processes(os.environ)
connect(processes, "cpu")
assert processes.broadcast(processes.rank) == 0
tell_threads()
sys.exit(75)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc has the names of threads")
def test_no_thread_of_an_agreement_is_left_when_python_ends():
    codes, errors = finish(start(["-c", ENDING], 2))
    assert codes == [75, 75], errors
    for error in errors:
        during, after = (int(line.split()[1]) for line in error.splitlines() if line.startswith("THREADS"))
        assert during > after == 0


PATIENCE = """
import os, sys, time
from datetime import timedelta
import torch.distributed as dist
from ucurve.training.engine.processes import connect, read_processes

start = dist.init_process_group
dist.init_process_group = lambda *given, **named: start(*given, **named, timeout=timedelta(seconds=2))
processes = read_processes(os.environ)
connect(processes, "cpu")
for number in (1, 2):  # the group for agreements is made in the first
    assert processes.run_on_rank0(lambda: time.sleep(5) or number) == number
assert processes.any_rank(processes.rank == 1) == (True,)
"""


@pytest.mark.long
def test_the_others_wait_for_rank_0_longer_than_torch_would():
    codes, errors = finish(start(["-c", PATIENCE], 2))
    assert codes == [0, 0], errors
