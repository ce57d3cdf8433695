import numpy as np
import pandas as pd
import pytest

from tests.analysis.papers import printed
from ucurve.analysis.models.benchmarks import benchmark_table, largest_gaps, matched_phenomena
from ucurve.analysis.models.categories import category_table
from ucurve.analysis.models.mcnemar import leads_or_ties
from ucurve.analysis.paradigms.phenomena import by_level

# RuBLiMP, Figure 2 and appendix F: paradigms of each phenomenon, in the order of Table 5
PARADIGMS = (3, 3, 5, 11, 2, 3, 3, 1, 3, 5, 3, 3)


def _rublimp() -> tuple[pd.DataFrame, pd.DataFrame]:
    table = printed("rublimp_table5").set_index("model")
    return table.drop(columns=["AVERAGE", "average_45"]), table[["AVERAGE", "average_45"]]


def _swedish(*, as_printed: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return accuracies by category and model, and the printed means; one cell must be 98 (P14) and reads 96."""
    table = printed("sweblimp_table2").set_index("category")
    models = [name for name in table.columns if name not in ("mean", "sd", "human")]
    if not as_printed:
        table.loc["ART. NOUN AGR. PL.", "Llama-SV 8B"] = 98.0
    return table[models], table[["mean", "sd", "human"]]


def _points(wide: pd.DataFrame) -> pd.DataFrame:
    return (
        wide.drop(index="Avg")
        .rename_axis("suite")
        .reset_index()
        .melt("suite", var_name="model", value_name="accuracy")
    )


def _average(phenomena: pd.DataFrame, aggregate: str) -> "pd.Series[float]":
    """Average by model as the tables of the report do, with as many paradigms of a phenomenon's accuracy as it has."""
    rows = [
        {"line": model, "phenomenon": name, "paradigm": f"{name}-{number}", "accuracy": value}
        for model, row in phenomena.iterrows()
        for (name, value), count in zip(row.items(), PARADIGMS, strict=True)
        for number in range(count)
    ]
    table = by_level(pd.DataFrame(rows).assign(linking="ppl", step=-1, n=1000))
    whole = table[(table["phenomenon"] == "all") & (table["aggregate"] == aggregate)]
    return whole.set_index("line")["accuracy"]


def test_averages_of_rublimp_table_5_are_means_over_phenomena() -> None:
    phenomena, averages = _rublimp()
    off = (_average(phenomena, "phenomena") - averages["AVERAGE"]).drop(index="Human").abs()
    assert len(off) == 25
    assert off.max() < 0.0101
    assert (off > 0.0051).sum() <= 1


def test_averages_of_rublimp_tables_8_to_10_are_means_over_paradigms() -> None:
    phenomena, averages = _rublimp()
    off = (_average(phenomena, "paradigms") - averages["average_45"]).abs()
    assert len(off) == 26  # the human baseline too
    assert off.max() < 0.0151  # phenomena are rounded themselves


def test_the_human_average_of_rublimp_table_5_follows_from_neither() -> None:
    """P12b: 98.62 is printed; over phenomena it is 99.17, over paradigms 99.15 as in Tables 8 to 10."""
    phenomena, averages = _rublimp()
    assert averages.loc["Human"].tolist() == [98.62, 99.15]
    assert _average(phenomena, "phenomena")["Human"] == pytest.approx(99.17, abs=0.005)
    assert _average(phenomena, "paradigms")["Human"] == pytest.approx(99.15, abs=0.005)


def test_averages_of_rublimp_table_11_are_means_over_ten_columns() -> None:
    table = printed("rublimp_table11")
    points = table.drop(columns="Avg").melt("model", var_name="benchmark", value_name="accuracy")
    found = benchmark_table(points).set_index("model")
    assert (found["mean"] - table.set_index("model")["Avg"]).abs().max() <= 0.005 + 1e-9
    ours = table.set_index("model")["RuBLiMP"]
    assert (
        ours - _rublimp()[1]["average_45"]
    ).dropna().abs().max() == 0  # the column ru is the mean over paradigms


def test_gaps_between_rublimp_and_clams_are_cut_in_the_text() -> None:
    """P12g, RuBLiMP appendix G.2: "from 2.4 to 37 %"; Table 12, SPA in Russian, 17 models."""
    ours = (75.90, 80.37, 87.55, 87.73, 49.77, 36.77, 87.69, 88.75, 85.55, 86.66, 88.90, 44.26, 82.70, 83.75, 89.45,
            91.23, 92.99)  # fmt: skip
    clams = (73.52, 83.33, 78.02, 78.17, 51.51, 60.72, 76.31, 77.56, 73.49, 76.18, 79.72, 81.95, 83.53, 83.72, 80.73,
             82.62, 87.04)  # fmt: skip
    rows = [
        ("spa", place, name, values[place])
        for name, values in (("ru", ours), ("clams", clams))
        for place in range(17)
    ]
    gaps = largest_gaps(pd.DataFrame(rows, columns=["match", "model", "benchmark", "accuracy"]))
    assert gaps["gap"].max() == pytest.approx(37.69)
    assert gaps.set_index("model").loc[0, "gap"] == pytest.approx(2.38)  # distil-MBERT, which the text names


def test_rows_of_sweblimp_table_2() -> None:
    """P14: 25 means and sample standard deviations, 11 means of columns, with the one cell that must be 98."""
    wide, means = _swedish()
    rows = category_table(_points(wide)).set_index("category")
    assert (rows["mean"] - means["mean"]).dropna().abs().max() <= 0.05 + 1e-9
    assert (rows["sd"] - means["sd"]).dropna().abs().max() <= 0.05 + 1e-9
    assert len(rows) == 25
    assert (rows[list(wide)].mean() - wide.loc["Avg"]).abs().max() <= 0.05 + 1e-9


def test_the_cell_of_table_2_as_printed_agrees_with_nothing_around_it() -> None:
    wide, means = _swedish(as_printed=True)
    table = category_table(_points(wide)).set_index("category")
    row = table.loc["ART. NOUN AGR. PL."]
    assert (round(row["mean"], 1), means.loc["ART. NOUN AGR. PL.", "mean"]) == (81.1, 81.3)
    assert (round(table["Llama-SV 8B"].mean(), 1), wide.loc["Avg", "Llama-SV 8B"]) == (76.9, 77.0)


def test_the_overall_deviation_of_table_2_is_of_the_population_while_rows_have_the_sample_s() -> None:
    wide, means = _swedish()
    models = category_table(_points(wide))[list(wide)].mean()
    assert (models.mean(), models.std(ddof=0)) == (pytest.approx(65.0, abs=0.05), pytest.approx(8.9, abs=0.05))
    assert means.loc["Avg", ["mean", "sd"]].tolist() == [65.0, 8.9]
    assert round(models.std(ddof=1), 1) == 9.3


def test_human_judgments_of_table_2() -> None:
    """P14c: 98.05 % of 4,000 answers, 160 a category."""
    human = _swedish()[1]["human"]
    right = (human.drop("Avg") * 160 / 100).round()
    assert right.sum() == 3922
    assert human["Avg"] == pytest.approx(100 * right.sum() / 4000)


def test_counts_of_swe_blimp_s_section_6() -> None:
    wide, _ = _swedish()
    rows = category_table(_points(wide))
    assert ((rows["mean"] > 80).sum(), (rows["mean"] > 70).sum()) == (4, 12)
    leads = leads_or_ties(wide.drop(index="Avg"))
    assert leads[["Llama-SV 8B", "EuroLLM 9B"]].tolist() == [13, 5]
    assert leads_or_ties(_swedish(as_printed=True)[0].drop(index="Avg"))["Llama-SV 8B"] == 12


def test_two_numbers_of_the_text_are_not_those_of_table_2() -> None:
    """P14e: the text has V3 OBJ. at 44.3 and ADJ. NOUN AGR. INDEF. at 54.0 (sd 8.6), which is another category's."""
    rows = category_table(_points(_swedish()[0])).set_index("category")
    assert rows.loc["V3 OBJ.", "mean"] == pytest.approx(45.5, abs=0.05)
    assert rows.loc["ADJ. NOUN AGR. INDEF.", ["mean", "sd"]].round(1).tolist() == [60.6, 7.2]
    assert rows.loc["ART. NOUN AGR. INDEF.", ["mean", "sd"]].round(1).tolist() == [54.0, 8.6]


def test_models_that_were_not_scored_on_all_benchmarks_have_no_mean() -> None:
    points = pd.DataFrame({"model": ["a", "a", "b"], "benchmark": ["x", "y", "x"], "accuracy": [0.6, 0.8, 0.9]})
    table = benchmark_table(points).set_index("model")
    assert table.loc["a", "mean"] == pytest.approx(0.7)
    assert np.isnan(table.loc["b", "mean"])


def test_phenomena_of_several_benchmarks_are_matched_and_pooled() -> None:
    points = pd.DataFrame([
        ("m", "x", "one", 100, 0.5), ("m", "x", "two", 300, 0.9), ("m", "y", "three", 10, 0.6), ("m", "y", "no", 10, 0),
    ], columns=["model", "benchmark", "phenomenon", "n", "accuracy"])  # fmt: skip
    matches = pd.DataFrame(
        [
            ("agreement", "x", "one"),
            ("agreement", "x", "two"),
            ("agreement", "y", "three"),
            ("agreement", "z", "four"),
        ],
        columns=["match", "benchmark", "phenomenon"],
    )
    table = matched_phenomena(points, matches)
    assert table["accuracy"].tolist() == pytest.approx([0.8, 0.6])
    assert table["n"].tolist() == [400, 10]
    gaps = largest_gaps(table)
    assert gaps["gap"].tolist() == pytest.approx([0.2])
    assert gaps["benchmarks"].tolist() == [2]
