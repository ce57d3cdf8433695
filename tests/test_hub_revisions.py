"""A suite on the hub that the disk does not hold, over HTTP: scored one revision after the other, killed and gone on."""

import signal
import subprocess
import sys
import threading
import time

import pytest
import torch
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

from tests.conftest import VOCABULARY
from tests.hub import Hub, serve
from tests.small_disk import used
from tests.test_hub import environment

SUITE = "owner/suite"
REVISIONS = 20
DUPLICATE, ORIGINAL = 14, 3  # of the same weights
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def hub(tmp_path_factory, make_tokenizer):
    folder = tmp_path_factory.mktemp("suite")
    make_tokenizer().save_pretrained(folder)
    config = GPTNeoXConfig(
        vocab_size=VOCABULARY, hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512,
        max_position_embeddings=64,
    )  # fmt: skip
    hub = Hub()
    for step in range(REVISIONS):
        torch.manual_seed(ORIGINAL if step == DUPLICATE else step)
        GPTNeoXForCausalLM(config).save_pretrained(folder)
        files = {file.name: file.read_bytes() for file in folder.iterdir()}
        files["optimizer.bin"] = b"never needed" * 1000
        files["consolidated.safetensors"] = b"never needed either" * 1000  # one content would be fetched once
        files["README.md"] = f"step {step}".encode()
        hub.commit("models", SUITE, files, f"step{step}")
    with serve(hub):
        yield hub


class Disk:
    """The cache, and the most bytes that were in it at any time."""

    def __init__(self, cache):
        self.cache, self.most, self._ended = cache, 0, threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        while not self._ended.wait(0.002):
            self.most = max(self.most, used(self.cache))

    def end(self):
        self._ended.set()


def weights_sent(hub):
    """The steps whose weights were asked for, once for each request that sends them."""
    commits = {commit: branch for branch, commit in hub.repositories["models", SUITE].branches.items()}
    lines = [line for line in hub.requests if line.startswith("GET") and ".safetensors " in line]
    return [commits[line.split("/resolve/")[1].split("/")[0]] for line in lines]


def stored(out):
    """The scores with a key, and when each was written."""
    keys = out.glob("eval/*/*/step*.json")
    return {key: key.with_suffix(".parquet").stat().st_mtime_ns for key in keys}


def test_20_revisions_on_a_disk_that_holds_three(hub, tmp_path):
    variables = environment(hub, tmp_path / "hf")
    cache, out = tmp_path / "hf" / "hub", tmp_path / "out"
    fetch = f"from huggingface_hub import snapshot_download as fetch; fetch({SUITE!r}, revision='step{ORIGINAL}')"
    subprocess.run([sys.executable, "-c", fetch], env=variables, check=True, capture_output=True)
    (one,) = cache.glob("*/snapshots/*/model.safetensors")
    size, before = one.stat().st_size, used(cache)
    room = before + 2 * size + 300_000  # two more revisions, and small files
    command = [
        sys.executable, "-m", "tests.small_disk", str(room), str(cache), f"model={SUITE}", "revisions=[all]",
        "benchmarks=demo", "subset=1", f"out={out}",
    ]  # fmt: skip

    refused = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert refused.returncode == 2, refused.stderr
    assert f"of weights (revisions: {REVISIONS - 2}) are to be fetched into" in refused.stderr
    assert "keep=false removes each revision after it is scored" in refused.stderr
    assert weights_sent(hub) == [f"step{ORIGINAL}"] * 2  # with the file that is never needed, by the other client
    assert not out.exists()

    hub.requests.clear()
    disk, scored = Disk(cache), {}
    for number, kill in ((6, signal.SIGTERM), (12, signal.SIGKILL)):
        with subprocess.Popen([*command, "keep=false"], env=variables, stderr=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL) as process:  # fmt: skip
            while len(stored(out)) < number and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(kill)
        assert process.returncode == -kill
        now = stored(out)
        assert scored.items() <= now.items()
        assert number <= len(now) < REVISIONS
        scored = now
    done = subprocess.run([*command, "keep=false"], env=variables, capture_output=True, text=True, check=False)
    disk.end()
    assert done.returncode == 0, done.stderr
    assert scored.items() <= stored(out).items()
    assert {path.stem for path in stored(out)} == {f"step{step:08d}" for step in range(REVISIONS)}
    assert 0 < disk.most <= room
    sent = weights_sent(hub)
    assert set(sent) == {f"step{step}" for step in range(REVISIONS)} - {f"step{ORIGINAL}", f"step{DUPLICATE}"}
    assert len(sent) <= len(set(sent)) + 4  # of the two killed commands, what was being fetched
    assert [path for path in cache.glob("*/snapshots/*/*.safetensors") if path.name == one.name] == [one]
    assert one.stat().st_size == size
    assert used(cache) < before + 300_000
    assert not any((out / "eval" / ".fetched").iterdir())
    assert f"these have the same weights: 2 (step{ORIGINAL}, step{DUPLICATE})" in done.stderr
