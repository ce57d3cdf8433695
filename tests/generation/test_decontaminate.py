import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.facts import store_scores
from tests.settings import filter_settings
from ucurve.errors import UserError
from ucurve.eval.store.scores import keep_pairs
from ucurve.generation.decontaminate import filtered, read_familiarity, threshold
from ucurve.generation.maker import Chooser, Drawn, Listed, Made
from ucurve.templates.pair import Pair

GOODS = [f"good {number}" for number in range(12)]


@pytest.fixture
def scored(tmp_path):
    """A function that makes a folder of stored scores of one model: MIN-K% PROB by good sentence."""

    def make(name, values, scorer="mink", steps=(-1,)):
        folder = tmp_path / name
        rows = len(values)
        pairs = pd.DataFrame(
            {"benchmark": "pool", "language": "und", "paradigm": "p", "phenomenon": "f", "pair": np.arange(rows),
             "good": list(values), "bad": [f"not {good}" for good in values]}
        )  # fmt: skip
        keep_pairs(folder, pairs)
        for step in steps:
            values_here = [value - (step != max(steps)) * 100 for value in values.values()]
            table = pd.DataFrame({"pair": np.arange(rows), "mink60_good": values_here})
            store_scores(folder, "pool", scorer, step, table)
        return folder

    return make


def listed(goods=GOODS):
    return Made(
        paradigms=[Listed(name="p", phenomenon="f", candidates=[Pair(good, "bad") for good in goods])], card={}
    )


@given(st.lists(st.lists(st.floats(-9, 0), min_size=3, max_size=3), min_size=1, max_size=12), st.integers(1, 12))
def test_exactly_so_many_pass_the_threshold_for_every_model(values, wanted):
    scores = dict(zip(GOODS, values, strict=False))
    highest = {good: max(models) for good, models in scores.items()}
    familiarity = highest
    [paradigm] = filtered(listed(list(scores)), familiarity).paradigms
    outcome = Chooser(wanted, 0).choose(paradigm)
    kept = {pair.good for pair in outcome.pairs}
    most = threshold(outcome, familiarity)
    assert len(kept) == min(wanted, len(scores))
    assert all(value <= most for good in kept for value in scores[good])
    assert all(max(scores[good]) >= most for good in set(scores) - kept)


def test_scores_of_causal_and_masked_models_and_the_last_checkpoint(scored):
    one = scored("one", dict.fromkeys(GOODS, -5.0) | {"good 3": -1.0}, steps=(0, 64))
    two = scored("two", dict.fromkeys(GOODS, -4.0) | {"good 5": -2.0}, scorer="pll_mink")
    found = read_familiarity(filter_settings(scores=(one, two)))
    assert found == dict.fromkeys(GOODS, -4.0) | {"good 3": -1.0, "good 5": -2.0}


def test_a_sentence_that_a_model_has_not_scored(scored):
    one, two = scored("one", dict.fromkeys(GOODS, -5.0)), scored("two", dict.fromkeys(GOODS[:-1], -5.0))
    message = r"filter.scores: 1 of 12 candidates of p are not scored by every model, such as 'good 11'"
    with pytest.raises(UserError, match=message):
        filtered(listed(), read_familiarity(filter_settings(scores=(one, two))))


def test_what_cannot_be_filtered(scored, tmp_path):
    drawn = Made(paradigms=[Drawn(name="p", phenomenon="f", draw=lambda rng: Pair("a", "b"))], card={})
    with pytest.raises(UserError, match="the pairs of p are drawn and not chosen from a list"):
        filtered(drawn, {})
    with pytest.raises(UserError, match=r"filter.scores: no folder .*nix"):
        read_familiarity(filter_settings(scores=(tmp_path / "nix",)))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"no scores of the scorer mink or pll_mink in .*empty/eval"):
        read_familiarity(filter_settings(scores=(tmp_path / "empty",)))
    folder = scored("one", dict.fromkeys(GOODS, -5.0))
    message = r"filter.percent: no column mink40_good in the scores of .*; there are mink60_good"
    with pytest.raises(UserError, match=message):
        read_familiarity(filter_settings(scores=(folder,), percent=40))


def test_the_command_keeps_the_least_familiar_pairs(scored, tmp_path, run_command):
    pool = tmp_path / "pool"
    pool.mkdir()
    lines = [
        f'{{"UID": "p", "phenomenon": "f", "sentence_good": "{good}", "sentence_bad": "x"}}\n' for good in GOODS
    ]
    (pool / "p.jsonl").write_text("".join(lines))
    (pool / "card.yaml").write_text("name: pool\nlanguage: eng\ncolumns: {paradigm: UID}\nlicense: CC0-1.0\n")
    folder = scored("model", {good: -float(number) for number, good in enumerate(GOODS)})
    given = [
        "source=folder",
        f"benchmark={pool}",
        f"out={tmp_path / 'kept'}",
        "pairs=3",
        f"filter.scores=[{folder}]",
    ]
    assert run_command("generate", *given)[0] == 0
    kept = pd.read_json(tmp_path / "kept" / "p.jsonl", lines=True)
    assert list(kept["sentence_good"]) == ["good 11", "good 10", "good 9"]
    report = pd.read_json(tmp_path / "kept" / "report.json", typ="series")
    assert report["paradigms"][0]["threshold"] == -9
    assert "license: CC0-1.0" in (tmp_path / "kept" / "card.yaml").read_text()


def test_pairs_of_a_folder_keep_a_value_that_is_missing(tmp_path, run_command):
    pool = tmp_path / "pool"
    pool.mkdir()
    pairs = [{"UID": "p", "phenomenon": "f", "sentence_good": good, "sentence_bad": "x"} for good in GOODS]
    lines = [
        json.dumps(pair | ({"level": None, "note": None} if at else {"level": 3, "note": "first"}))
        for at, pair in enumerate(pairs)
    ]
    (pool / "p.jsonl").write_text("\n".join([*lines, ""]))
    (pool / "card.yaml").write_text(
        "name: pool\nlanguage: eng\ncolumns: {paradigm: UID, level: level, note: note}\n"
    )
    given = ["source=folder", f"benchmark={pool}", f"out={tmp_path / 'kept'}", "pairs=all"]
    assert run_command("generate", *given)[0] == 0
    kept = [json.loads(line) for line in (tmp_path / "kept" / "p.jsonl").read_text().splitlines()]
    assert {row["sentence_good"]: (row["level"], row["note"]) for row in kept} == dict.fromkeys(
        GOODS, (None, None)
    ) | {GOODS[0]: (3, "first")}
