"""The first weights of every parameter of every family, beside how the family's authors draw them."""

import math
import re

import pytest
import torch

from tests.train.model.first_weights import FAMILIES, build, drawn_by, pooled

ERRORS = 5.0  # standard errors by which a sample may be off
MORE_ROWS = {"bert": {"type_vocab_size": 64}, "roberta": {"type_vocab_size": 64}}  # two rows are too few values


@pytest.fixture(scope="module")
def models():
    return {family: build(family, length=256, **MORE_ROWS.get(family, {})) for family in FAMILIES}


def assert_deviation(values, deviation, name):
    """Check the mean and the standard deviation; a sample's of a normal variable varies most of the three forms."""
    of_deviation = ERRORS * deviation / math.sqrt(2 * values.numel())
    assert values.std().item() == pytest.approx(deviation, abs=of_deviation), name
    assert abs(values.mean().item()) < ERRORS * deviation / math.sqrt(values.numel()), name


@pytest.mark.parametrize(("family", "row"), [(family, row) for family, rows in FAMILIES.items() for row in rows])
def test_parameters_are_drawn_by_the_formula(models, family, row):
    model = models[family]
    deviation, found = row.deviation(model.config), drawn_by(row, model)
    for name, values in found.items():
        assert_deviation(values, deviation, name)
    values = pooled(found.values())
    assert_deviation(values, deviation, row.parameters)
    assert ERRORS / math.sqrt(2 * values.numel()) < 0.08, "a few percent can be told"
    largest, limit = values.abs().max().item(), row.form.largest * row.scale(model.config)
    assert largest <= limit * 1.000001
    assert largest > (0.99 * limit if math.isfinite(limit) else 3.5 * deviation), "it is of this form"


@pytest.mark.parametrize("family", FAMILIES)
def test_all_others_are_one_or_zero_but_for_those_of_mambas_state(models, family):
    model = models[family]
    drawn = {name for row in FAMILIES[family] for name in drawn_by(row, model)}
    assert len(drawn) == sum(len(drawn_by(row, model)) for row in FAMILIES[family]), (
        "no parameter has two formulas"
    )
    for name, values in model.named_parameters():
        if name not in drawn and not name.endswith(("A_log", "dt_proj.bias")):
            is_scale = name.endswith("mixer.D") or (
                re.search(r"norm|ln_", name.lower()) and name.endswith("weight")
            )
            assert torch.all(values == (1.0 if is_scale else 0.0)), name


def test_mambas_state_decays_by_whole_numbers_and_its_steps_are_even_in_their_logarithm(models):
    mixers = [layer.mixer for layer in models["mamba"].backbone.layers]
    for mixer in mixers:
        assert torch.allclose(mixer.A_log.exp(), torch.arange(1.0, 17.0).expand(256, 16))
    steps = torch.nn.functional.softplus(pooled(mixer.dt_proj.bias.detach() for mixer in mixers)).log()
    low, high = math.log(0.001), math.log(0.1)
    assert_deviation(steps - (low + high) / 2, (high - low) / math.sqrt(12), "dt_proj.bias")
    assert low - 1e-4 < steps.min() < low + 0.05
    assert high - 0.05 < steps.max() < high + 1e-4


def test_a_seed_and_a_shape_give_mambas_weights():
    before = torch.random.get_rng_state()
    first, again = build("mamba"), build("mamba")
    assert torch.equal(before, torch.random.get_rng_state())
    assert all(torch.equal(one, two) for one, two in zip(first.parameters(), again.parameters(), strict=True))
    layers = [layer.mixer for layer in first.backbone.layers]
    assert not torch.equal(layers[0].in_proj.weight, layers[1].in_proj.weight)
