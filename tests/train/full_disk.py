"""Fill the disk at many sizes, make room, and see that the same command ends as if there had always been room.

``python -m tests.train.full_disk [SIZES [PLACE ...]]`` tries SIZES (20) sizes each for what lies under ``runs``,
``cache``, ``tokenizers`` and, with ``score.py`` on a finished run, ``eval`` in it, or for the places named, and prints a
table; the suite runs a short version (``test_full_disk.py``). The disk is a small tmpfs, which only the system's
administrator can mount.
"""

import contextlib
import io
import json
import random
import runpy
import shutil
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from hydra.core.global_hydra import GlobalHydra

from ucurve.progress import log_line
from ucurve.training.corpus.files import FILE_HASHES

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("runs", "cache", "tokenizers", "eval")
CHARACTERS = [chr(0x4E00 + number) for number in range(3000)]
PAGE = 4096
ROOM = "64m"


@dataclass(frozen=True)
class Outcome:
    """What became of one command: its exit code and what it wrote to standard error."""

    code: int
    error: str

    @property
    def message(self):
        lines = [line for line in self.error.splitlines() if line.startswith("error: ")]
        return lines[0] if lines else ""


def can_mount(folder):
    """Tell whether a tmpfs can be mounted, by mounting one."""
    try:
        with disk(folder, PAGE):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@contextlib.contextmanager
def disk(folder, size):
    """Mount a tmpfs of so many bytes on a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True, capture_output=True
    )
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def write_inputs(folder):
    chance = random.Random(0)
    texts = ["".join(chance.choices(CHARACTERS, k=chance.randint(10, 40))) + "。" for _ in range(1500)]
    (folder / "corpus").mkdir()
    (folder / "corpus/train.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (folder / "benchmarks/zhoblimp").mkdir(parents=True)
    pairs = [
        {"UID": uid, "phenomenon": "p", "sentence_good": text[:8], "sentence_bad": text[7::-1]}
        for uid in ("one", "two", "three")
        for text in texts[:60]
    ]
    (folder / "benchmarks/zhoblimp/pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))


def train(folder, places):
    """Return the command that trains with its folders where ``places`` says."""
    return [
        "train.py",
        "model=tiny",
        "tokens=1280",
        "tokenizer=char",
        f"data.path={folder / 'corpus'}",
        "batch.sequences=8",
        "batch.length=16",
        "schedule.count=3",
        "resume.seconds=0",
        "eval.benchmarks=[zhoblimp]",
        f"benchmark_root={folder / 'benchmarks'}",
        *[f"paths.{name}={place}" for name, place in places.items()],
    ]


def score(folder, run):
    return ["score.py", f"run={run}", "benchmarks=[zhoblimp]", f"benchmark_root={folder / 'benchmarks'}"]


def call(command):  # not by subprocess: importing torch anew takes longer than all the rest
    """Run a command in this process, as the program would run."""
    GlobalHydra.instance().clear()
    error, code = io.StringIO(), 0
    arguments = patch.object(sys, "argv", [str(ROOT / command[0]), *command[1:]])
    with arguments, contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as ended:
            code = ended.code
        except Exception:
            code = 99
            traceback.print_exc()
    return Outcome(code or 0, error.getvalue())


def content(folder):
    """What a folder holds: the bytes of all that is the same in every run, so nothing with times or hashes of them."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        if path.name == "metrics.jsonl":
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            found[name] = [{key: line[key] for key in line if key != "tokens_per_second"} for line in lines]
        elif not path.name.startswith(".") and path.name not in (
            "run.json",
            "config.yaml",
            "state.json",
            FILE_HASHES,
        ):
            found[name] = path.read_bytes()
    return found


def leftovers(folder):
    return [str(path.relative_to(folder)) for path in folder.rglob(".*.tmp-*")]


def make_reference(folder):
    """Train a run that always has room; returns what each place holds, the run, and the bytes each place needs."""
    places = {name: folder / "alone" / name for name in PLACES[:3]}
    done = call(train(folder, places))
    assert done.code == 0, done.error
    (run,) = (path for path in places["runs"].iterdir() if not path.name.startswith("."))
    places["eval"] = run / "eval"
    return (
        {name: content(place) for name, place in places.items()},
        run,
        {name: used(places[name]) for name in PLACES},
    )


def used(folder):
    return sum(-(-path.stat().st_size // PAGE) * PAGE for path in folder.rglob("*") if path.is_file())


def try_size(folder, place, size, reference, run):
    """Fill the disk of one place, then make room; returns what came of the two commands.

    Raises:
        AssertionError: when the first attempt does anything but say that the disk is full, or the second does not end
            with the reference's bytes.
    """
    case = Path(tempfile.mkdtemp(dir=folder))
    places = {name: case / name for name in PLACES[:3]}
    watched = places.get(place, case / "runs" / run.name / "eval")
    if place == "eval":
        shutil.copytree(run, watched.parent, ignore=shutil.ignore_patterns("eval"))
    command = score(folder, watched.parent) if place == "eval" else train(folder, places)
    with disk(watched, size):
        full = call(command)
        assert "Traceback" not in full.error, full.error
        assert full.error.count("error: ") == (full.code != 0), full.error
        assert full.code in (0, 1), (full.code, full.error)
        assert full.code == 0 or "No space left on device" in full.message, full.error
        subprocess.run(["mount", "-o", f"remount,size={ROOM}", watched], check=True, capture_output=True)
        again = call(command)
        assert again.code == 0, again.error
        found = content(watched)
        differing = sorted(
            name for name in {*found, *reference[place]} if found.get(name) != reference[place].get(name)
        )
        assert not differing, differing
        assert leftovers(watched) == []
    shutil.rmtree(case)
    return full, again


def sizes_of(need, number):
    """Return sizes from one page to just below what is needed, in whole pages."""
    pages = need // PAGE
    return sorted({max(1, pages * step // number) * PAGE for step in range(number)})


def main(number, wanted):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assert can_mount(folder / "disk"), "a tmpfs cannot be mounted here"
        write_inputs(folder)
        reference, run, needs = make_reference(folder)
        for place in wanted or PLACES:
            need = needs[place]
            for size in sizes_of(need, number):
                try:
                    full, again = try_size(folder, place, size, reference, run)
                    result = f"{full.code}  {again.code}, same bytes  {full.message[:150]}"
                except AssertionError as error:
                    result = f"WRONG {str(error)[-600:]}"
                log_line(f"{place:<10} {size // 1024:>6} of {need // 1024} KB  {result}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, sys.argv[2:])
