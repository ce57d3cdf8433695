import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALPHAS = ("0.0", "0.25", "0.75")  # under which the run is scored, besides the usual linking functions


class Server:
    """A workbench in a process of its own, which can be killed and started again on the same port."""

    def __init__(self, folder, *arguments, libraries=()):
        self.path = os.pathsep.join(map(str, [*libraries, ROOT]))
        self.folder, self.arguments, self.port, self.token, self.process = folder, arguments, 0, "", None

    def start(self):
        environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": self.path}
        command = [sys.executable, "-m", "workbench", f"port={self.port}", *self.arguments]
        self.process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        line = self.process.stdout.readline()
        assert line.startswith("workbench: http://"), line
        address, _, self.token = line.strip().partition("/?token=")
        self.port = int(address.rsplit(":", 1)[1])
        assert self.process.stdout.readline().startswith("Open this address"), "after the slow imports"
        return self

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def address(self, room):
        """The address of a room with the token, as it is printed for the first page."""
        return f"{self.url}/{room}?token={self.token}"


@pytest.fixture
def serve():
    """Start workbenches that end with the test."""

    @contextmanager
    def start(folder, *arguments):
        server = Server(folder, *arguments).start()
        try:
            yield server
        finally:
            server.kill()

    return start


@pytest.fixture(scope="session")
def trained_run(tmp_path_factory):
    """A run on the demo's corpus, of a few checkpoints and without scores; tests copy it."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, str(ROOT / "train.py"), "model=tiny", "tokens=100K", "tokenizer=char", "data=demo"]
    command += ["benchmarks=[]"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (run,) = (folder / "runs").glob("tiny*")
    return run


def copied(run, folder):
    return Path(shutil.copytree(run, folder / "runs" / run.name))


@pytest.fixture
def demo_run(trained_run, tmp_path_factory):
    """A run without scores, for one test alone."""
    return copied(trained_run, tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="session")
def scored_run(trained_run, tmp_path_factory):
    """The run, scored on the demo's pairs under several alphas."""
    run = copied(trained_run, tmp_path_factory.mktemp("scored"))
    names = ",".join(["lp", *(f"slln_lp:{alpha}" for alpha in ALPHAS)])
    command = [sys.executable, str(ROOT / "score.py"), f"run={run}", "benchmarks=[demo]", f"linking=[{names}]"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=run.parents[1], env=environment, capture_output=True, check=True)
    return run
