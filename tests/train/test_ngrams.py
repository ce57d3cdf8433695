"""``scorer=ngram``: the n-grams of exactly the tokens that a run had seen at each checkpoint."""

import json
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from tests.eval.scoring.ngram.plain import Plain
from ucurve.config import Composed, compose
from ucurve.errors import UserError
from ucurve.eval.api import score as score_in_python
from ucurve.eval.models.targets import run_targets
from ucurve.eval.run import score_command, score_run
from ucurve.eval.settings import score_settings
from ucurve.eval.store.tables import ACCURACY, read_table
from ucurve.eval.sweep.load import SweepCache
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.token_stream import seen_text
from ucurve.token_stream.order import Batches
from ucurve.token_stream.seen_text import read_seen_counts
from ucurve.training.cli import train_command
from ucurve.training.config import read_settings
from ucurve.training.replay import open_batches
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults

LETTERS = "天地玄黄宇宙洪荒天地"
NGRAMS = [f"ngram-{order}" for order in range(1, 6)]
BENCHMARKS = ("zhoblimp", "blimp")


@pytest.fixture
def root(tmp_path):
    """Two small benchmarks that share some sentences; one has a character that training never saw."""
    for name, sizes, more in (("zhoblimp", range(2, 8), ""), ("blimp", range(5, 9), "龘天")):
        pairs = [
            {
                "UID": "a",
                "phenomenon": "p",
                "sentence_good": LETTERS[:size] + more,
                "sentence_bad": LETTERS[size::-1],
            }
            for size in sizes
        ]
        pairs = [pair | {"field": "syntax", "linguistics_term": "p", "pairID": n} for n, pair in enumerate(pairs)]
        folder = tmp_path / "benchmarks" / name
        folder.mkdir(parents=True)
        (folder / "a.jsonl").write_text("\n".join(map(json.dumps, pairs)) + "\n")
    return tmp_path / "benchmarks"


@pytest.fixture
def train(settings_of):
    """Train 8 steps of 64 x 16 tokens, one and a half epochs, and return the run folder."""

    def make(*more):
        size = [
            "tokens=8192",
            "batch.sequences=64",
            "engine.micro_batch=64",
            "data.max_epochs=2",
            "schedule.count=3",
        ]
        settings = settings_of(*size, "eval.when=never", *more)
        train_run(settings)
        return settings.folder

    return make


@pytest.fixture
def score(root):
    def call(run, *more, benchmarks=BENCHMARKS, scorer="ngram"):
        given = [
            f"run={run}",
            f"benchmarks=[{','.join(benchmarks)}]",
            f"benchmark_root={root}",
            f"scorer={scorer}",
        ]
        score_command(compose("score", [*given, "linking=[lp]", *more]))

    return call


@pytest.fixture
def passes(monkeypatch):
    """The steps from which and to which training tokens were read."""
    seen, read = [], Batches.between

    def between(self, after, to, tokens):
        seen.append((after, to))
        return read(self, after, to, tokens)

    monkeypatch.setattr(Batches, "between", between)
    return seen


def stored(run, benchmark, order, step):
    return pd.read_parquet(run / "eval" / benchmark / f"ngram-{order}" / f"step{step:08d}.parquet")


def steps_of(run):
    return [target.step for target in run_targets(run)]


def check_prefix(run, step, benchmarks=BENCHMARKS):
    """Compare all stored scores of a step with a plain count of the batches up to it."""
    sequences = [one.ids for one in open_batches(run).between(0, step)]
    tokenizer = load_tokenizer(run / "tokenizer")
    plain = Plain(sequences, len(tokenizer), {tokenizer.eos_token_id}, 1.0)
    for benchmark in benchmarks:
        pairs = pd.read_parquet(run / "eval" / benchmark / "pairs.parquet")
        for order in range(1, 6):
            scores = stored(run, benchmark, order, step)
            for side in ("good", "bad"):
                ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in pairs[side]]
                wanted = [sum(plain.score(one, tokenizer.eos_token_id, order)) for one in ids]
                assert scores[f"lp_{side}"].tolist() == pytest.approx(wanted, abs=1e-6), (step, benchmark, order)
                assert scores[f"n_{side}"].tolist() == [len(one) for one in ids]
    return plain


def test_every_checkpoint_has_the_ngrams_of_its_prefix(train, score, passes):
    run = train("seeds.data=3")
    score(run)
    steps = steps_of(run)
    assert [one for one in passes if one[0] != one[1]] == list(pairwise(steps)), "one pass"
    tokens = [sum(plain.after[()].values()) for plain in (check_prefix(run, step) for step in steps)]
    assert tokens[0] == 0
    assert tokens == sorted(tokens)
    uniform = -np.log(len(load_tokenizer(run / "tokenizer")) - 1)
    first = stored(run, "zhoblimp", 5, 0)
    assert first["lp_good"].tolist() == pytest.approx((first["n_good"] * uniform).tolist())
    table = read_table(ACCURACY, ACCURACY.path(run))
    rows = table[["step", "benchmark", "scorer"]].drop_duplicates()
    assert len(rows) == len(steps) * len(BENCHMARKS) * len(NGRAMS)
    assert set(rows["scorer"]) == set(NGRAMS)
    assert run_faults(run) == []


@pytest.mark.long
def test_what_is_scored_is_kept_and_what_is_asked_for_is_added(train, score, passes, root):
    run = train()
    last = steps_of(run)[-1]
    score(run, f"steps=[{last}]", benchmarks=["zhoblimp"], scorer="ngram-2")
    assert [path.name for path in run.glob("eval/zhoblimp/ngram-*/*.parquet")] == [f"step{last:08d}.parquet"]
    whole = (run / "eval/zhoblimp/ngram-2" / f"step{last:08d}.parquet").read_bytes()
    passes.clear()
    score(run, f"steps=[{last}]", benchmarks=["zhoblimp"], scorer="ngram-2")
    assert passes == [], "nothing is due"
    score(run, f"steps=[{last}]", "add_k=0.5", benchmarks=["zhoblimp"], scorer="ngram-2")
    assert (run / "eval/zhoblimp/ngram-2" / f"step{last:08d}.parquet").read_bytes() != whole
    score(run, benchmarks=["zhoblimp"], scorer="ngram-2")
    assert (run / "eval/zhoblimp/ngram-2" / f"step{last:08d}.parquet").read_bytes() == whole, "in another order"


@pytest.mark.long
def test_a_step_behind_the_last_one_is_counted_from_the_beginning(train, root):
    run = train()
    _, middle, last = steps_of(run)
    settings, cache = score_settings(benchmarks=BENCHMARKS, benchmark_root=root, scorer="ngram"), SweepCache()
    for step in (last, middle):
        score_run(run, settings, steps=[step], cache=cache)
        check_prefix(run, step)
    assert cache.made["n-grams"] == 1, "the sentences are listed once"
    assert not any(name.startswith("model") for name in cache.made), "no weights are loaded"


def test_a_training_scores_by_what_it_has_seen(overrides, root):
    given = ["eval.benchmarks=[zhoblimp]", f"benchmark_root={root}", "eval.linking=[lp]", "eval.scorer=ngram"]
    composed = Composed(compose("train", [*overrides, "schedule.count=2", *given]), ())
    train_command([composed])
    run = read_settings(composed.values).folder
    for step in (0, 12):
        check_prefix(run, step, ["zhoblimp"])


def test_training_tokens_that_are_gone_are_named_with_what_makes_them_again(train, score, root, tmp_path):
    run = train("schedule.count=2")
    cache = (tmp_path / "cache").rename(tmp_path / "moved")
    command = rf"ucurve batches run={run} from=0 to=1 builds it again"
    with pytest.raises(UserError, match=rf"^scorer=ngram: {run}: .* not in {tmp_path}/cache (.|\n)*{command}"):
        score(run)
    assert not (run / "eval").exists()
    cache.rename(tmp_path / "cache")
    scored = score_in_python(run, benchmarks=["zhoblimp"], benchmark_root=root, scorer="ngram-3")
    assert [one.scorer for one in scored.scores] == ["ngram-3", "ngram-3"]
    assert len(list((run / "eval/zhoblimp/ngram-3").glob("*.parquet"))) == 2


def test_frequencies_of_words_are_of_the_sequences_that_the_run_saw(train, tmp_path, monkeypatch):
    run = train("schedule.count=2")
    texts = [seen.text for seen in open_batches(run).between(0, 8)]
    letter = Counter("".join(texts)).most_common(1)[0][0]
    found = read_seen_counts(run, 8, {letter, "龘"}, spaced=False)
    assert found.counts[letter] == sum(text[1:].count(letter) for text in texts), (
        "the first is the last one before"
    )
    assert "龘" not in found.counts
    monkeypatch.setattr(seen_text, "count_seen", None)
    assert read_seen_counts(run, 8, {letter, "龘"}, spaced=False) == found, "they are counted once"
    (tmp_path / "cache").rename(tmp_path / "moved")
    with pytest.raises(
        UserError, match=rf"^word frequencies: {run}: its token stream is not in {tmp_path}/cache "
    ):
        read_seen_counts(run, 8, {letter}, spaced=False)


def test_what_cannot_be_counted_is_refused(train, score, tmp_path):
    run = train("schedule.count=2")
    model, out = run / "checkpoints" / "step00000008", tmp_path / "alone"
    with pytest.raises(UserError, match=r"step00000008: the scorer 'ngram-1' counts .*run=RUN, not with model="):
        score_command(compose("score", [f"model={model}", f"out={out}", "benchmarks=[demo]", "scorer=ngram"]))
    file = run / "tokenizer" / "tokenizer.json"
    whole = file.read_bytes()
    file.write_bytes(whole + b" ")
    message = r"step00000000: its tokenizer, \w+, is not the one .* in .*/tokenizer; n-grams"
    with pytest.raises(UserError, match=message):
        score(run)
    file.write_bytes(whole)
    assert not out.exists()
    assert not (run / "eval").exists()
