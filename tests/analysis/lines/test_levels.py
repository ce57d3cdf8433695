import numpy as np
import pandas as pd
import pytest

from ucurve.analysis.lines.table import shared_levels, tokens_at_bits


def test_a_level_of_the_loss_lies_between_checkpoints_on_the_log_axis():
    tokens, bits = np.array([10.0, 100.0, 1000.0]), np.array([4.0, 3.0, 2.0])
    assert tokens_at_bits(tokens, bits, 3.0) == pytest.approx(100)
    assert tokens_at_bits(tokens, bits, 2.5) == pytest.approx(10**2.5)
    assert np.isnan(tokens_at_bits(tokens, bits, 1.9))  # never reached
    assert np.isnan(tokens_at_bits(tokens, bits, 4.0))  # reached before the first checkpoint


def test_levels_are_those_that_every_run_reaches():
    bits = pd.DataFrame({"run": list("aabb"), "bits_per_byte": [5.0, 2.123, 5.0, 2.311]})
    assert shared_levels(bits) == [2.82, 2.57, 2.32]
