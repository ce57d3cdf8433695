import numpy as np
import pandas as pd
import pytest

from ucurve.analysis.models.prompts import AVERAGE, prompt_differences

# Swe-BLiMP, Table 3 (section 6): accuracy by perplexity, differences of the two prompts
TABLE_3 = {
    "SV-Llama-3 8B": (77.0, -25.9, -26.4), "EuroLLM 9B": (75.6, -14.3, -21.1), "EuroLLM 1.7B": (71.0, -20.6, -21.8),
    "Llama-3.3 70B": (69.7, 6.5, -4.0), "Gemma-3 12B": (69.2, 4.5, 3.8), "Gemma-3 4B": (66.0, 0.4, -1.4),
    "Aya 32B": (65.0, 0.6, -1.2), "GPT-SW3 20B": (53.0, -3.4, -4.1),
}  # fmt: skip


def test_averages_of_swe_blimp_table_3() -> None:
    """P14d: 68.3, -6.5 and -9.5."""
    rows = [(model, plain, plain + one, plain + other) for model, (plain, one, other) in TABLE_3.items()]
    table = prompt_differences(
        pd.DataFrame(rows, columns=["model", "perplexity", "grammaticality", "acceptability"])
    )
    last = table.iloc[-1]
    assert last["model"] == AVERAGE
    assert [round(last[name], 1) for name in table.columns[1:]] == [68.3, -6.5, -9.5]


def test_prompts_are_compared_with_perplexity_of_the_same_model() -> None:
    points = pd.DataFrame({
        "model": ["weak", "strong"], "perplexity": [0.6, 0.8], "grammaticality": [0.7, 0.5],
        "acceptability": [np.nan, 0.9],
    })  # fmt: skip
    table = prompt_differences(points)
    assert table["model"].tolist() == ["strong", "weak", AVERAGE]
    assert table["delta_grammaticality"].tolist() == pytest.approx([-0.3, 0.1, -0.1])
    assert table["delta_acceptability"].tolist()[0] == pytest.approx(0.1)
    assert np.isnan(table["delta_acceptability"].iloc[1])
