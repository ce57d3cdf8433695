import json

import pytest

from ucurve.errors import UserError
from ucurve.eval.run import score_model
from ucurve.eval.settings import score_settings


@pytest.fixture
def score(tmp_path, records, write_benchmark, make_model, write_checkpoint):
    """Score a model that is stored in bfloat16 and no checkpoint of this suite, as one step of its revisions."""
    root = write_benchmark(tmp_path / "benchmarks", records[:30])
    folder = write_checkpoint(tmp_path / "model", make_model().bfloat16(), manifest=False)

    def call(**given):
        out = tmp_path / "out"
        settings = score_settings(benchmarks=("zhoblimp",), benchmark_root=root, linking=("lp",), **given)
        score_model(str(folder), out, settings)
        (key,) = (out / "eval" / "zhoblimp" / "sentence").glob("*.json")
        return json.loads(key.read_text(encoding="utf-8"))["settings"]["dtype"]

    return call


def test_auto_is_float32_on_a_processor(score, capsys):
    assert score() == "float32"
    assert "dtype" not in capsys.readouterr().err


def test_auto_is_the_stored_type_on_an_accelerator_and_stays_it(score, monkeypatch, capsys):
    monkeypatch.setattr("ucurve.eval.sweep.jobs.on_accelerator", lambda device: True)
    assert score() == "bfloat16"
    said = capsys.readouterr().err
    assert "is scored in bfloat16, the type of its weights" in said
    assert "dtype=float32 takes twice the memory" in said
    assert "scores are coarser than float32" in said
    monkeypatch.setattr("ucurve.eval.sweep.jobs.on_accelerator", lambda device: False)
    assert score() == "bfloat16"
    assert score(dtype="float32") == "float32"  # all that is there is scored again


def test_models_of_this_suite_are_float32_everywhere_and_two_types_are_no_curve(
    tmp_path, run, records, write_benchmark, monkeypatch
):
    from ucurve.eval.run import score_run

    monkeypatch.setattr("ucurve.eval.sweep.jobs.on_accelerator", lambda device: True)
    root = write_benchmark(tmp_path / "benchmarks", records[:30])
    asked = {"benchmarks": ("zhoblimp",), "benchmark_root": root, "linking": ("lp",)}
    score_run(run, score_settings(**asked), steps=[0])
    (key,) = (run / "eval" / "zhoblimp" / "sentence").glob("*.json")
    assert json.loads(key.read_text(encoding="utf-8"))["settings"]["dtype"] == "float32"
    with pytest.raises(
        UserError, match="step 0 of zhoblimp is scored in float32, and these would be in bfloat16"
    ):
        score_run(run, score_settings(**asked, dtype="bfloat16"), steps=[8])
    score_run(run, score_settings(**asked, dtype="bfloat16"))
