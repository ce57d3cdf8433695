"""The forms of the learning rate: numbers computed by hand, and what holds for every budget."""

import itertools
import math
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.settings import optimizer_settings, rate_settings
from tests.train.test_config import read
from ucurve.errors import UserError
from ucurve.training.identity import config_sha256, differing_keys
from ucurve.training.optim import learning_rate

FORMS = (
    rate_settings(),
    rate_settings("linear"),
    rate_settings("constant"),
    *(rate_settings("wsd", 0.2, form=form) for form in ("sqrt", "linear", "exponential")),
    rate_settings("wsd_s", 0.2),
)


def settings(warmup=0.1, minimum=0.1):
    return optimizer_settings(learning_rate=1.0, minimum=minimum, warmup=warmup)


def rates(rate, steps=100, **keys):
    return [learning_rate(settings(**keys), step, steps, rate) for step in range(1, steps + 1)]


def test_a_linear_rate_falls_by_the_same_amount_at_each_step():
    found = rates(rate_settings("linear"))
    assert found[:10] == pytest.approx([0.1 * step for step in range(1, 11)])
    assert found[10:] == pytest.approx([1 - 0.01 * step for step in range(1, 91)])  # from 1 to .1 in 90 steps


def test_a_constant_rate_is_its_peak_after_the_warm_up():
    assert rates(rate_settings("constant"), steps=6, warmup=4, minimum=1.0) == [0.25, 0.5, 0.75, 1, 1, 1]


def test_wsd_is_its_peak_and_then_falls_as_one_minus_the_square_root():
    found = rates(rate_settings("wsd", 0.25), steps=16, warmup=2, minimum=0.0)
    assert found[:12] == [0.5, *[1.0] * 11]
    assert found[12:] == pytest.approx([0.5, 1 - sqrt(0.5), 1 - sqrt(0.75), 0])
    assert rates(rate_settings("wsd", 0.25), steps=16, warmup=2, minimum=0.1)[12:] == pytest.approx(
        [0.55, 0.1 + 0.9 * (1 - sqrt(0.5)), 0.1 + 0.9 * (1 - sqrt(0.75)), 0.1]
    )


@pytest.mark.parametrize(
    ("form", "expected"),
    [("linear", [0.75, 0.5, 0.25, 0]), ("exponential", [0.5, 0.25, 0.125, 0.0625])],  # the half-life is one step
)
def test_wsd_falls_as_its_form_says(form, expected):
    minimum = 0.0 if form == "linear" else 0.0625
    found = rates(rate_settings("wsd", 0.25, form=form), steps=16, warmup=2, minimum=minimum)
    assert found == pytest.approx([0.5, *[1.0] * 11, *expected])


def test_a_cosine_with_a_floor_is_what_pythia_was_trained_with():
    floor = rate_settings("cosine_floor")
    found = rates(floor, steps=8, warmup=2)
    # It stops at N - W.
    assert found == pytest.approx([0.5, 1, 0.961940, 0.853553, 0.691342, *[0.5] * 3], abs=1e-6)
    trained, configured = rates(floor, warmup=0.01), rates(rate_settings(), warmup=0.01)
    assert trained[80:] == [0.1] * 20
    assert max(high - low for high, low in zip(configured, trained, strict=True)) == pytest.approx(
        0.083, abs=1e-3
    )
    assert trained == pytest.approx([1, *_neox_rates(100, 1)])


def _neox_rates(steps, warmup):
    """A plain loop after megatron/learning_rates.py of GPT-NeoX, at the steps after the warm-up."""
    for number in range(warmup + 1, steps + 1):
        cosine = (math.cos(math.pi * (min(number, steps - warmup) - warmup) / steps) + 1) / 2
        yield max(cosine, 0.1)


def test_wsd_s_falls_to_each_budget_and_goes_on_at_its_peak():
    rate, keys = rate_settings("wsd_s", 0.25, at=(1, 2)), settings(warmup=2, minimum=0.5)
    found = [learning_rate(keys, step, 16, rate, ends=(4, 8)) for step in range(1, 17)]
    assert found[:4] == [0.5, 1, 1, pytest.approx(0.5)]
    assert found[4:8] == [1, 1, pytest.approx(1 / 1.5), pytest.approx(0.5)]  # the inverse is 1.5 and 2
    assert found[8:12] == [1] * 4
    assert found[12:] == pytest.approx([1 / 1.25, 1 / 1.5, 1 / 1.75, 0.5])
    assert found[:8] == [learning_rate(keys, step, 8, rate, ends=(4,)) for step in range(1, 9)]


@given(
    rate=st.sampled_from(FORMS),
    steps=st.integers(1, 300),
    warmup=st.one_of(st.floats(0, 0.5), st.integers(2, 50)),
    minimum=st.floats(0.001, 1),
)
def test_a_rate_rises_to_its_peak_and_never_rises_again(rate, steps, warmup, minimum):
    found, before = rates(rate, steps, warmup=warmup, minimum=minimum), settings(warmup).warmup_steps(steps)
    assert found[0] > 0
    assert max(found) <= 1
    assert all(later > earlier for earlier, later in itertools.pairwise(found[:before]))
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(found[before:]))
    if steps > before:
        assert found[-1] == pytest.approx(1 if rate.kind == "constant" else minimum)


@given(steps=st.integers(20, 300), more=st.integers(0, 300), minimum=st.floats(0, 1), decay=st.floats(0.01, 0.9))
def test_the_steps_before_the_decay_are_those_of_every_other_budget(steps, more, minimum, decay):
    rate, keys = rate_settings("wsd", decay), {"warmup": 2, "minimum": minimum}
    before = rate.steps_before_decay(steps)
    shorter, longer = rates(rate, steps, **keys)[:before], rates(rate, steps + more, **keys)
    assert shorter == longer[:before] == rates(rate_settings("constant"), before, warmup=2)


def test_the_default_rate_is_in_no_name():
    default = read()
    assert default.run_name == "14m-10M-char-text-s0"
    assert config_sha256(read("rate=linear").identity()) != config_sha256(default.identity())


def test_another_rate_is_in_identity_and_name():
    wsd = read("rate=wsd", "name=again")
    assert wsd.run_name == "14m-10M-char-text-s0-rate=wsd-again"
    linear = read("rate=wsd", "rate.form=linear")
    assert linear.run_name == "14m-10M-char-text-s0-rate=wsd-rate.form=linear"
    assert differing_keys(read("rate=wsd").identity(), linear.identity()) == ["rate.form: 'sqrt' -> 'linear'"]
    assert (wsd.optimizer.warmup, wsd.optimizer.minimum) == (100, 0.0)
    assert read("rate=wsd", "optimizer.warmup=0.01").optimizer.warmup == 0.01


def test_the_optimizer_and_where_a_rate_decays_are_in_the_identity():
    muon = read("optimizer=muon", "optimizer.scale.embedding=10")
    assert muon.identity()["optimizer"]["kind"] == "muon"
    assert muon.identity()["optimizer"]["scale"]["embedding"] == 10
    assert muon.run_name == "14m-10M-char-text-s0-optimizer=muon-optimizer.scale.embedding=10.0"
    assert read("rate=wsd_s", "rate.at=[5M]").identity()["rate"]["at"] == (5_000_000,)


@pytest.mark.parametrize("rate", ["cosine", "cosine_floor", "linear", "constant", "wsd", "wsd_s"])
@pytest.mark.parametrize("model", ["14m", "tiny", "llama-160m"])
def test_what_conf_has_by_itself_is_in_no_name(rate, model):
    request = read(f"rate={rate}", f"model={model}")
    assert request.run_name == f"{model}-10M-char-text-s0" + f"-rate={rate}" * (rate != "cosine")


def test_other_values_are_in_the_name_in_a_fixed_order():
    keys = ["optimizer.clip=2", "optimizer.eps=1e-6", "optimizer.weight_decay=0", "optimizer.learning_rate=3e-3"]
    assert read(*keys, "rate=wsd", "rate.decay=.1", "optimizer.warmup=50", "optimizer.minimum=.1").run_name == (
        "14m-10M-char-text-s0-rate=wsd-rate.decay=0.1-optimizer.learning_rate=0.003-optimizer.minimum=0.1"
        "-optimizer.warmup=50-optimizer.eps=1e-06-optimizer.weight_decay=0.0-optimizer.clip=2.0"
    )
    assert read("optimizer.learning_rate=1e-3", "optimizer.betas=[.9,.99]").run_name == "14m-10M-char-text-s0"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["rate=constant", "optimizer.minimum=0.5"], r"optimizer\.minimum=0\.5: rate=constant stays at its peak"),
        (
            ["rate=wsd", "tokens=200K"],
            r"the warm-up of 100 steps does not end before .* begins after step 10 of 12",
        ),
        (["rate.decay=0.5"], r"rate: decay is for rate=wsd and rate=wsd_s; this is rate=cosine"),
        (["rate.form=linear"], r"rate: form=linear is for rate=wsd; this is rate=cosine"),
        (
            ["rate=wsd", "rate.form=cosine"],
            r"rate\.form: got 'cosine'; Input should be 'sqrt', 'linear' or 'exponential'",
        ),
        (
            ["rate=wsd", "rate.form=exponential"],
            r"optimizer\.minimum=0: rate\.form=exponential never reaches 0; as opt",
        ),
        (["rate=wsd", "rate.at=[1M]"], r"rate: at is for rate=wsd_s; this is rate=wsd"),
        (["rate=wsd_s", "rate.at=[6M,6M]"], r"rate: at: got 6M, 6M; budgets must ascend"),
        (
            ["rate=wsd_s", "rate.at=[10M]"],
            r"rate\.at: 10M is not between one step and the budget 10M, at which the last",
        ),
        (["rate=wsd_s", "rate.at=[1K]"], r"rate\.at: 1K is not between one step and the budget 10M"),
        (["rate=wsd_s", "rate.at=[many]"], r"rate\.at\.0: 'many' is not a count"),
        (
            ["rate=wsd_s", "rate.at=[9.5M]"],
            r"rate\.at: the decay to step 610 begins after step 549, before the one to step 579 has ended",
        ),
        (["rate=wsd_s", "optimizer.minimum=0"], r"optimizer\.minimum=0: rate=wsd_s falls as 1 / x, which never"),
        (
            ["rate=wsd_s", "rate.at=[1M]"],
            r"the warm-up of 100 steps does not end before .* begins after step 55 of 610",
        ),
        (["optimizer.scale.hidden=0"], r"optimizer\.scale\.hidden: got 0"),
        (["optimizer=mun"], r"unknown optimizer 'mun'; allowed: adamw, muon"),
        (["rate=wsd", "rate.decay=null"], r"rate: decay: no value given; rate=wsd wants the share"),
        (["rate=wsd", "rate.decay=1"], r"rate\.decay: got 1"),
        (
            ["optimizer.warmup=1.5"],
            r"optimizer\.warmup: got 1\.5; allowed: a share of the steps from 0 to 1, or a",
        ),
        (["optimizer.warmup=-1"], r"optimizer\.warmup: got -1; allowed: "),
        (["rate=wsds"], r"unknown rate 'wsds'; allowed: constant, cosine, cosine_floor, linear, wsd"),
    ],
)
def test_a_rate_that_cannot_be_is_refused(overrides, message):
    with pytest.raises(UserError, match=message):
        read(*overrides)
