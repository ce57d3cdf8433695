from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.analysis.scored import chances, make_pairs, make_scores, write_scored
from tests.settings import analyze_settings
from ucurve.analysis.data.last_scores import ModelScores, group_languages, load_last_scores
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.data.study import Study, read_study
from ucurve.analysis.models.categories import with_tests
from ucurve.errors import UserError
from ucurve.eval.store.scores import pairs_path, score_path

PARADIGMS = {"passive": "voice", "active": "voice", "ba": "BA"}


def _study(root: Path, **changes) -> Study:
    settings = analyze_settings(**({"runs": f"{root}/m*", "out": "out", "linking": "lp"} | changes))
    return read_study(find_runs(settings.runs), settings)


def _only(root: Path) -> ModelScores:
    (scored,) = _study(root).benchmarks()
    last = load_last_scores(scored)
    assert last is not None
    return last


def test_accuracies_are_those_of_accuracy_csv(tmp_path: Path) -> None:
    pairs = make_pairs("zho", PARADIGMS)
    for place, share in enumerate((0.6, 0.9)):
        write_scored(tmp_path / f"m{place}", pairs, make_scores(chances(pairs, share, place)))
    last = _only(tmp_path)
    assert last.models == ["m0", "m1"]
    for model in last.models:
        table = pd.read_csv(tmp_path / model / "eval" / "accuracy.csv").query(
            "linking == 'lp' and split == 'all'"
        )
        columns = ["n", "clusters", "accuracy", "ci_low", "ci_high", "exact_low", "exact_high"]
        for ours, rows in (
            (last.points, table["paradigm"].isin(PARADIGMS)),
            (last.phenomena, table["paradigm"] == "all"),
        ):
            theirs = table[rows & (table["phenomenon"] != "all")]
            theirs = theirs.set_index(theirs["paradigm"].where(theirs["paradigm"] != "all", theirs["phenomenon"]))
            found = with_tests(ours.query("model == @model")).set_index("suite").loc[theirs.index]
            np.testing.assert_allclose(found[columns].to_numpy(float), theirs[columns].to_numpy(float), rtol=1e-9)


def test_certainty_is_summed_and_per_token_by_name(tmp_path: Path) -> None:
    pairs = make_pairs("zho", {"passive": "voice"}, each=2)
    scores = make_scores(np.array([True, False])).assign(
        lp_good=[-10.0, -6.0], lp_bad=[-12.0, -3.0], n_good=[5, 3], n_bad=[4, 3]
    )
    write_scored(tmp_path / "m", pairs, scores)
    point = _only(tmp_path).points.iloc[0]
    assert point["delta_lp"] == pytest.approx((2 - 3) / 2)
    assert point["delta_nll"] == pytest.approx(((12 / 4 - 10 / 5) + (3 / 3 - 6 / 3)) / 2)


def test_the_last_checkpoint_is_read_and_identical_pairs_do_not_count(tmp_path: Path) -> None:
    pairs = make_pairs("zho", {"passive": "voice"}, each=4)
    pairs.loc[3, "bad"] = pairs.loc[3, "good"]
    for step, right in ((0, [False] * 4), (8, [True, True, False, True])):
        write_scored(tmp_path / "m", pairs, make_scores(np.array(right)), step=step)
    last = _only(tmp_path)
    assert last.credit["m"].tolist() == [1, 1, 0]
    assert len(last.pairs) == len(last.scores["m"]) == 3


def test_models_without_scores_or_with_other_pairs_are_named(tmp_path: Path) -> None:
    pairs = make_pairs("zho", PARADIGMS)
    for name in ("m0", "m1", "m2"):
        write_scored(tmp_path / name, pairs, make_scores(chances(pairs, 0.8, 0)))
    score_path(tmp_path / "m1", "zho", "sentence", -1).unlink()
    pairs.assign(good="another").to_parquet(pairs_path(tmp_path / "m2", "zho"))
    last = _only(tmp_path)
    assert last.models == ["m0"]
    assert last.left_out == ("m1", "m2")


def test_a_study_of_accuracies_alone_has_no_judgments(tmp_path: Path) -> None:
    pairs = make_pairs("zho", PARADIGMS)
    write_scored(tmp_path / "m", pairs, make_scores(chances(pairs, 0.8, 0)))
    score_path(tmp_path / "m", "zho", "sentence", -1).unlink()
    (scored,) = _study(tmp_path).benchmarks()
    assert load_last_scores(scored) is None
    assert load_last_scores(scored, "mean_lp") is None


def test_a_broken_or_partial_file_is_named(tmp_path: Path) -> None:
    pairs = make_pairs("zho", PARADIGMS)
    write_scored(tmp_path / "m", pairs, make_scores(chances(pairs, 0.8, 0)))
    path = score_path(tmp_path / "m", "zho", "sentence", -1)
    make_scores(chances(pairs, 0.8, 0)).head(50).to_parquet(path)
    with pytest.raises(UserError, match=r"scores of 50 of the 180 pairs; score it again"):
        _only(tmp_path)
    path.write_bytes(b"no parquet")
    with pytest.raises(UserError, match=rf"{path}: broken Parquet"):
        _only(tmp_path)


def test_languages_are_grouped_by_benchmark_and_scorer(tmp_path: Path) -> None:
    for name in ("tse/eus", "tse/hin", "blimp"):
        pairs = make_pairs(name, PARADIGMS, each=5)
        write_scored(tmp_path / "m", pairs, make_scores(chances(pairs, 0.8, 0)))
    groups = list(group_languages(_study(tmp_path)))
    assert [(group.family, list(group.by_language)) for group in groups] == [
        ("blimp", [""]),
        ("tse", ["eus", "hin"]),
    ]
    assert groups[1].title.startswith("tse, ")


def test_stored_files_are_read_once_and_equal_pairs_are_one_table(tmp_path: Path) -> None:
    pairs = make_pairs("zho", PARADIGMS)
    for name in ("m0", "m1"):
        write_scored(tmp_path / name, pairs, make_scores(chances(pairs, 0.8, 0)))
    study = _study(tmp_path)
    (scored,) = study.benchmarks()
    first = scored.last_scores("lp")
    assert first[0].pairs is first[1].pairs
    for name in ("m0", "m1"):
        score_path(tmp_path / name, "zho", "sentence", -1).unlink()
    (again,) = study.benchmarks()
    assert all(one.scores is two.scores for one, two in zip(again.last_scores("lp"), first, strict=True))


def test_pairs_that_were_changed_are_refused_though_another_run_has_them(tmp_path: Path) -> None:
    pairs = make_pairs("zho", PARADIGMS)
    for name in ("m0", "m1"):
        write_scored(tmp_path / name, pairs, make_scores(chances(pairs, 0.8, 0)))
    other = pairs_path(tmp_path / "m1", "zho")
    other.write_bytes(other.read_bytes()[:-1])
    (scored,) = _study(tmp_path).benchmarks()
    with pytest.raises(UserError, match=rf"{other}: broken Parquet"):
        scored.last_scores("lp")
