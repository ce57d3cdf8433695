"""Ctrl-C: one message that says what is kept, exit code 130, no traceback; training itself is in ``train``."""

import json
import os
import random
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra

ROOT = Path(__file__).resolve().parents[1]
SCORE = ["run=x", "benchmarks=[demo]"]
GOES_ON = "the same command goes on"
BEGINS_ANEW = "the same command starts again from the beginning"


@pytest.mark.parametrize(
    ("script", "arguments", "work", "message"),
    [
        ("train.py", ["tokens=1M"], "ucurve.training.cli.train_command", GOES_ON),
        ("score.py", SCORE, "ucurve.eval.run.execute", f"scores made so far are kept, {GOES_ON}"),
        (
            "analyze.py",
            [],
            "ucurve.analysis.run.analyze_command",
            f"every file written so far is whole, {BEGINS_ANEW}",
        ),
        ("verify.py", ["run=x"], "ucurve.training.verify.verify_command", BEGINS_ANEW),
        (
            "tokenizers/build.py",
            ["data=demo"],
            "ucurve.training.cli.build_command",
            f"what was finished is kept, {GOES_ON}",
        ),
    ],
)
def test_ctrl_c_says_what_is_kept(monkeypatch, capsys, script, arguments, work, message):
    def interrupted(*_):
        raise KeyboardInterrupt

    GlobalHydra.instance().clear()
    monkeypatch.setattr(work, interrupted)
    monkeypatch.setattr(sys, "argv", [str(ROOT / script), *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / script), run_name="__main__")
    assert ended.value.code == 130
    assert capsys.readouterr().err == f"error: interrupted: {message}\n"


def interrupt(command, wanted, folder):
    """Start a command, press Ctrl-C when a file that matches is there; return its exit code and standard error."""
    process = subprocess.Popen(
        [sys.executable, *map(str, command)],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + 120
    while process.poll() is None and not any(folder.glob(wanted)) and time.monotonic() < end:
        time.sleep(0.05)
    # As a terminal does: to the command and to all processes it has started.
    os.killpg(process.pid, signal.SIGINT)
    try:
        return process.wait(timeout=60), process.communicate()[1]
    finally:
        process.kill()


@pytest.mark.long
def test_ctrl_c_while_several_processes_tokenize_is_one_message(tmp_path):
    chance = random.Random(0)
    characters = [chr(0x4E00 + number) for number in range(500)]
    texts = ("".join(chance.choices(characters, k=600)) for _ in range(20_000))
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    command = ["tokenizers/build.py", "tokenizer=char", f"data.path={tmp_path / 'corpus.jsonl'}"]
    command += [f"paths.{name}={tmp_path / name}" for name in ("cache", "tokenizers")]
    code, error = interrupt(command, "cache/.tokens*/shard*", tmp_path)
    assert code == 130, error
    assert error.splitlines()[-1] == "error: interrupted: what was finished is kept, the same command goes on"
    assert "Traceback" not in error
    assert not any(tmp_path.glob("cache/.tokens*.tmp-*"))
