"""What runs are called decides nothing: tables and figures of a grid stay as they are when its runs are renamed."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.item_runs import make_item_run, pair_table
from tests.analysis.synthetic import MakeRun
from tests.facts import change_run
from tests.settings import analyze_settings
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.run import analyze

MODELS = {"14m": "my-20K-net", "70m": "tiny-deep", "llama-14m": "10M-x"}
LETTERS = "qzjxkvwypbgd"
WITH_NAMES = ("against", "flops_curves", "heat_map")  # figures whose legends or axes name models or runs
STEPS = (0, 1, 2, 4, 8, 16, 32, 64)


def make_grid(make_run: MakeRun) -> None:
    """Three models with two tokenizers and two seeds, whose pairs come to be right at their own pace."""
    pairs, random = pair_table({"BA_1": "BA", "BA_2": "BA", "passive_1": "passive"}, 40), np.random.default_rng(0)
    for place, (model, tokenizer, seed) in enumerate(
        (model, tokenizer, seed) for model in MODELS for tokenizer in ("char", "word") for seed in (0, 1)
    ):
        shares = np.linspace(0.5, 0.65 + place / 40, len(STEPS))
        half_points = {
            step: random.binomial(1, share, 120) * 2 for step, share in zip(STEPS, shares, strict=True)
        }
        bits = {step: (6 + place / 10) / step**0.2 for step in STEPS[1:]}
        make_item_run(make_run, pairs, half_points, model=model, tokenizer=tokenizer, seed=seed, bits=bits)


def rename(root: Path) -> dict[str, str]:
    """Rename the folders and models of the runs; returns the old names by the new ones."""
    old = {}
    for letter, run in zip(LETTERS, find_runs([f"{root}/runs/*"]), strict=True):
        model = MODELS[run.model]
        folder = run.folder.rename(run.folder.with_name(letter * 7))
        change_run(folder, name=folder.name, model=model, factors=run.facts.factors | {"model": model})
        old[folder.name], old[model] = run.label, run.model
    return old


def report_of(root: Path, out: str) -> Path:
    return analyze(analyze_settings(runs=f"{root}/runs/*", out=str(root / out), formats=["png"])).parent


def named_before(file: Path, old: Mapping[str, str]) -> str:
    """What a file would say under the old names."""
    text = file.read_text(encoding="utf-8")
    for new, name in old.items():
        text = text.replace(new, name)
    return text


@pytest.mark.long
def test_tables_and_figures_of_renamed_runs_are_equal_but_for_labels(make_run: MakeRun, tmp_path: Path) -> None:
    make_grid(make_run)
    before = report_of(tmp_path, "before")
    old = rename(tmp_path)
    after = report_of(tmp_path, "after")
    files = sorted(path.name for path in before.iterdir())
    assert sorted(path.name for path in after.iterdir()) == files
    assert sum(name.endswith(".csv") for name in files) > 10
    assert sum(name.endswith(".png") for name in files) > 5
    for name in files:
        if name.endswith(".csv"):
            assert named_before(after / name, old) == (before / name).read_text(encoding="utf-8"), name
        elif name.endswith(".png") and not name.startswith(WITH_NAMES):
            assert (after / name).read_bytes() == (before / name).read_bytes(), name
