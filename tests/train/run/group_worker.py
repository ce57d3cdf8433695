"""One process of a group that scores a run: ``python group_worker.py RUN BENCHMARK_ROOT [HOW]``.

HOW is what happens in rank 1: ``stopped`` (SIGTERM at its first batch), ``broken`` (an error there), ``full`` (its memory
is full once), ``missing`` (it does not find the benchmark).
"""

import os
import signal
import sys
import time
from pathlib import Path

import torch

from ucurve.errors import UcurveError
from ucurve.eval.run import score_run
from ucurve.eval.scoring import sharing
from ucurve.eval.scoring.causal import trie
from ucurve.eval.settings import score_settings
from ucurve.training.engine.processes import connect, read_processes
from ucurve.training.engine.signals import Interrupted, StopSignals
from ucurve.training.run.group import score_in_all

HELD = []


def hinder(how):
    compute = trie.ForestScorer._score

    def hindered(scorer, blocks, steps):
        if not HELD and sharing._current.get() is not None:  # not on trial
            HELD.append(how)
            if how == "stopped":
                os.kill(os.getpid(), signal.SIGTERM)
            elif how == "broken":
                raise ValueError("odd")
            elif how == "full":
                raise torch.OutOfMemoryError("full")
        return compute(scorer, blocks, steps)

    trie.ForestScorer._score = hindered


def main(run, root, how=None):
    processes = read_processes(os.environ)
    connect(processes, "cpu")
    if how is not None and processes.rank == 1:
        hinder(how)
    if how == "missing" and processes.rank == 1:
        root = f"{root}/nowhere"
    settings = score_settings(benchmarks=("zhoblimp",), benchmark_root=Path(root), linking=("lp",))
    began = time.monotonic()
    with StopSignals(launched=True) as signals:
        try:
            score_in_all(processes, signals, lambda group: score_run(Path(run), settings, group=group) and None)
        except (UcurveError, ValueError, Interrupted) as error:
            sys.stderr.write(f"{type(error).__name__}: {getattr(error, 'message', error)}\n")
            sys.exit(getattr(error, "exit_code", 1))
    sys.stderr.write(f"SECONDS {time.monotonic() - began:.3f}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
