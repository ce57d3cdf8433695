"""The token stream of a run is found from whatever folder a program is in."""

import shutil
from pathlib import Path

import pytest

import ucurve
from ucurve.token_stream.run import RunTokens

SMALL = ["model=tiny", "tokenizer=char", "tokens=1K", "batch.sequences=8", "batch.length=16", "schedule.count=2",
         "data.path=texts.jsonl"]  # fmt: skip


@pytest.mark.slow
def test_a_relative_cache_is_beside_the_runs_or_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    (started / "notebooks").mkdir(parents=True)
    (started / "texts.jsonl").write_text('{"text": "张先生买了三本书。"}\n' * 200, encoding="utf-8")
    monkeypatch.chdir(started)
    ucurve.train(*SMALL)
    [run] = Path("runs").glob("tiny-*")
    assert RunTokens.of(run).find_stream() is not None
    monkeypatch.chdir(started / "notebooks")
    assert RunTokens.of(".." / run).find_stream() is not None
    moved = Path(shutil.copytree(started / run, tmp_path / "moved"))
    assert RunTokens.of(moved).find_stream() is None
    monkeypatch.chdir(started)
    assert RunTokens.of(moved).find_stream() is not None
