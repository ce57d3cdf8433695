"""Tables, figures and frames of stored tokens against sums over the values that were written."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from studies.tokenizers.regions import critical_regions
from tests.analysis.synthetic import TOKENS_PER_STEP, score_row
from tests.facts import score_inputs, store_key, store_rows
from ucurve.analysis.api import open_study
from ucurve.analysis.sections import make_report
from ucurve.analysis.tokens.section import token_sections
from ucurve.analysis.tokens.words import word_ages, word_rows, word_sections
from ucurve.errors import DamagedError, UserError
from ucurve.eval.pairs import data_hash
from ucurve.eval.scoring.text.layout import TokenLayout, number_words
from ucurve.eval.scoring.text.sentences import Sentences
from ucurve.eval.store.scores import keep_pairs, score_path
from ucurve.eval.store.tokens import keep_sentences, token_path, write_tokens

PAIRS = [("a dog barks", "a dog bark"), ("ab cde", "ab Xde"), ("ab cd", "ab c d"), ("same", "same")]
PHENOMENA = ["agreement", "agreement", "order", "order"]
STEPS = (0, 4)


def layout():
    texts = list(dict.fromkeys(text for side in (0, 1) for text in (pair[side] for pair in PAIRS)))
    starts = np.cumsum([0, *map(len, texts)])
    tokens = np.array([ord(letter) for text in texts for letter in text])
    good, bad = (np.array([texts.index(pair[side]) for pair in PAIRS]) for side in (0, 1))
    spans = np.array([(0, len(text)) for text in texts])
    scored = np.ones(len(tokens), dtype=bool)
    scored[starts[:-1]] = False  # as without a start token
    places = np.concatenate(
        [np.stack([np.arange(len(text)), np.arange(len(text)) + 1], axis=1) for text in texts]
    )
    sentences = Sentences(texts, tokens, starts, good, bad, scored, spans)
    return TokenLayout(sentences, places, number_words(texts, starts, places))


def values_of(seed, step):
    """Log probabilities of all tokens: the same letter has the same one, so that what comes before is equal."""
    draw = np.random.default_rng(100 * seed + step)
    letters = {letter: -draw.uniform(0.1, 9) for letter in sorted({*"".join(a + b for a, b in PAIRS)})}
    given = layout().sentences
    values = np.array([letters[chr(token)] for token in given.tokens])
    values[given.starts[:-1]] = np.nan
    return values.astype(np.float32).astype(float)


@pytest.fixture
def runs(tmp_path, make_run):
    """Two runs of one line with tokens at two of three steps."""
    pairs = pd.DataFrame({
        "benchmark": "zho", "language": "und", "paradigm": "p", "phenomenon": PHENOMENA, "pair": [5, 6, 7, 8],
        "good": [good for good, _ in PAIRS], "bad": [bad for _, bad in PAIRS],
    })  # fmt: skip
    for seed in (0, 1):
        folder = make_run([score_row(step, 0.5) for step in (*STEPS, 8)], seed=seed)
        keep_pairs(folder, pairs)
        name = keep_sentences(folder, "zho", score_inputs(), layout, pairs)
        for step in STEPS:
            scores = score_path(folder, "zho", "sentence", step)
            facts = write_tokens(scores, name, layout().sentences.starts, values_of(seed, step), layout().words)
            store_key(folder, "zho", "sentence", step, {"token_scores": facts}, data_sha256=data_hash(pairs))
            scores.touch()  # which tokens are not read from
        store_key(folder, "zho", "sentence", 8, {}, data_sha256=data_hash(pairs))
        score_path(folder, "zho", "sentence", 8).touch()
        store_rows(folder)
    return tmp_path / "runs"


def bits(text, seed, step):
    """The surprisal of each letter of a sentence, 0 for the first one."""
    given = layout().sentences
    place = given.texts.index(text)
    return np.nan_to_num(-values_of(seed, step)[given.starts[place] : given.starts[place + 1]] / np.log(2))


def test_means_by_phenomenon_and_over_seeds(runs):
    table = open_study(f"{runs}/*").critical_regions().set_index(["phenomenon", "step"])
    assert set(table.index) == {(name, step) for name in ("all", "agreement", "order") for step in STEPS}
    assert table["pairs"].to_dict() == {
        (name, step): number for name, number in (("all", 3), ("agreement", 2), ("order", 1)) for step in STEPS
    }  # the pair of identical sentences does not count
    assert table.loc[("all", 4), "tokens"] == 4 * TOKENS_PER_STEP
    for step in STEPS:
        means = []
        for seed in (0, 1):
            s, c, x = (
                bits("a dog barks", seed, step)[10],
                bits("ab cde", seed, step)[3],
                bits("ab Xde", seed, step)[3],
            )
            means.append([s / 2 + c / 2, x / 2, (x - s - c) / 2])
        expected, spread = np.mean(means, axis=0), np.std(means, axis=0, ddof=1)
        row = table.loc[("agreement", step)]
        names = ["critical_good", "critical_bad", "margin_critical"]
        assert row[names].tolist() == pytest.approx(expected.tolist())
        assert row[[f"{name}_sd" for name in names]].tolist() == pytest.approx(spread.tolist())
        assert row[["runs", "length_good", "length_bad", "margin_before"]].tolist() == [2, 1, 0.5, 0]
        sums = [
            bits(bad, seed, step).sum() - bits(good, seed, step).sum()
            for good, bad in PAIRS[:3]
            for seed in (0, 1)
        ]
        assert table.loc[("all", step), "margin"] == pytest.approx(np.mean(sums))


def test_a_study_splits_margins_with_intervals_over_seeds(runs):
    (scored,) = open_study(f"{runs}/*").benchmarks()
    line = scored.study.runs[0].line
    table = critical_regions(scored, {line: "char"}, {"char": 4}).set_index("phenomenon")
    assert set(table.index) == {"all", "agreement", "order"}
    assert table[["tokenizer", "step", "runs"]].drop_duplicates().to_numpy().tolist() == [["char", 4, 2]]
    sums = [
        np.mean([bits(bad, seed, 4).sum() - bits(good, seed, 4).sum() for good, bad in PAIRS[:3]])
        for seed in (0, 1)
    ]
    known = ttest_1samp(sums, 0).confidence_interval(0.95)
    row = table.loc["all"]
    assert row[["margin", "margin_low", "margin_high"]].tolist() == pytest.approx(
        [np.mean(sums), known.low, known.high]
    )
    assert row["margin"] == pytest.approx(row["margin_critical"] + row["margin_after"])
    assert critical_regions(scored, {line: "char"}, {"char": 8}).empty  # its tokens are not stored


def test_every_token_of_a_pair(runs):
    frame = open_study(f"{runs}/*").tokens(pairs=[7], steps=np.array([4]))
    assert list(frame["run"].unique()) == ["14m-10M-char-demo-s0", "14m-10M-char-demo-s1"]
    rows = frame[frame["run"].str.endswith("s1") & (frame["side"] == "bad")]
    assert "".join(rows["text"]) == "ab c d"
    assert rows["region"].tolist() == ["before"] * 4 + ["critical", "after"]
    assert rows["word"].tolist() == [0, 0, 1, 1, 2, 2]
    assert rows["scored"].tolist() == [False, *[True] * 5]
    assert rows["surprisal"].to_numpy()[1:] == pytest.approx(bits("ab c d", 1, 4)[1:])
    assert np.isnan(rows["surprisal"].iloc[0])
    assert set(frame[["step", "tokens", "pair"]].itertuples(index=False, name=None)) == {
        (4, 4.0 * TOKENS_PER_STEP, 7)
    }


def test_the_section_has_the_table_as_figures_and_files(runs):
    (scored,) = open_study(f"{runs}/*").benchmarks()
    (section,) = token_sections(scored)
    assert [drawing.name for drawing in section.drawings] == [
        f"{what}_zho_{kind}"
        for what in ("critical_region", "critical_margin")
        for kind in ("overall", "phenomena")
    ]
    last = section.tables["critical_region_last_zho"]
    assert set(last["step"]) == {4}
    assert len(last) == 3


def test_without_stored_tokens_there_is_no_section_and_an_error_says_how(make_run, tmp_path):
    make_run([score_row(0, 0.5)])
    study = open_study(f"{tmp_path}/runs/*")
    assert not [section for section in make_report(study)[1] if "Critical" in section.heading]
    for ask in (study.tokens, study.critical_regions):
        with pytest.raises(
            UserError, match=r"no log probabilities of tokens .* run=RUN benchmarks=zho tokens=true"
        ):
            ask()


def test_mistakes_are_named(runs):
    study = open_study(f"{runs}/*")
    with pytest.raises(UserError, match="zho: there is no pair 9"):
        study.tokens(pairs=[7, 9])
    with pytest.raises(
        UserError, match=r"zho: no log probabilities of tokens are stored of step 7; .* tokens=true"
    ):
        study.tokens(pairs=[7], steps=[4, 7])
    path = token_path(score_path(runs / "14m-10M-char-demo-s1", "zho", "sentence", 4))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedError, match=f"{path}: not what was written"):
        study.critical_regions()


def test_words_of_good_sentences_over_training(runs, monkeypatch):
    monkeypatch.setattr("ucurve.analysis.tokens.words._FEWEST", 1)
    (scored,) = open_study(f"{runs}/*").benchmarks()
    rows = word_rows(scored).set_index(["run", "word", "step"])
    assert {word for _, word, _ in rows.index} == {
        "dog",
        "barks",
        "cde",
        "cd",
    }  # the others' first letter has no score
    for run, seed in zip(rows.index.get_level_values("run").unique(), (0, 1), strict=True):
        for step in STEPS:
            assert rows.loc[(run, "dog", step), "bits"] == pytest.approx(
                bits("a dog barks", seed, step)[1:5].sum()
            )
            assert rows.loc[(run, "cd", step), "bits"] == pytest.approx(bits("ab cd", seed, step)[2:].sum())
    [section] = word_sections(scored)
    assert section.heading.startswith("Words of")


@pytest.mark.parametrize("dog", ["dog", "run", "time", "word", "all"])  # also words that tables have as names
def test_a_word_is_acquired_half_way_between_its_first_and_last_surprisal(dog):
    tokens = 10 ** np.linspace(3, 6, 25)
    fall = 12 - 10 / (1 + np.exp(-4 * (np.log10(tokens) - 4.5)))
    rows = pd.DataFrame([
        {"run": f"r{seed}", "line": "m", "word": word, "step": step, "tokens": each, "bits": value, "occurrences": 7}
        for seed in (0, 1)
        for word, values in ((dog, fall), ("the", np.full(25, 3.0)))
        for step, (each, value) in enumerate(zip(tokens * 2**seed, values, strict=True))
    ])  # fmt: skip
    table = word_ages(rows).set_index("word")
    assert table.loc[dog, "age"] == pytest.approx(10**4.5 * 2**0.5, rel=0.02)  # the geometric mean of the runs
    assert table.loc[dog, ["acquired", "occurrences"]].tolist() == [2, 7]
    assert table.loc[dog, "untrained"] == pytest.approx(12, abs=0.1)
    assert np.isnan(table.loc["the", "age"]) and table.loc["the", "acquired"] == 0
