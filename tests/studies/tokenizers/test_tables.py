from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from studies.dips import LinkingShapes, dip_table, named_orders
from studies.tokenizers.alpha import alpha_changes, alpha_over_seeds
from studies.tokenizers.at_equal_loss import (
    accuracy_at_levels,
    compare_at_levels,
    first_learners,
    onsets_in_bits,
)
from tests.facts import run_facts
from ucurve.analysis.data.runs import Run
from ucurve.analysis.lines.over_seeds import (
    contrast,
    differences_between,
    mean_over_seeds,
    moderate,
    moderate_table,
    p_of_contrast,
)
from ucurve.analysis.shape.tables import Shapes

FROM_START = 9.0


def onsets(**by_tokenizer):
    table = pd.DataFrame([
        {"run": f"{name}{seed}", "tokenizer": name, "phenomenon": "passive", "onset": 1.0, "bits_per_byte": bits,
         "from_start": bits == FROM_START}
        for name, values in by_tokenizer.items() for seed, bits in enumerate(values)
    ])  # fmt: skip
    return table.assign(bits_per_byte=table["bits_per_byte"].where(~table["from_start"]))


@pytest.mark.parametrize(("values", "first"), [
    ({"char": [3.0, 2.9, 2.8], "word": [2.7, 2.6, 2.5], "bpe": [2.0, np.nan, 2.0]}, "char"),
    ({"char": [3.0, 2.9, 2.8], "word": [2.85, 2.6, 2.5], "bpe": [2.0, 2.1, 2.0]}, ""),  # one seed is between
    ({"char": [3.0, 2.9, np.nan], "word": [2.7, 2.6, 2.5], "bpe": [2.0, 2.1, 2.0]}, ""),  # one never learns it
    ({"char": [3.0, 2.9, 2.8], "word": [2.0, 2.1, 2.0], "bpe": [FROM_START] * 3}, ""),  # no one knows when bpe did
    ({"char": [3.0, 2.9, 2.8]}, ""),  # nothing to be before
])  # fmt: skip
def test_a_tokenizer_is_first_when_all_its_seeds_are(values, first):
    [row] = first_learners(onsets(**values), list(values)).to_dict("records")
    assert row["first"] == first
    assert row["char_runs"] == np.isfinite(values["char"]).sum()
    if len(values) == 3:
        assert row["chance"] == pytest.approx(3 / 84)


def test_no_tokenizer_is_first_where_one_has_no_curve():
    [row] = first_learners(onsets(char=[3.0, 2.9, 2.8], word=[2.7, 2.6, 2.5]), ["char", "bpe", "word"]).to_dict(
        "records"
    )
    assert (row["first"], row["bpe_runs"], row["bpe_from_start"]) == ("", 0, 0)
    assert np.isnan([row["bpe"], row["chance"]]).all()


def test_chance_is_the_share_of_orders_of_runs_that_put_one_tokenizer_first():
    random = np.random.default_rng(0)
    names = ["a", "b", "c"]
    found = [
        first_learners(onsets(**dict(zip(names, random.random((3, 3)), strict=True))), names)["first"].iloc[0]
        != ""
        for _ in range(200)
    ]
    assert np.mean(found) == pytest.approx(3 / 84, abs=0.04)


def test_a_curve_above_the_threshold_at_the_first_checkpoint_has_no_bits_at_its_onset():
    bits = pd.DataFrame({"run": ["a"] * 3, "tokens": [10.0, 100.0, 1000.0], "bits_per_byte": [5.0, 4.0, 3.0]})
    found = pd.DataFrame({"name": ["a"] * 3, "phenomenon": ["x", "y", "z"], "onset": [10.0, 10**1.5, np.nan]})
    rows = pd.DataFrame({"run": ["a"] * 3, "tokens": [0.0, 10.0, 100.0]})
    table = onsets_in_bits(found, rows, bits, [studied_run("a", "char")])
    assert table["from_start"].tolist() == [True, False, False]
    assert table["bits_per_byte"].tolist() == pytest.approx([np.nan, 4.5, np.nan], nan_ok=True)


def studied_run(label, tokenizer):
    return Run(Path(label), label, saved=(), facts=run_facts(tokenizer=tokenizer))


def at_levels(**by_tokenizer):
    return pd.DataFrame([
        {"bits_per_byte": 2.5, "phenomenon": phenomenon, "tokenizer": name, "run": f"{name}{seed}", "tokens": 1.0,
         "accuracy": accuracy}
        for name, phenomena in by_tokenizer.items() for phenomenon, values in phenomena.items()
        for seed, accuracy in enumerate(values)
    ])  # fmt: skip


def test_differences_at_a_level_have_moderated_variances_and_holm_over_phenomena():
    sides = {"passive": ([0.9, 0.91, 0.92], [0.5, 0.52, 0.51]), "BA": ([0.5, 0.6, 0.7], [0.5, 0.61, 0.72])}
    found = at_levels(**{
        name: {key: values[place] for key, values in sides.items()} | {"all": values}
        for place, (name, values) in enumerate({"char": [0.7, 0.72, 0.74], "word": [0.6, 0.61, 0.65]}.items())
    })  # fmt: skip
    table = differences_between(found, ["bits_per_byte"], "tokenizer").set_index("phenomenon")
    cells = moderate([values for pair in sides.values() for values in pair])
    plain = {name: p_of_contrast(cells[2 * place : 2 * place + 2], [1, -1]) for place, name in enumerate(sides)}
    assert table["p"][list(plain)].to_dict() == pytest.approx(plain)
    assert table.loc["passive", "p_holm"] == pytest.approx(2 * plain["passive"])
    assert table.loc["BA", "p_holm"] == pytest.approx(plain["BA"])
    assert table.loc["all", "p_holm"] == table.loc["all", "p"]  # a family apart
    assert (table.loc["passive", "difference"], table.loc["passive", "of"]) == (pytest.approx(0.4), "char - word")


def test_means_and_deviations_say_of_levels_what_the_runs_do():
    found = at_levels(
        char={
            "all": [0.7, 0.72, 0.74],
            "BA": [0.5, 0.6, np.nan],
            "passive": [0.9, 0.91, 0.92],
            "x": [0.1, 0.2, 0.4],
        },
        word={
            "all": [0.6, 0.61, 0.65],
            "BA": [0.4, np.nan, np.nan],
            "passive": [0.2, 0.2, 0.2],
            "x": [0.3, 0.3, 0.5],
        },
    )
    means = accuracy_at_levels(found)
    assert means["runs"].tolist() == [3, 2, 3, 3, 3, 1, 3, 3]
    made = compare_at_levels({"accuracy_at_equal_loss": means})
    of_runs = differences_between(found, ["bits_per_byte"], "tokenizer")
    pd.testing.assert_frame_equal(made["differences_at_equal_loss"], of_runs, check_exact=False, rtol=1e-9)
    cells = moderate_table(found, ["bits_per_byte", "phenomenon", "tokenizer"])
    bounds = [contrast([seeds], [1.0])[1:] for seeds in cells.values()]
    averages = made["accuracy_at_equal_loss"]
    np.testing.assert_allclose(averages[["low", "high"]], np.clip(bounds, 0, 1))
    assert averages[["low", "high"]].isna().any(axis=1).tolist() == [False] * 5 + [True] + [False] * 2
    pd.testing.assert_frame_equal(
        compare_at_levels({"accuracy_at_equal_loss": averages})["accuracy_at_equal_loss"], averages
    )


def test_seeds_that_are_all_alike_are_not_tested():
    [row] = differences_between(
        at_levels(char={"BA": [0.5, 0.5]}, word={"BA": [0.4, 0.4]}), ["bits_per_byte"], "tokenizer"
    ).to_dict("records")
    assert row["difference"] == pytest.approx(0.1)
    assert np.isnan(row["p"])
    assert np.isnan(row["p_holm"])


def test_the_slope_of_the_best_alpha_is_over_the_last_decade():
    tokens = np.array([1e3, 1e5, 10**5.5, 1e6])
    alphas = pd.DataFrame([
        {"run": f"{name}{seed}", "tokenizer": name, "step": place, "tokens": count, "alpha_accuracy": 0.5,
         "alpha_delta_acc": 9.0 if count < 1e5 else 1 - slope * (np.log10(count) - 5) + 0.01 * seed}
        for name, slope in (("char", 0.4), ("word", 0.1)) for seed in range(3) for place, count in enumerate(tokens)
    ])  # fmt: skip
    table = alpha_changes(alphas).set_index(["criterion", "of"])
    assert table.loc[("delta_acc", "char"), "slope"] == pytest.approx(-0.4)
    assert table.loc[("delta_acc", "char - word"), "slope"] == pytest.approx(-0.3)
    assert table.loc[("delta_acc", "all"), "slope"] == pytest.approx(-0.25)
    assert table.loc[("delta_acc", "char"), "end"] == pytest.approx(0.61)
    assert table.loc[("accuracy", "word"), "slope"] == pytest.approx(0, abs=1e-9)
    last = alpha_over_seeds(alphas).query("criterion == 'delta_acc' and tokenizer == 'char'").iloc[-1]
    assert (last["runs"], last["tokens"]) == (3, 1e6)
    assert last["alpha"] == pytest.approx(0.61)


def test_the_interval_of_an_alpha_stays_on_the_grid_and_that_of_a_difference_is_whole():
    alphas = pd.DataFrame([
        {"run": f"{name}{seed}", "tokenizer": name, "step": 1, "tokens": 10.0, "alpha_accuracy": 0.5,
         "alpha_delta_acc": best}
        for name, seeds in (("char", (0.9, 1.0, 1.0)), ("word", (0.0, 0.05, 0.0))) for seed, best in enumerate(seeds)
    ])  # fmt: skip
    ends = alpha_changes(alphas).query("criterion == 'delta_acc'").set_index("of")
    assert ends.loc["char", ["end_low", "end_high"]].tolist() == pytest.approx(
        [mean_over_seeds([0.9, 1.0, 1.0]).low, 1]
    )
    assert ends.loc["word", "end_low"] == 0
    assert ends.loc["char - word", "end_high"] > 1
    last = alpha_over_seeds(alphas).query("criterion == 'delta_acc'").set_index("tokenizer")
    for bound in ("low", "high"):
        assert last[bound].to_dict() == pytest.approx(ends.loc[["char", "word"], f"end_{bound}"].to_dict())


def shapes(*classes):
    rows = [
        {"line": line, "phenomenon": phenomenon, "class": name, "shape": name, "runs": 3, "dip": 0.05, "variation": "items",
         "class_these_runs": these, "class_these_pairs": "not tested", "p": 0.5, "p_u": 0.005,
         "holm_u": 0.01 if name == "U-shaped" else 0.9, "dip_depth_low": 0.02, "dip_depth_high": 0.08, "dip_start": 10.0, "dip_place": 100.0, "dip_end": 1000.0}
        for line, phenomenon, name, these in classes
    ]  # fmt: skip
    return Shapes(pd.DataFrame(rows), *[pd.DataFrame()] * 3, notes=(), estimates={})


def test_a_dip_is_listed_with_what_it_is_under_every_linking_function():
    nothing = shapes(("b", "passive", "rising", "rising"))
    found = {
        "lp": LinkingShapes(
            shapes(("a", "passive", "U-shaped", "U-shaped"), ("b", "passive", "rising", "rising")),
            shapes(("a0", "passive", "U-shaped", ""), ("a1", "passive", "U-shaped", ""), ("a2", "passive", "flat", "")),
        ),
        "slor": LinkingShapes(
            shapes(("a", "passive", "flat", "U-shaped"), ("b", "passive", "rising", "rising")), nothing
        ),
    }  # fmt: skip
    lines, runs = {"a": "char", "b": "word"}, {"a0": "char", "a1": "char", "a2": "char"}
    table = dip_table(found, lines, runs)
    columns = ["tokenizer", "phenomenon", "linking", "shape", "runs_with_dip", "in_these_runs", "stands"]
    assert table[columns].to_numpy().tolist() == [
        ["char", "passive", "lp", "U-shaped", 2, True, True], ["char", "passive", "slor", "flat", 0, True, False],
    ]  # fmt: skip
    assert table["depth"].tolist() == [0.05, 0.05]
    assert dip_table({"lp": LinkingShapes(nothing, nothing)}, lines, runs).empty


def test_a_dip_of_one_run_alone_is_listed_without_a_depth_of_the_mean():
    found = LinkingShapes(shapes(("a", "passive", "flat", "flat")), shapes(("a0", "passive", "U-shaped", "")))
    [row] = dip_table({"lp": found}, {"a": "char"}, {"a0": "char"}).to_dict("records")
    assert (row["runs_with_dip"], row["in_these_runs"], row["stands"]) == (1, False, False)
    assert np.isnan(row["depth"])


def test_named_orders_are_counted_once_for_each_dip_of_a_run():
    accounts = pd.DataFrame(
        [
            ("char", "s0", "passive", "lp", 1, True, 0.9), ("char", "s0", "passive", "lp", 2, False, 1.5),
            ("char", "s1", "passive", "lp", 1, False, 0.1), ("char", "s1", "passive", "lp", 2, False, 0.3),
            ("char", "s1", "passive", "slor", 1, True, 0.8), ("char", "all runs", "passive", "lp", 1, True, 0.9),
        ],
        columns=["tokenizer", "of", "phenomenon", "linking", "order", "named", "share"],
    )  # fmt: skip
    [row] = named_orders(accounts).to_dict("records")
    assert (row["dips"], row["runs"], row["linking_functions"], row["named"]) == (3, 2, 2, 2)
    assert row["orders"] == "1-gram 2"
    assert row["share"] == pytest.approx(0.8)  # of .9, .3 and .8
    assert named_orders(accounts.head(0)).empty


def test_only_checkpoints_of_all_runs_of_a_tokenizer_are_averaged():
    alphas = pd.DataFrame([
        {"run": f"{name}{seed}", "tokenizer": name, "step": step, "tokens": 10.0 * step, "alpha_accuracy": 0.5,
         "alpha_delta_acc": 0.5}
        for name, seed, step in (("char", 0, 1), ("char", 0, 2), ("char", 1, 2), ("word", 0, 1))
    ])  # fmt: skip
    table = alpha_over_seeds(alphas).query("criterion == 'accuracy'")
    assert table[["tokenizer", "step", "runs"]].to_numpy().tolist() == [["char", 2, 2], ["word", 1, 1]]
