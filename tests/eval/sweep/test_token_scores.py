"""Log probabilities of tokens in a run folder: scored when asked for, kept, checked and dropped."""

import numpy as np
import pandas as pd
import pytest

from ucurve.errors import DamagedError, RunError
from ucurve.eval.run import score_run
from ucurve.eval.settings import score_settings
from ucurve.eval.store.scores import write_scores
from ucurve.eval.store.tokens import read_sentences, read_tokens
from ucurve.eval.sweep.load import SweepCache
from ucurve.eval.verify import verify_scores
from ucurve.storage.score_key import read_key
from ucurve.storage.sealed import KEY


@pytest.fixture
def root(tmp_path, records, write_benchmark):
    return write_benchmark(tmp_path / "benchmarks", records[:60])


@pytest.fixture
def cache():
    return SweepCache()


@pytest.fixture
def score(run, root, cache):
    def score(steps=(8,), **settings):
        score_run(run, score_settings(benchmarks=("zhoblimp",), benchmark_root=root, **settings), steps, cache)
        loaded = {name: times for name, times in cache.made.items() if name.startswith("model")}
        cache.made.clear()
        return loaded

    return score


def place(run, name):
    (path,) = (run / "eval" / "zhoblimp").rglob(name)
    return path


LOADED = {"model step00000008": 1}
FILES = ["tokens-step00000008.parquet", "sentences-*.parquet"]


def test_values_are_of_float32_and_add_up_to_the_scores(run, score):
    score((0, 8), tokens=True)
    for step in (0, 8):
        found = read_tokens(run, "zhoblimp", "sentence", step)
        sentences = read_sentences(run, "zhoblimp", found.sentences)
        scores = pd.read_parquet(place(run, f"step0000000{step}.parquet"))
        sums = np.add.reduceat(found.values, sentences.starts[:-1])
        for side in ("good", "bad"):
            assert scores[f"lp_{side}"].to_numpy() == pytest.approx(sums[sentences.members[side]], abs=1e-4)
        assert (found.values == found.values.astype(np.float32)).all()
    assert len(list((run / "eval" / "zhoblimp").glob("sentences-*"))) == 1


def test_scored_again_for_tokens_and_not_the_other_way_round(run, score):
    assert score() == LOADED
    path = place(run, "step00000008.parquet")
    pairs, key = path.read_bytes(), KEY.read(path.with_suffix(".json"))
    accuracy = (run / "eval" / "accuracy.csv").read_bytes()
    assert read_tokens(run, "zhoblimp", "sentence", 8) is None
    assert score(tokens=True) == LOADED
    after = KEY.read(path.with_suffix(".json"))
    facts = after.pop("token_scores")
    assert (path.read_bytes(), after, (run / "eval" / "accuracy.csv").read_bytes()) == (pairs, key, accuracy)
    assert not facts["words"]
    assert read_tokens(run, "zhoblimp", "sentence", 8) is not None
    assert score(tokens=True) == score() == {}
    assert verify_scores(run) == []


def test_both_at_once_are_what_one_after_the_other_is(run, score):
    score()
    score(tokens=True)
    one_by_one = place(run, FILES[0]).read_bytes()
    place(run, "step00000008.json").unlink()
    assert score(tokens=True) == LOADED
    assert place(run, FILES[0]).read_bytes() == one_by_one


def test_scores_that_differ_from_the_stored_ones_are_an_error(run, score):
    score()
    path = place(run, "step00000008.parquet")
    changed = pd.read_parquet(path)
    changed.loc[3, "lp_bad"] -= 0.5
    write_scores(path, changed, read_key(path), "model", {})
    with pytest.raises(RunError, match=r"step00000008.parquet: the scores of pair 3 differ .* by 0.5 nats"):
        score(tokens=True)
    assert read_tokens(run, "zhoblimp", "sentence", 8) is None


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", ["changed", "missing"])
def test_damage_is_named_and_mended(run, score, capsys, name, harm):
    score(tokens=True)
    path = place(run, name)
    whole = path.read_bytes()
    damage(path, harm)
    faults = verify_scores(run)
    assert any(str(path) in fault for fault in faults)
    assert any("tokens=true scores it again" in fault for fault in faults)
    with pytest.raises(DamagedError, match=path.name):
        read_tokens(run, "zhoblimp", "sentence", 8)
    capsys.readouterr()
    assert score(tokens=True) == LOADED
    assert "it is scored again" in capsys.readouterr().err
    assert path.read_bytes() == whole
    assert verify_scores(run) == []


def damage(path, harm):
    if harm == "missing":
        path.unlink()
    else:
        before = path.read_bytes()
        path.write_bytes(before[:50] + bytes([before[50] ^ 1]) + before[51:])


@pytest.mark.parametrize("harm", ["changed", "missing"])
def test_damaged_values_that_nobody_asks_for_are_deleted(run, score, capsys, harm):
    score(tokens=True)
    path = place(run, FILES[0])
    damage(path, harm)
    assert score() == {}
    assert f"{path}" in (said := capsys.readouterr().err)
    assert "it is deleted" in said
    assert not path.exists()
    assert verify_scores(run) == []
    assert read_tokens(run, "zhoblimp", "sentence", 8) is None


def test_a_file_that_no_key_names_is_a_fault_and_goes(run, score):
    score(tokens=True)
    tokens, key = place(run, FILES[0]), place(run, "step00000008.json")
    record = KEY.read(key)
    record.pop("token_scores")
    KEY.write(key, record)
    assert verify_scores(run) == [
        f"{tokens}: the key beside the scores does not name it; python score.py ... tokens=true scores it again; "
        "without tokens=true, score.py drops the file"
    ]
    score()
    assert verify_scores(run) == []


def test_other_weights_have_other_tokens(run, score, make_model, write_checkpoint):
    score(tokens=True)
    path = place(run, FILES[0])
    write_checkpoint(run / "checkpoints" / "step00000008", make_model(seed=99), 8)
    assert score() == LOADED
    assert not path.exists()
    assert verify_scores(run) == []


def test_other_pairs_have_other_sentences(run, score, root, records, write_benchmark):
    score(tokens=True)
    before = place(run, FILES[1])
    write_benchmark(root, records[:40])
    score(tokens=True)
    assert not before.exists()
    assert len(read_sentences(run, "zhoblimp", place(run, FILES[1]).name).members) == 40
    assert verify_scores(run) == []
