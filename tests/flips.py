"""Change single bytes of a finished run, and see that verify finds each and that no reader uses it silently.

``python -m tests.flips [SEED]`` tries several changes of every kind of file: bits of binary files, digits and letters of
texts, files cut off, taken away and added, on a finished run and on one that goes on. After each, ``verify.py`` must
find it, and scoring, going on, analysing, publishing and the batch viewer must refuse it, mend it, or give what they
give of the whole run, byte for byte. The suite tries one byte of each (``test_flips.py``).
"""

import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from tests.settings import analyze_settings, fit_settings, verify_command
from tests.train.stress import CHARACTERS, write_corpus
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.data.study import read_study
from ucurve.analysis.sections import make_report
from ucurve.config import compose
from ucurve.errors import UcurveError
from ucurve.eval.pairs import data_hash
from ucurve.eval.run import score_run
from ucurve.eval.settings import score_settings
from ucurve.progress import log_line
from ucurve.training.config import read_settings
from ucurve.training.engine.engine import TorchEngine
from ucurve.training.engine.signals import Interrupted
from ucurve.training.replay import open_batches
from ucurve.training.run.run import train_run

SECOND, STATE = "checkpoints/step00000003", "resume/step00000011"
BENCHMARK = "eval/zhoblimp"
KINDS = (
    "config.yaml",
    "run.json",
    "metrics.jsonl",
    "held_out.csv",
    "tokenizer/tokenizer.json",
    "tokenizer/tokenizer_config.json",
    "tokenizer/statistics.json",
    "tokenizer/unigram_counts.npy",
    f"{SECOND}/model.safetensors",
    f"{SECOND}/config.json",
    f"{SECOND}/generation_config.json",
    f"{SECOND}/tokenizer.json",
    f"{SECOND}/tokenizer_config.json",
    f"{SECOND}/manifest.json",
    f"{STATE}/state.safetensors",
    f"{STATE}/state.json",
    "eval/accuracy.csv",
    "eval/statistics.csv",
    "eval/fits.csv",
    f"{BENCHMARK}/pairs.parquet",
    f"{BENCHMARK}/sentence/step00000003.parquet",
    f"{BENCHMARK}/sentence/step00000003.json",
    f"{BENCHMARK}/sentence/step00000003.rows",
)
VIEWS = ("eval/accuracy.csv", "eval/statistics.csv", "eval/fits.csv")
ADDED = (
    "notes.txt",
    "tokenizer/added_tokens.json",
    f"{SECOND}/special_tokens_map.json",
    f"{STATE}/more.safetensors",
    "eval/notes.txt",
    f"{BENCHMARK}/notes.txt",
    f"{BENCHMARK}/sentence/step00000005.json",
)
GOING_ON = (*KINDS[:8], "resume/step00000006/state.safetensors", "resume/step00000006/state.json")
BINARY = (".npy", ".safetensors", ".parquet")


@dataclass(frozen=True)
class Change:
    """A change of one file: its path in the run folder, what was done, and the bytes after it; None takes it away."""

    name: str
    what: str
    after: bytes | None = field(repr=False)

    def apply(self, run):
        path = run / self.name
        path.unlink(missing_ok=True)  # it may be linked to the copy that is kept
        if self.after is not None:
            path.write_bytes(self.after)


def changes_of(run, name, each, chance):
    """Return ``each`` changes of single bytes of a file, then the file cut off and taken away."""
    whole = (run / name).read_bytes()
    changes = []
    for _ in range(each):
        place = flippable(name, whole, chance)
        after = bytearray(whole)
        after[place] = other_byte(whole[place], name, chance)
        changes.append(Change(name, f"byte {place}: {whole[place]} -> {after[place]}", bytes(after)))
    return [*changes, Change(name, "cut off", whole[: len(whole) * 2 // 3]), Change(name, "taken away", None)]


def flippable(name, whole, chance):
    """Choose a byte: any of a binary file, a digit or letter of a text."""
    if name.endswith(BINARY):
        return chance.randrange(len(whole))
    return chance.choice(
        [place for place, byte in enumerate(whole) if chr(byte).isascii() and chr(byte).isalnum()]
    )


def other_byte(byte, name, chance):
    if name.endswith(BINARY):
        return byte ^ (1 << chance.randrange(8))
    alike = "0123456789" if chr(byte).isdigit() else "abcdefghijklmnopqrstuvwxyz"
    return ord(chance.choice([one for one in alike if one != chr(byte).lower()]))


class Flips:
    """A finished run, scored with statistics and fits, and one that was cut off after step 6 of 12."""

    def __init__(self, folder):
        self.folder = folder
        write_inputs(folder)
        self.finished = self._train("finished")
        score_run(self.finished, self.scoring)
        self.cut = self._train("cut", stop_after=6)
        for run in (self.finished, self.cut):
            shutil.copytree(run, self._kept(run))
            self.restore(run)
        self.whole = self.outputs(self.finished)
        self.seen = self.viewed()
        self.numbers = self.analysed()
        train_run(self.settings("cut"))
        self.continued = self.outputs(self.cut)
        self.restore(self.cut)

    def settings(self, name):
        paths = [f"paths.{key}={self.folder / key}" for key in ("runs", "cache", "tokenizers")]
        fixed = [
            "model=tiny",
            "tokens=1536",
            "tokenizer=char",
            f"data.path={self.folder / 'corpus'}",
            f"name={name}",
        ]
        fixed += [
            "batch.sequences=8",
            "batch.length=16",
            "schedule.count=4",
            "data.holdout=0.1",
            "engine.micro_batch=4",
            "resume.seconds=0",
        ]
        return read_settings(compose("train", [*fixed, *paths]))

    @property
    def scoring(self):
        fit = fit_settings(families=("slln_lp",))
        return score_settings(
            benchmarks=("zhoblimp",),
            benchmark_root=self.folder / "benchmarks",
            fit=fit,
            linking=("lp", "slln_lp", "slor"),
        )

    def _train(self, name, stop_after=None):
        settings, step = self.settings(name), TorchEngine.step

        def stepping(engine, windows, rate, number, *flags):
            if number == stop_after:
                signal.raise_signal(signal.SIGTERM)
            return step(engine, windows, rate, number, *flags)

        TorchEngine.step = stepping
        try:
            train_run(settings)
        except Interrupted:
            assert stop_after is not None
        finally:
            TorchEngine.step = step
        return settings.folder

    def _kept(self, run):
        return self.folder / "kept" / run.name

    def restore(self, run):
        shutil.rmtree(run)
        shutil.copytree(self._kept(run), run, copy_function=os.link)  # every writer renames, none writes in place

    def outputs(self, run):
        """What a run came to, without how fast it went and when."""
        files = {str(path.relative_to(run)): path for path in sorted(run.rglob("*")) if path.is_file()}
        read = {name: path.read_bytes() for name, path in files.items() if not name.startswith("resume/")}
        return {name: without_speed(name, content) for name, content in read.items()}

    def analysed(self):
        settings = analyze_settings(runs=str(self.finished), out=str(self.folder / "figures"))
        tables = {}
        for part in make_report(read_study(find_runs(settings.runs), settings))[1]:
            tables |= {name: table.to_csv() for name, table in part.tables.items()}
            tables |= {drawing.name: drawing.table.to_csv() for drawing in part.drawings}
        plt.close("all")
        return tables

    def viewed(self):
        return [record.text for record in open_batches(self.finished).between(0, 2)]

    def try_finished(self, change):
        """Apply a change to the finished run; returns what each reader did about it."""
        did = {}
        readers = (self._verify, self._go_on, self._view, self._score, self._analyse)
        for reader in readers:
            change.apply(self.finished)
            try:
                did[reader.__name__.lstrip("_")] = or_refused(reader, change)
            finally:
                self.restore(self.finished)
        if did["verify"] == "not found":
            missing_view = change.name in VIEWS and change.after is None  # it is read from the rows of the scores
            assert missing_view or self._has_equal_pairs(change), (change, did)
            did["verify"] = "nothing is lost"
        return did

    def _has_equal_pairs(self, change):
        """Tell whether a change of pairs changed no value, which is what keys have a hash of."""
        if not change.name.endswith("pairs.parquet") or change.after is None:
            return False
        return data_hash(pd.read_parquet(io.BytesIO(change.after))) == data_hash(
            pd.read_parquet(self._kept(self.finished) / change.name)
        )

    def try_going_on(self, change):
        """Apply a change to the run that was cut off and let it go on."""
        change.apply(self.cut)
        try:
            return {"going on": or_refused(self._finish, change)}
        finally:
            self.restore(self.cut)

    def _finish(self, change):
        train_run(self.settings("cut"))
        same(self.outputs(self.cut), self.continued, change)
        verify_command({"run": str(self.cut)})
        return "as if nothing had been"

    def _verify(self, _):
        verify_command({"run": str(self.finished)})
        return "not found"

    def _score(self, change):
        score_run(self.finished, self.scoring)
        same(self.outputs(self.finished), self.whole, change)
        return "mended" if change.name.startswith("eval/") else "not used"

    def _go_on(self, change):
        train_run(self.settings("finished"))
        same(self.outputs(self.finished), self.whole, change)
        return "mended or not used"

    def _analyse(self, change):
        found = self.analysed()
        if change.after is None and found != self.numbers:
            shown = found["missing"] != self.numbers["missing"]
            assert shown, (change, "a gap that the report does not name")
            return "named as missing"
        differing = [name for name in {*found, *self.numbers} if found.get(name) != self.numbers.get(name)]
        assert not differing, (change, differing)
        return "not used"

    def _view(self, change):
        assert self.viewed() == self.seen, change
        return "not used"


def or_refused(reader, change):
    """What a reader did about a change, which its message names if it refused it."""
    try:
        return reader(change)
    except UcurveError as error:
        assert message_names(error, change), (change, str(error))
        return "refused"


def without_speed(name, content):
    """Leave out of metrics and record what tells how fast this very process went; what cannot be read stays."""
    try:
        if name == "metrics.jsonl":
            lines = [json.loads(line) for line in content.splitlines()]
            return [{key: line[key] for key in line if key != "tokens_per_second"} for line in lines]
        if name == "run.json":
            record = json.loads(content)
            return {key: record[key] for key in record if key not in ("metrics_sha256", "record_sha256")}
    except (ValueError, TypeError):
        pass
    return content


def same(found, expected, change):
    """Compare outputs; the changed file may stay as it is, since verify names it."""
    differing = [name for name in expected if found.get(name) != expected[name] and name != change.name]
    assert not differing, (change, differing)


def message_names(error, change):
    """Tell whether a message names the file, or the folder that is one thing, such as a checkpoint."""
    path = Path(change.name)
    return path.name in str(error) or path.parent.name in str(error)


def write_inputs(folder):
    chance = random.Random(0)
    write_corpus(folder, chance)
    (folder / "benchmarks/zhoblimp").mkdir(parents=True)

    def sentence():
        return "".join(chance.choices(CHARACTERS, k=chance.randint(2, 5)))

    pairs = [
        {"UID": uid, "phenomenon": f"p{uid}", "sentence_good": sentence(), "sentence_bad": sentence()}
        for uid in "abcd"
        for _ in range(5)
    ]
    (folder / "benchmarks/zhoblimp/pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))


def all_changes(flips, each, chance):
    """Return the changes of the finished run and those of the run that goes on."""
    kept = flips.finished
    finished = [change for name in KINDS for change in changes_of(kept, name, each, chance)]
    finished += [Change(name, "added", b"{}\n") for name in ADDED]
    cut = [change for name in GOING_ON for change in changes_of(flips.cut, name, each, chance)]
    return finished, cut


def try_all(flips, finished, cut):
    """Try the changes; returns how often each reader did what."""
    happened, wrong = Counter(), []
    for number, change in enumerate([*finished, *cut], 1):
        try:
            did = flips.try_finished(change) if number <= len(finished) else flips.try_going_on(change)
        except AssertionError as error:
            did = {"wrong": str(error.args[0] if error.args else error)}
            wrong.append((change.name, change.what, did))
        happened.update(f"{reader}: {what}" for reader, what in did.items() if reader != "wrong")
        log_line(f"{number} {change.name}, {change.what}: {did}")
    assert not wrong, wrong
    return happened


def main(seed):
    with tempfile.TemporaryDirectory() as name:
        flips = Flips(Path(name))
        finished, cut = all_changes(flips, 5, random.Random(seed))
        happened = try_all(flips, finished, cut)
    log_line(f"{len(finished) + len(cut)} changes: {dict(happened)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
