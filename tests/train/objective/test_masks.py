"""Masks are a function of the data seed and of the number of a sequence in the run, at BERT's rates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.settings import objective_settings
from ucurve.errors import UserError
from ucurve.training.model.design import NOT_PREDICTED
from ucurve.training.objective.masks import HELD_OUT_RATE, Masking

VOCABULARY, MASK, SPECIAL = 50, 49, (0, 1, 49)
IS_TEXT = np.isin(np.arange(VOCABULARY), SPECIAL, invert=True)


def masking(seed=0, steps=10, begins=None, kind="masked", **keys):
    return Masking(objective_settings(kind=kind, **keys), seed, steps, MASK, IS_TEXT, begins)


def draw(sequences=400, length=64, seed=0):
    return np.random.default_rng(seed).integers(0, VOCABULARY - 1, (sequences, length))


def test_chosen_tokens_are_those_of_berts_scheme():
    ids = draw(2_000)
    inputs, targets = np.moveaxis(masking().apply(1, 0, ids), 1, 0)
    chosen = targets != NOT_PREDICTED
    assert (targets[chosen] == ids[chosen]).all()
    assert (inputs[~chosen] == ids[~chosen]).all()
    assert IS_TEXT[ids[chosen]].all()
    assert IS_TEXT[inputs[chosen & (inputs != MASK)]].all()
    assert chosen.sum() / IS_TEXT[ids].sum() == pytest.approx(0.15, abs=0.001)
    masked, kept = (inputs == MASK)[chosen].mean(), (inputs == ids)[chosen].mean()
    assert masked == pytest.approx(0.8, abs=0.01)
    assert kept == pytest.approx(0.1 + 0.1 / IS_TEXT.sum(), abs=0.01)
    assert len(np.unique(inputs[chosen & (inputs != MASK)])) == IS_TEXT.sum()
    assert chosen.mean(axis=0) == pytest.approx(np.full(64, 0.15 * IS_TEXT[ids].mean()), abs=0.04)


@given(first=st.integers(0, 10**9), cut=st.integers(1, 7), seed=st.integers(0, 2**32 - 1))
def test_masks_do_not_depend_on_how_sequences_are_grouped(first, cut, seed):
    ids = draw(8, 16, seed)
    whole = masking(seed).apply(1, first, ids)
    parts = [masking(seed).apply(1, first + start, part) for start, part in ((0, ids[:cut]), (cut, ids[cut:]))]
    assert (whole == np.concatenate(parts)).all()


def test_another_seed_or_place_in_the_run_masks_other_tokens():
    ids = np.tile(draw(1), (50, 1))
    first, again, later, other = (
        masking(seed).apply(1, place, ids) for seed, place in ((0, 0), (0, 0), (0, 50), (1, 0))
    )
    assert (first == again).all()
    assert len({row.tobytes() for row in first[:, 1]}) == 50
    assert not (first == later).all()
    assert not (first == other).all()


def test_the_rate_goes_from_the_first_to_the_last_step_on_a_line():
    ids, scheduled = draw(2_000), masking(steps=11, rate=0.4, last_rate=0.1)
    for step, rate in ((1, 0.4), (6, 0.25), (11, 0.1)):
        chosen = scheduled.apply(step, 0, ids)[:, 1] != NOT_PREDICTED
        assert chosen.sum() / IS_TEXT[ids].sum() == pytest.approx(rate, abs=0.003)
    assert scheduled.settings.mean_rate(11, 11) == pytest.approx(0.25)
    assert scheduled.settings.mean_rate(1, 11) == pytest.approx(0.4)


def test_whole_words_are_chosen_together():
    begins = np.arange(VOCABULARY) % 3 == 0
    ids = draw(1_000)
    chosen = masking(begins=begins).apply(1, 0, ids)[:, 1] != NOT_PREDICTED
    text = IS_TEXT[ids]
    same_word = text[:, 1:] & text[:, :-1] & ~begins[ids[:, 1:]]
    assert (chosen[:, 1:] == chosen[:, :-1])[same_word].all()
    assert chosen.sum() / text.sum() == pytest.approx(0.15, abs=0.005)


def test_a_sequence_without_text_has_no_target_and_a_short_one_has_at_least_one():
    nothing = masking().apply(1, 0, np.zeros((3, 16), dtype=np.int64))
    assert (nothing[:, 1] == NOT_PREDICTED).all()
    few = np.zeros((50, 16), dtype=np.int64)
    few[:, 7] = 5
    assert (masking().apply(1, 0, few)[:, 1, 7] == 5).all()


def test_held_out_masks_depend_on_the_place_alone():
    ids = draw(1, 20_000)[0]
    inputs, targets = masking(seed=5, rate=0.4).held_out(ids, 64)
    chosen = targets != NOT_PREDICTED
    assert chosen.sum() / IS_TEXT[ids].sum() == pytest.approx(HELD_OUT_RATE, abs=0.01)
    assert (inputs[chosen] == MASK).all()
    assert (inputs[~chosen] == ids[~chosen]).all()
    start_only = masking().held_out(ids[:100], 16)
    assert (start_only[0] == inputs[:100]).all()


def test_with_mntp_a_masked_token_is_the_target_of_the_position_before():
    ids = draw()
    inputs, targets = np.moveaxis(masking(kind="mntp", mask=1.0, random=0.0).apply(1, 0, ids), 1, 0)
    assert (targets[:, -1] == NOT_PREDICTED).all()
    assert (inputs[:, 0] == ids[:, 0]).all()
    predicted = targets[:, :-1] != NOT_PREDICTED
    assert (predicted == (inputs[:, 1:] == MASK)).all()
    assert (targets[:, :-1][predicted] == ids[:, 1:][predicted]).all()
    assert predicted.sum() / IS_TEXT[ids[:, 1:]].sum() == pytest.approx(0.15, abs=0.005)


def test_held_out_targets_of_mntp_stay_within_their_window():
    ids = draw(1, 20_000)[0]
    inputs, targets = masking(kind="mntp").held_out(ids, 50)
    assert (inputs == masking().held_out(ids, 50)[0]).all()
    assert (targets[49::50] == NOT_PREDICTED).all()
    places = np.flatnonzero(targets != NOT_PREDICTED)
    assert (targets[places] == ids[places + 1]).all()
    assert (inputs[places + 1] == MASK).all()
    assert len(places) == (inputs.reshape(-1, 50)[:, 1:] == MASK).sum()


MESSAGES = [
    ({"kind": "masked", "mask": 0.8, "random": 0.3}, "are shares of the same tokens"),
    ({"kind": "masked", "rate": 0.0}, "rate"),
    ({"kind": "masking"}, "kind"),
]


@pytest.mark.parametrize(("keys", "message"), MESSAGES)
def test_mistakes_are_named(keys, message):
    with pytest.raises(UserError, match=message):
        objective_settings(**keys)
