"""Synthetic run folders: the files that training and scoring write, with numbers that a test can compute by hand."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.facts import write_empty_checkpoint, write_run
from ucurve.storage.files import sha256_file
from ucurve.storage.run_folder import HELD_OUT_COLUMNS

HEADER = (
    "run,step,tokens,flops,benchmark,scorer,linking,phenomenon,paradigm,split,ties_rule,n,ties,accuracy,ci_low,ci_high,"
    "exact_low,exact_high,clusters"
)
TOKENS_PER_STEP = 16_384
PARAMETERS = {"14m": 14_000_000, "70m": 70_000_000}

Row = dict[str, Any]
MakeRun = Callable[..., Path]


def score_row(step: int, accuracy: float, **changes: Any) -> Row:
    """One line of accuracy.csv: by default the overall row under slln_lp of 100 pairs, with an interval of +- 0.1."""
    row = {
        "run": "r", "step": step, "tokens": step * TOKENS_PER_STEP, "flops": 6.0 * 14e6 * step * TOKENS_PER_STEP,
        "benchmark": "zho", "scorer": "sentence", "linking": "slln_lp", "phenomenon": "all", "paradigm": "all",
        "split": "all", "ties_rule": "half", "n": 100, "ties": 0, "accuracy": accuracy,
        "ci_low": round(accuracy - 0.1, 6), "ci_high": round(accuracy + 0.1, 6),
        "exact_low": round(accuracy - 0.05, 6), "exact_high": round(accuracy + 0.05, 6), "clusters": 20,
    }  # fmt: skip
    assert set(changes) <= set(row)
    return row | changes


def write_scores(folder: Path, rows: Sequence[Row]) -> Path:
    path = folder / "eval" / "accuracy.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(str(row[name]) for name in HEADER.split(",")) for row in rows]
    path.write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    return path


def write_metrics(folder: Path, bits: Mapping[int, float | None]) -> None:
    lines = [
        json.dumps(
            {"step": step, "tokens": step * TOKENS_PER_STEP, "loss": 1.0, "bits_per_byte": value, "lr": 0.1}
        )
        for step, value in bits.items()
    ]
    (folder / "metrics.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def write_held_out(folder: Path, bits: Mapping[int, float], parameters: int) -> dict[str, str]:
    """Write held-out losses; returns what run.json lists."""
    path = folder / "held_out.csv"
    lines = [
        f"{step},{step * TOKENS_PER_STEP},{6.0 * parameters * step * TOKENS_PER_STEP},1.0,{value},0.1,9,30"
        for step, value in bits.items()
    ]
    path.write_text("\n".join([",".join(HELD_OUT_COLUMNS), *lines]) + "\n", encoding="utf-8")
    return {"held_out.csv": sha256_file(path)}


_CHOICE = re.compile(r"-([\w.]+)=((?:[^-]|(?<=e)-)+)")  # a key and its value in the end of a name


def factors_of(model: str, tokenizer: str, budget: str, precision: str, end: str, cell: str) -> dict[str, str]:
    """What run.json has of a run with this name, and of a setting that no name tells (``cell``)."""
    architecture, _, size = model.rpartition("-")
    factors = {
        "architecture": architecture or "gpt_neox", "size": size, "model": model, "objective": "causal",
        "tokenizer": tokenizer, "budget": budget, "corpus": "demo", "optimizer": "adamw", "rate": "cosine",
        "precision": precision, **dict(_CHOICE.findall(end)), "batch.sequences": cell, "name": _CHOICE.sub("", end)[1:],
    }  # fmt: skip
    return {key: level for key, level in factors.items() if level}


def run_maker(root: Path) -> MakeRun:
    """Return what writes run folders below ``root/runs/``."""

    def make(
        rows: Sequence[Row] | None = (),
        *,
        seed: int = 0,
        model: str = "14m",
        tokens: str = "10M",
        tokenizer: str = "char",
        status: str = "finished",
        planned: Sequence[int] | None = None,
        saved: Sequence[int] | None = None,
        bits: Mapping[int, float | None] | None = None,
        held_out: Mapping[int, float] | None = None,
        parent: str = "runs",
        cell: str = "",
        suffix: str = "",
        precision: str = "",
    ) -> Path:
        name = f"{model}-{tokens}-{tokenizer}-demo-s{seed}{suffix}"
        folder = root / parent / name
        folder.mkdir(parents=True)
        steps = sorted({row["step"] for row in rows or ()})
        budget = int(tokens.removesuffix("M")) * 10**6
        parameters = PARAMETERS.get(model, 1_000_000)
        factors = factors_of(model, tokenizer, tokens, precision or "float32", suffix, cell)
        facts = {
            "name": name, "model": model, "factors": factors, "tokens_budget": budget, "tokenizer": tokenizer,
            "seeds": {"init": seed, "data": seed}, "parameters": {"total": parameters},
            "checkpoint_steps": steps if planned is None else planned, "versions": {"ucurve": "0.1.0", "torch": "2.0"},
            "cell_sha256": cell or f"{model}-{tokens}-{tokenizer}{precision}",
            "config_sha256": "0123456789abcdef0123456789abcdef", "code_revision": "fedcba9876543210+changes",
            "hardware": {"cores": 2, "accelerators": []},
            "engine": {
                "kind": "torch", "processes": 1, "precision": precision or "float32", "compiled": False
            },
        }  # fmt: skip
        if held_out is not None:
            facts["files"] = write_held_out(folder, held_out, parameters)
        write_run(folder, status, **facts)
        for step in steps if saved is None else saved:
            write_empty_checkpoint(folder, step)
        if rows:
            write_scores(folder, [row | {"run": name} for row in rows])
        if bits is not None:
            write_metrics(folder, bits)
        return folder

    return make
