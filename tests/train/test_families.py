"""Models are trained as by a plain loop over the library's; all families: ``python -m tests.train.families FOLDER``."""

import json

import pytest

from tests.train.families import (
    WAYS,
    WITHIN,
    WITHIN_IN_FLOAT64,
    engine_losses_in_float64,
    float64_in,
    largest_difference,
    plain_losses,
    run_losses,
)
from tests.train.launching import finish, start

MODELS = ["gpt2-14m", "mamba-14m", "lstm-14m", "bert-14m"]  # tied matrices, a scan, a model of ours, masks


@pytest.mark.long
def test_small_models_train_as_a_plain_loop_in_one_process_and_two(tmp_path):
    options = [str(tmp_path), "--tiny", "--steps", "10", "--models", *MODELS]
    codes, (error,) = finish(start(["-m", "tests.train.families", *options]))
    assert codes == [0], error
    found = [json.loads(line) for line in error.splitlines() if line.startswith("{")]
    assert len(found) == len(MODELS)
    for facts in found:
        assert set(facts["apart"]) == {*WAYS}
        assert max(facts["apart"].values()) <= WITHIN
        assert facts["last"] < facts["first"]
    assert (tmp_path / "figures/report.html").is_file()
    (run,) = tmp_path.glob("one/gpt2-14m-*")
    in_float64, _ = plain_losses(run, float64_in)
    assert largest_difference(engine_losses_in_float64(run), in_float64) <= WITHIN_IN_FLOAT64
    assert largest_difference(run_losses(run), in_float64) > WITHIN_IN_FLOAT64, "which float32 cannot reach"
