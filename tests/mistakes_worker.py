"""Makes many mistakes in one process: ``python -m tests.mistakes_worker < mistakes.json > answers.json``.

A mistake is a command as typed after ``python``, such as ``["train.py", "model=15m"]`` or
``["-m", "launch.status", "runs=x"]``. Each runs as the program would, in the current folder, and is answered by its exit
code, what it wrote to standard error, the heavy libraries that it was the first to import, what lies in the folder that
did not before, and the seconds of processor time it took.
"""

import contextlib
import gc
import io
import json
import runpy
import sys
import time
from pathlib import Path

from hydra.core.global_hydra import GlobalHydra

from tests.composing import composing_once

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("torch", "transformers", "deepspeed")


def entries():
    return {str(path) for path in Path().rglob("*")}


def answer(command):
    GlobalHydra.instance().clear()
    errors, before, imported, began = io.StringIO(), entries(), set(sys.modules), time.process_time()
    script = None if command[0] == "-m" else ROOT / command[0]
    sys.argv = command[1:] if script is None else [str(script), *command[1:]]
    code = 0
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            if script is None:
                sys.modules.pop(command[1], None)  # so that it is run as the main program, without a warning
                runpy.run_module(command[1], run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(str(script), run_name="__main__")
        except SystemExit as ended:
            code = ended.code
    return {
        "code": code,
        "error": errors.getvalue(),
        "imported": [name for name in HEAVY if name in sys.modules and name not in imported],
        "left": sorted(entries() - before),
        "seconds": time.process_time() - began,
    }


if __name__ == "__main__":
    gc.disable()  # a third of the time of a composition
    with composing_once():
        answers = [answer(command) for command in json.load(sys.stdin)]
    json.dump(answers, sys.stdout)
