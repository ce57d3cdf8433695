"""Pairs to score runs on."""

import json

import pytest


@pytest.fixture
def pairs(tmp_path):
    folder = tmp_path / "benchmarks/zhoblimp"
    folder.mkdir(parents=True)
    rows = [
        {"UID": "u", "phenomenon": "p", "sentence_good": f"天地玄{one}", "sentence_bad": f"玄{one}地天"}
        for one in "黄宇宙洪"
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["eval.benchmarks=[zhoblimp]", f"benchmark_root={tmp_path / 'benchmarks'}"]
