"""A budget in words: what it means in tokens, what is recorded, and what is refused."""

import json
import re
from pathlib import Path

import pytest

from ucurve.config import Composed, compose
from ucurve.errors import UserError
from ucurve.storage.facts import read_run_facts
from ucurve.training.cli import train_command
from ucurve.training.config import read_request
from ucurve.training.identity import config_sha256
from ucurve.training.run.budget import list_budget_warnings, say_budget_warnings
from ucurve.training.run.prepare import expect_run, prepare
from ucurve.training.run.run import train_run
from ucurve.training.run_folder.checks import check_same_configuration
from ucurve.training.run_folder.config_file import load_settings
from ucurve.training.verify import run_faults

WORDS = 600  # 200 documents of three words


@pytest.fixture
def spaced(corpus):
    """The small corpus with two spaces in every document, so that it has ``WORDS`` words."""
    path = corpus / "train.jsonl"
    texts = [json.loads(line)["text"] for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({"text": f"{text[:3]} {text[3:6]} {text[6:]}"}) + "\n" for text in texts))


@pytest.fixture
def budget_of(settings_of, spaced):
    """A function from words and further overrides to the settings of a run."""
    return lambda words, *more: settings_of(f"tokens={words}w", "data.words=whitespace", "data.holdout=0", *more)


def test_all_words_of_the_corpus_are_one_pass_through_it(budget_of):
    run = prepare(budget_of(WORDS))
    settings, epoch = run.plan.settings, (run.store.length - 1) // 16 * 16
    assert settings.tokens == epoch
    assert prepare(budget_of(WORDS // 2)).plan.settings.tokens == epoch // 2
    assert prepare(budget_of(3 * WORDS, "data.max_epochs=3")).plan.settings.tokens == 3 * epoch


def test_two_tokenizers_have_the_same_words_and_other_tokens_and_names(budget_of):
    runs = [prepare(budget_of(WORDS, f"tokenizer={kind}", *more)) for kind, *more in (
        ["char"], ["bpe", "tokenizer.vocab_size=300"],
    )]  # fmt: skip
    names = [run.plan.settings.run_name for run in runs]
    assert names == ["tiny-600w-char-small_corpus-s0", "tiny-600w-bpe-small_corpus-s0"]
    assert len({run.plan.tokens for run in runs}) == 2
    assert {run.words.in_corpus for run in runs} == {WORDS}


def test_a_run_records_its_words_and_goes_on_with_the_tokens_it_began_with(budget_of, monkeypatch):
    settings = budget_of(WORDS // 2)
    train_run(settings)
    record, kept = read_run_facts(settings.folder), load_settings(settings.folder)
    epoch = (record.corpus.tokens - 1) // 16 * 16
    assert record.words.model_dump() == {
        "asked": WORDS // 2, "in_corpus": WORDS, "tokens_per_word": epoch / WORDS, "counter": "whitespace", "version": None,
    }  # fmt: skip
    assert record.tokens_budget == kept.tokens == epoch // 2
    assert (kept.words, kept.schedule.count) == (WORDS // 2, 5)
    assert record.config_sha256 == config_sha256(kept.identity())
    assert run_faults(settings.folder) == []
    check_same_configuration(settings)
    train_run(settings)
    assert read_run_facts(settings.folder) == record
    assert f"tokens         {kept.steps * 128:,} for {WORDS // 2:,} words (whitespace), as recorded in" in (
        expect_run(settings).describe()
    )


def test_another_counter_is_another_configuration(budget_of):
    settings = budget_of(WORDS // 2)
    train_run(settings)
    with pytest.raises(UserError, match=r"keys differ: data\.words: 'whitespace' -> 'jieba'"):
        check_same_configuration(budget_of(WORDS // 2, "data.words=jieba"))


def test_the_plan_is_exact_once_the_corpus_is_counted_and_estimated_before(budget_of):
    settings = budget_of(WORDS // 2, "tokenizer.vocab_size=30")
    before = expect_run(settings).describe()
    assert f"at most, for {WORDS // 2:,} words (whitespace) at" in before
    assert not Path(settings.paths.cache).exists()
    run = prepare(settings)
    after = expect_run(settings).describe()
    assert f"tokens         {run.plan.tokens:,} for {WORDS // 2:,} words" in after
    assert f"steps          {run.plan.steps:,} of" in after


CHARACTERS, LINES = 3_600, 600  # of ``long_text``


@pytest.fixture
def long_text(tmp_path):
    (tmp_path / "long.txt").write_text("abcdef\n" * LINES)
    return f"data.path={tmp_path / 'long.txt'}"


@pytest.mark.parametrize(
    ("keys", "warning"),
    [
        (["tokens=4096"], ""),
        (
            ["tokens=8192"],
            "8,192 tokens need 1.95 times it, and data.max_epochs is 1. Lower tokens, or set it to 2",
        ),
        (["tokens=8192", "data.max_epochs=2"], ""),
        (["tokens=8192", "tokenizer=bpe"], "8,192 tokens need at least 1.95 times it, and data.max_epochs is 1"),
        (["tokens=2000w", "data.words=whitespace"], ""),
    ],
)
def test_a_text_too_short_for_a_budget_is_told_before_anything_is_built(settings_of, long_text, keys, warning):
    settings = settings_of(long_text, *keys)
    told = [line for line in list_budget_warnings(settings) if "data=long" in line]
    assert told == [line for line in expect_run(settings).warnings if "data=long" in line]
    assert len(told) == bool(warning)
    for line in told:
        assert line.startswith("warning: data=long has 3,600 characters; 8,192 tokens need")
        assert warning in line
        assert f"\nbudget         {line}\n" in expect_run(settings).describe()
    assert not Path(settings.paths.cache).exists()


def test_a_text_that_is_tokenized_is_compared_by_its_tokens(settings_of, long_text):
    settings = settings_of(long_text, "tokens=2048", "tokenizer=word", "tokenizer.vocab_size=20")
    assert not any("data=long" in line for line in expect_run(settings).warnings)
    with pytest.raises(UserError, match=r"1\.\d+ epochs of data=long"):
        prepare(settings)
    assert "data=long has 1,200 tokens; 2,048 tokens need 1.73 times it" in expect_run(settings).warnings[-1]


@pytest.mark.usefixtures("long_text")
def test_a_part_that_is_too_short_is_told_by_its_name(tmp_path):
    part = f"{{path: {tmp_path / 'long.txt'}, weight: .5}}"
    other = f"{{path: {tmp_path / 'long.txt'}, weight: .5, name: other, max_epochs: 9}}"
    keys = ["tokenizer=char", "tokens=16384", "batch.sequences=8", "batch.length=16"]
    told = list_budget_warnings(read_request(compose("train", [*keys, f"data.parts=[{part},{other}]"])))
    assert told[1:] == [
        "warning: data=long has 3,600 characters; 8,192 tokens need 1.95 times it, and max_epochs of the part long is 1"
        ". Lower tokens, or set it to 2"
    ]


@pytest.mark.parametrize(
    ("keys", "warning"),
    [
        (["tokens=25600"], None),
        (
            ["tokens=12800"],
            "tokens=12.8K are 100 steps, which is little to learn from; batch.sequences=4 makes them 200",
        ),
        (["tokens=1280"], "tokens=1280 are 10 steps, .*; batch.sequences=1 makes them 80"),
        (["tokens=1280", "batch.sequences=1"], "are 80 steps, .*; give more tokens, or a smaller batch.length"),
    ],
)
def test_a_budget_of_few_steps_is_told_with_what_gives_more(settings_of, keys, warning):
    told = list_budget_warnings(settings_of("data.max_epochs=99", *keys))
    assert len(told) == (warning is not None)
    assert all(re.match(f"warning: .*{warning}$", line) for line in told)


def test_the_warnings_of_a_grid_are_told_once_each(settings_of, long_text, capsys):
    grid = [
        settings_of(long_text, f"tokens={tokens}", f"seed={seed}") for tokens in (512, 8192) for seed in (0, 1)
    ]
    say_budget_warnings(grid)
    assert capsys.readouterr().err.count("warning: data=long has 3,600 characters; 8,192 tokens need") == 1


def test_a_text_that_is_not_there_is_left_to_who_reads_it(settings_of, tmp_path):
    assert list_budget_warnings(settings_of(f"data.path={tmp_path / 'none'}", "tokens=1B")) == []


def test_more_words_than_the_passes_hold_are_refused(budget_of):
    with pytest.raises(UserError) as caught:
        prepare(budget_of(2 * WORDS + 1))
    assert str(caught.value) == (
        "tokens=1201w means 2.00 passes through data=small_corpus, which has 600 words (whitespace); data.max_epochs=1 "
        "allows tokens=600w. Lower tokens, or set data.max_epochs=3"
    )


def test_words_that_are_less_than_a_batch_are_refused(budget_of):
    message = r"tokens=2w: so many words are \d+ tokens of data=small_corpus .* global batch"
    with pytest.raises(UserError, match=message):
        prepare(budget_of(2))


def test_a_corpus_without_a_counter_is_refused_with_what_works(settings_of, overrides):
    expected = (
        r"tokens=600w is a number of words, which nothing counts in data=small_corpus; add data\.words=jieba"
    )
    with pytest.raises(UserError, match=expected):
        settings_of("tokens=600w")
    with pytest.raises(UserError, match=expected):
        train_command([Composed(compose("train", [*overrides, "tokens=600w"]), ())])
