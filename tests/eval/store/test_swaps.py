"""Files of another run, step, benchmark or scorer in the place of a run's own: verify names them, no reader uses them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.facts import write_manifest_of, write_run
from ucurve.analysis.data.files import stored_scores
from ucurve.analysis.data.frames import score_frame
from ucurve.analysis.data.runs import find_runs
from ucurve.errors import DamagedError
from ucurve.eval.run import score_run
from ucurve.eval.settings import score_settings
from ucurve.eval.store.tables import ACCURACY, STATISTICS
from ucurve.eval.verify import verify_scores

STEPS = (0, 8)
SENTENCE = "eval/zhoblimp/sentence"
KINDS = (".parquet", ".json", ".rows")


@pytest.fixture(scope="module")
def root(tmp_path_factory, records):
    folder = tmp_path_factory.mktemp("benchmarks") / "zhoblimp"
    folder.mkdir()
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records[:40])
    (folder / "pairs.jsonl").write_text(lines, encoding="utf-8")
    return folder.parent


@pytest.fixture(scope="module")
def settings(root):
    return score_settings(benchmarks=("zhoblimp",), benchmark_root=root, linking=("lp", "slln_lp"))


@pytest.fixture(scope="module")
def seeds(tmp_path_factory, make_model, tokenizer, settings):
    """Two runs that differ in their seeds, scored."""
    place = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        run, config = place / f"run-s{seed}", {"config_sha256": str(seed) * 64}
        for step in STEPS:
            folder = run / "checkpoints" / f"step{step:08d}"
            make_model(seed=100 * seed + step).save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            write_manifest_of(folder, step, **config)
        (run / "tokenizer").mkdir()
        np.save(run / "tokenizer" / "unigram_counts.npy", np.arange(42, dtype=np.int64))
        write_run(run, name=run.name, seeds={"init": seed, "data": seed}, checkpoint_steps=STEPS, **config)
        score_run(run, settings)
    return place


def take(*names):
    """Make a change: files or folders of the other run take the place of those of the same name."""

    def change(run, other):
        for name in names:
            if (other / name).is_dir():
                shutil.rmtree(run / name)
                shutil.copytree(other / name, run / name)
            else:
                shutil.copyfile(other / name, run / name)

    return change


def take_score(*kinds):
    return take(*(f"{SENTENCE}/step00000008{kind}" for kind in kinds))


def another_step(run, _):
    for kind in KINDS:
        shutil.copyfile(run / SENTENCE / f"step00000000{kind}", run / SENTENCE / f"step00000008{kind}")


def exchange(*kinds):
    def change(run, _):
        for kind in kinds:
            first, second = (run / SENTENCE / f"step{step:08d}{kind}" for step in STEPS)
            kept = first.read_bytes()
            first.write_bytes(second.read_bytes())
            second.write_bytes(kept)

    return change


def rename(before, after):
    return lambda run, _: (run / before).rename(run / after)


def other_pairs(run, _):
    pairs = run / "eval/zhoblimp/pairs.parquet"
    pd.read_parquet(pairs).iloc[::-1].to_parquet(pairs, index=False)


SWAPS = {
    "all tables": take(str(ACCURACY.place), str(STATISTICS.place)),
    "accuracy.csv": take(str(ACCURACY.place)),
    "statistics.csv": take(str(STATISTICS.place)),
    "eval": take("eval"),
    "a benchmark": take("eval/zhoblimp"),
    "a benchmark and the tables": take("eval/zhoblimp", str(ACCURACY.place), str(STATISTICS.place)),
    "a scorer": take(SENTENCE),
    "a score with key and rows": take_score(*KINDS),
    "a score with its key": take_score(".parquet", ".json"),
    "a score": take_score(".parquet"),
    "a key": take_score(".json"),
    "rows": take_score(".rows"),
    "rows and the key": take_score(".json", ".rows"),
    "rows and all tables": take(f"{SENTENCE}/step00000008.rows", str(ACCURACY.place), str(STATISTICS.place)),
    "another step": another_step,
    "two steps exchanged": exchange(*KINDS),
    "two scores exchanged": exchange(".parquet", ".json"),
    "two files of rows exchanged": exchange(".rows"),
    "another scorer": rename(SENTENCE, "eval/zhoblimp/mink"),
    "another benchmark": rename("eval/zhoblimp", "eval/blimp"),
    "pairs": other_pairs,
    "run.json": take("run.json"),
    "run.json and eval": take("run.json", "eval"),
    "a checkpoint": take("checkpoints/step00000008"),
}
NOT_READ = ("statistics.csv",)  # by the analysis
NO_CHECKPOINT_FITS = ("run.json", "run.json and eval", "a checkpoint")


def contents(run):
    return {path.relative_to(run): path.read_bytes() for path in (run / "eval").rglob("*") if path.is_file()}


@pytest.mark.parametrize("swap", SWAPS)
def test_a_swap_is_found_by_verify_and_used_by_no_reader(seeds, settings, tmp_path, swap):
    run = Path(shutil.copytree(seeds / "run-s0", tmp_path / "run-s0"))
    whole = contents(run)
    SWAPS[swap](run, seeds / "run-s1")
    assert verify_scores(run)
    if swap not in NOT_READ:
        with pytest.raises(DamagedError):
            score_frame(find_runs([str(run)]))
            stored_scores(run, "zhoblimp", "sentence", 8)
    try:
        score_run(run, settings)
    except DamagedError:
        return
    assert swap not in NO_CHECKPOINT_FITS
    assert contents(run) == whole


def test_rows_whose_score_is_gone_are_not_drawn(seeds, settings, tmp_path):
    run = Path(shutil.copytree(seeds / "run-s0", tmp_path / "run-s0"))
    whole = contents(run)
    (run / SENTENCE / "step00000008.parquet").unlink()
    with pytest.raises(
        DamagedError, match=r"step00000008\.parquet: missing, and its key is there; score it again"
    ):
        score_frame(find_runs([str(run)]))
    score_run(run, settings)
    assert contents(run) == whole


@pytest.mark.parametrize("swap", ["run.json and eval", "a checkpoint"])
def test_a_checkpoint_of_another_run_is_not_scored(seeds, settings, tmp_path, swap):
    run = Path(shutil.copytree(seeds / "run-s0", tmp_path / "run-s0"))
    SWAPS[swap](run, seeds / "run-s1")
    with pytest.raises(DamagedError, match=r"step\d+: the manifest is of another run than run\.json"):
        score_run(run, settings)


def test_a_run_without_its_record_is_not_scored(seeds, settings, tmp_path):
    run = Path(shutil.copytree(seeds / "run-s0", tmp_path / "run-s0"))
    (run / "run.json").rename(run / "config.yaml")
    with pytest.raises(
        DamagedError, match=r"run\.json: missing, and the folder is a run's; restore it from a copy"
    ):
        score_run(run, settings)


def test_nothing_is_found_where_nothing_was_swapped(seeds):
    for run in seeds.iterdir():
        assert verify_scores(run, deep=True) == []
        assert len(score_frame(find_runs([str(run)]))) > 0
