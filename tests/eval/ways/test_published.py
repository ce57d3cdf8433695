"""The published files, scored by the usual way of their cards, against the plain way."""

import numpy as np
import pandas as pd
import pytest

from ucurve.eval.run import score_model
from ucurve.eval.settings import score_settings

TSE = ("tse/eus", "tse/hin", "tse/swa")


def whole(pair, text):
    return 0, len(text)


def target(pair, text):
    return len(pair["condition"]), len(text)


def oracle_of(plain, subject, scores, span):
    def oracle(pair, text, side):
        counted = plain.counting(subject, text, span(pair, text))
        return plain.expected(subject, text, scores(text), counted, span(pair, text))

    return oracle


def few(result, number):
    """Keep some rows for the slow way to check."""
    rows = np.linspace(0, len(result.pairs) - 1, number).astype(int)
    result.table, result.pairs = (part.iloc[rows].reset_index(drop=True) for part in (result.table, result.pairs))
    return result


@pytest.fixture
def root(shared):
    return shared / "benchmarks"


@pytest.mark.parametrize("language", TSE)
def test_targets_of_a_causal_model(models_of, stored, plain, root, language):
    subject = models_of("gpt_neox")
    result = stored(
        subject, f"{language}@2", "conditional", benchmarks=(language,), benchmark_root=root, subset=2
    )
    assert len(result.pairs) == 2 * result.pairs["paradigm"].nunique() >= 12
    start = subject.tokenizer.bos_token_id
    plain.check(result, oracle_of(plain, subject, lambda text: plain.causal(subject, text, start), target))
    assert result.facts["sentences_with_a_token_across_a_border"] == 0  # a condition ends before a space
    tail = result.pairs["good"].str.len() - result.pairs["condition"].str.len()
    assert (result.table["chars_good"] == tail).all()


@pytest.mark.parametrize(("language", "kind"), [("tse/swa", "bert"), ("tse/hin", "xlm_roberta")])
def test_targets_of_masked_models(models_of, stored, plain, root, language, kind):
    subject = models_of(kind)
    settings = {"benchmarks": (language,), "benchmark_root": root, "subset": 1}
    result = stored(subject, f"{language}@1", "pll_conditional", **settings)
    plain.check(result, oracle_of(plain, subject, lambda text: plain.masked(subject, text, True), target))


def test_preset_of_the_paper_puts_nothing_before_the_condition(models_of, stored, plain, root):
    subject = models_of("gpt2")
    settings = {"benchmarks": ("tse/eus",), "benchmark_root": root, "subset": 1, "preset": "tse", "linking": None}
    result = stored(subject, "tse/eus@1", "conditional", **settings)
    plain.check(result, oracle_of(plain, subject, lambda text: plain.causal(subject, text, None), target))
    assert result.facts["settings"]["start_id"] is None
    assert set(pd.read_csv(result.out / "eval" / "accuracy.csv")["linking"]) == {"lp", "mean_lp"}


@pytest.mark.parametrize(("benchmark", "kind"), [("swe-blimp", "llama"), ("rublimp", "gpt2"), ("sling", "bytes")])
def test_sentences_of_a_causal_model(models_of, stored, plain, root, benchmark, kind):
    subject = models_of(kind)
    start = (
        subject.tokenizer.eos_token_id
        if subject.tokenizer.bos_token_id is None
        else subject.tokenizer.bos_token_id
    )
    result = stored(subject, f"{benchmark}@2", "sentence", benchmarks=(benchmark,), benchmark_root=root, subset=2)
    assert len(result.pairs) == 2 * result.pairs["paradigm"].nunique()
    plain.check(
        few(result, 12), oracle_of(plain, subject, lambda text: plain.causal(subject, text, start), whole)
    )


def test_sentences_of_a_masked_model(models_of, stored, plain, root):
    subject = models_of("bert")
    result = stored(subject, "swe-blimp@1", "pll_l2r", benchmarks=("swe-blimp",), benchmark_root=root, subset=1)
    plain.check(few(result, 6), oracle_of(plain, subject, lambda text: plain.masked(subject, text, True), whole))


def test_a_pair_depends_on_no_other(models_of, tmp_path, root):
    """A larger subset has the rows of a smaller one, scores to the last digits of float32."""
    tables = []
    for size in (1, 4):
        out = tmp_path / str(size)
        settings = score_settings(benchmarks=("tse/hin",), benchmark_root=root, subset=size, linking=("lp",))
        score_model(str(models_of("gpt2").folder), out, settings)
        table = pd.read_parquet(out / "eval" / f"tse/hin@{size}" / "conditional" / "step-0000001.parquet")
        tables.append(table.set_index("pair"))
    small, large = tables
    pd.testing.assert_frame_equal(small, large.loc[small.index], atol=1e-4)
