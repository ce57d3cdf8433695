"""``ucurve.launch.relay`` before a launcher that, as torchrun does, turns its worker's exit code into 1."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKER = """
import signal, sys, time
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(75))
print("ready", flush=True)
time.sleep(30)
"""
LAUNCHER = (
    "import subprocess, sys; sys.exit(1 if subprocess.run([sys.executable, '-c', sys.argv[1]]).returncode else 0)"
)


def relayed(worker, launcher=LAUNCHER, **options):
    command = [sys.executable, "-m", "launch.relay", sys.executable, "-c", launcher, worker]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, **options)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
def test_a_signal_reaches_the_worker_and_its_answer_is_kept(number):
    with relayed(WORKER) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(timeout=20) == 75


@pytest.mark.parametrize(("worker", "code"), [("", 0), ("raise SystemExit(3)", 1)])
def test_without_a_signal_the_exit_code_is_the_launchers(worker, code):
    with relayed(worker) as process:
        assert process.wait(timeout=20) == code


def test_ctrl_c_waits_for_the_launcher_and_shows_no_traceback():
    saves = (
        "import sys, time\ntry: print('ready', flush=True); time.sleep(30)\nexcept KeyboardInterrupt: sys.exit(1)"
    )
    with relayed("", saves, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert (process.wait(timeout=20), process.stderr.read()) == (130, "")


def test_a_launcher_that_is_killed_gives_the_shells_code():
    command = [sys.executable, "-m", "launch.relay", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    assert subprocess.run(command, cwd=ROOT, check=False, timeout=20).returncode == 128 + 9
