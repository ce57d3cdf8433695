import pytest

from ucurve.training.model.library import parameters_by_group
from ucurve.training.model.neox import PythiaShape
from ucurve.training.model.parameters import flops_6nd

PYTHIA = {  # published parameter counts: total, without embeddings (Biderman et al. 2023, Table 1; model cards)
    "70m": (PythiaShape(6, 512, 8, 2048), 70_426_624, 18_915_328),
    "160m": (PythiaShape(12, 768, 12, 3072), 162_322_944, 85_056_000),
    "410m": (PythiaShape(24, 1024, 16, 4096), 405_334_016, 302_311_424),
    "1.4b": (PythiaShape(24, 2048, 16, 8192), 1_414_647_808, 1_208_602_624),
}


@pytest.mark.parametrize("size", PYTHIA)
def test_parameters_are_those_pythia_publishes(size):
    shape, total, non_embedding = PYTHIA[size]
    counted = shape.count_parameters(50_304, 64)
    assert counted.total == total
    assert counted.non_embedding == non_embedding


def test_parameters_equal_the_built_model():
    shape = PythiaShape(3, 48, 4, 160)
    assert parameters_by_group(shape.build_model(101, 16, 0, seed=0)) == shape.count_parameters(101, 16)


def test_6nd_gives_the_papers_ends():
    assert flops_6nd(14_000_000, 10_000_000) == pytest.approx(8.4e14)
    assert flops_6nd(1_400_000_000, 3_000_000_000) == pytest.approx(2.52e19)


def test_exact_flops_by_hand():
    shape = PythiaShape(layers=1, width=2, heads=1, feed_forward=3)
    # query, key, value and output 4 x 4, feed-forward 2 x 6, scores and values 2 x 5 x 2, output 7 x 2: 62 products
    assert shape.count_flops(vocabulary=7, context=5, tokens=10) == 6 * 62 * 10


def test_exact_flops_equal_a_count_over_the_modules():
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    shape, length = PythiaShape(2, 32, 4, 64), 16
    model = shape.build_model(50, length, 0, seed=0)
    model.set_attn_implementation("eager")
    ids = torch.randint(0, 50, (3, length + 1))
    with FlopCounterMode(display=False) as counter:
        logits = model(ids[:, :-1]).logits
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
    counted = counter.get_total_flops()
    ours = shape.count_flops(50, length, 3 * length)
    # The counter also sees the tiny product that makes the rotary angles.
    assert counted == pytest.approx(ours, rel=0.01)
