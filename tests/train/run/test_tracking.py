from dataclasses import asdict

import pytest

from train.run.tracking import start_tracker


def test_without_a_tracker_nothing_is_sent(settings_of, tmp_path):
    assert start_tracker(settings_of(), tmp_path, {}) is None
    assert not list(tmp_path.glob("wandb"))


@pytest.mark.slow
def test_two_offline_runs_in_one_process_are_two_runs(settings_of, tmp_path):
    pytest.importorskip("wandb")
    for seed in (0, 1):
        settings = settings_of("tracker=wandb", f"seed={seed}")
        folder = tmp_path / settings.run_name
        folder.mkdir()
        tracker = start_tracker(settings, folder, asdict(settings.seeds))
        tracker.log({"loss": 2.0}, step=1)
        tracker.finish(0)
    found = sorted(path.parents[2].name for path in tmp_path.rglob("run-*.wandb"))
    assert found == ["tiny-1536-char-small_corpus-s0", "tiny-1536-char-small_corpus-s1"]
