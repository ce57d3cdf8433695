from train.config import read_settings
from train.plan import describe_plan, make_plan
from ucurve.config import compose


def described(*overrides, vocabulary):
    settings = read_settings(compose("train", ["tokens=4M", "data=demo", *overrides]))
    (line,) = [line for line in describe_plan(make_plan(settings, vocabulary), "").splitlines() if "not tied" in line]
    return line


def test_a_plan_says_when_the_vocabulary_is_most_of_the_model():
    line = described("model=14m", "tokenizer=bpe", vocabulary=50_000)
    assert line.endswith(
        "together they are 91 % of the parameters: a smaller vocabulary (tokenizer.vocab_size=) trains faster"
    )
    assert described("model=14m", "tokenizer=char", vocabulary=12_142).endswith("(another tokenizer) trains faster")
    assert "%" not in described("model=410m", "tokenizer=bpe", vocabulary=50_000)
    assert "%" not in described("model=14m", "tokenizer=bpe", vocabulary=4_000)
