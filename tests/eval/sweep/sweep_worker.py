"""Scores in processes of its own, for tests that kill them: ``python sweep_worker.py`` reads requests from its input.

The libraries are loaded once; each request forks a process, which has them at hand. A request is a JSON object on one
line: ``values`` of ``ScoreCommand``, ``log`` (gets a line ``pid step benchmark scorer`` before each computed score) and,
on request, ``hang_at`` (stop forever at the n-th computed score) or ``die_at`` (SIGKILL itself when the n-th file is
written and about to get its name). The answer is the process's number. ``{"wait": PID}`` answers its exit code.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pyarrow.dataset
import pyarrow.parquet  # noqa: F401 - reading scores needs them
import torch
from transformers import AutoTokenizer, GPTNeoXForCausalLM  # noqa: F401 - loads what they need

from ucurve.config import check
from ucurve.config_files import completed
from ucurve.errors import UcurveError
from ucurve.eval.run import execute
from ucurve.eval.settings import ScoreCommand
from ucurve.eval.sweep.compute import Computer


def watch(log, hang_at):
    compute, count = Computer.compute, 0

    def logged(computer, job, *rest):
        nonlocal count
        count += 1
        with Path(log).open("a") as file:
            file.write(f"{os.getpid()} {job.target.step} {job.benchmark} {job.scorer.name}\n")
        while hang_at == count:
            time.sleep(1)
        return compute(computer, job, *rest)

    Computer.compute = logged


def die(at):
    rename, count = Path.replace, 0

    def dying(path, target):
        nonlocal count
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return rename(path, target)

    Path.replace = dying


def work(request):
    errors = os.open(request["log"] + ".err", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(errors, 1)  # the pipe is for answers
    os.dup2(errors, 2)
    watch(request["log"], request.get("hang_at"))
    die(request.get("die_at"))
    try:
        execute(check(ScoreCommand, completed("score.yaml", request["values"])))
    except UcurveError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


def main():
    torch.set_num_threads(1)
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            answer = os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
        else:
            answer = os.fork()
            if answer == 0:
                code = 70
                try:
                    code = work(request)
                finally:
                    sys.stderr.flush()
                    os._exit(code)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
