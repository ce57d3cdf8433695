from ucurve.config import compose
from ucurve.token_stream.store import StreamSize
from ucurve.training.config import read_settings
from ucurve.training.plan import (
    count_start_tokens,
    describe_plan,
    describe_start_token,
    make_plan,
    warn_of_start_token,
)
from ucurve.training.run.prepare import expect_run, prepare


def described(*overrides, vocabulary):
    settings = read_settings(compose("train", ["tokens=4M", "data=demo", *overrides]))
    (line,) = [
        line for line in describe_plan(make_plan(settings, vocabulary), "").splitlines() if "not tied" in line
    ]
    return line


def test_a_plan_says_when_the_vocabulary_is_most_of_the_model():
    line = described("model=14m", "tokenizer=bpe", vocabulary=50_000)
    assert line.endswith(
        "together they are 91 % of the parameters: a smaller vocabulary (tokenizer.vocab_size=) trains faster"
    )
    assert described("model=14m", "tokenizer=char", vocabulary=12_142).endswith(
        "(another tokenizer) trains faster"
    )
    assert "%" not in described("model=410m", "tokenizer=bpe", vocabulary=50_000)
    assert "%" not in described("model=14m", "tokenizer=bpe", vocabulary=4_000)


def start_token(stream, *overrides):
    settings = read_settings(compose("train", ["tokens=4M", "data=text", "data.path=books", *overrides]))
    return describe_start_token(make_plan(settings, 8000), stream)


def test_a_plan_says_how_often_the_budget_shows_the_start_token():
    before = "before every document"
    often = start_token(StreamSize(139_790, 21_254_035))
    assert often == f"{before} and scored sentence, seen about 26,293 times, once in 152 tokens"
    not_counted = f"{before} (data.unit=line) and scored sentence; its count is known after tokenizing"
    assert start_token(None) == not_counted


def test_a_plan_warns_of_a_start_token_that_is_rarer_than_once_in_a_thousand_tokens():
    rare = StreamSize(1_000, 1_001_000)
    assert start_token(rare).startswith("warning: ") and "once in 1,001 tokens" in start_token(rare)
    assert start_token(rare, "data.unit=record").endswith("; data.unit=line puts it before every line")
    assert start_token(rare).endswith("; cut the long lines of this corpus")
    assert "warning" not in start_token(StreamSize(1_000, 1_000_000), "data.unit=record")


def test_training_says_nothing_of_a_start_token_that_needs_nothing():
    settings = read_settings(compose("train", ["tokens=4M", "data=text", "data.path=books"]))
    plan = make_plan(settings, 8000)
    assert warn_of_start_token(plan, StreamSize(1_000, 1_000_000)) == ""
    assert warn_of_start_token(plan, StreamSize(1_000, 1_001_000)) in start_token(StreamSize(1_000, 1_001_000))


def test_a_dry_run_takes_the_count_from_the_cache(settings_of):
    settings = settings_of()
    assert "start token    before every document (" in expect_run(settings).describe()
    seen = count_start_tokens(make_plan(settings, 8000), prepare(settings).store)
    assert f"scored sentence, seen about {seen:,} times, once in " in expect_run(settings).describe()


def test_a_plan_says_what_a_token_is_where_a_reader_may_count_words():
    def tokens(tokenizer):
        settings = read_settings(compose("train", ["tokens=4M", "data=demo", f"tokenizer={tokenizer}"]))
        lines = describe_plan(make_plan(settings, 8000), "").splitlines()
        return next(line for line in lines if line.startswith("tokens "))

    assert tokens("word").endswith("or a single space")
    assert tokens("char").endswith("spaces included")
    assert "a token is" not in tokens("bpe")


def test_a_plan_counts_the_disk_of_checkpoints_and_of_the_states_that_are_kept():
    def plan(*more):
        return make_plan(read_settings(compose("train", ["tokens=4M", "data=demo", "model=14m", *more])), 8000)

    two_rolling = plan()
    weights = 4 * two_rolling.parameters.total  # float32; a state has two moments as well
    assert two_rolling.disk_bytes == (len(two_rolling.checkpoint_steps) + 2 * 3) * weights
    assert plan("resume.keep_states=[10,20]").disk_bytes == two_rolling.disk_bytes + 2 * 3 * weights
