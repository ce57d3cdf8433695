"""A small benchmark, and questionnaires that the command makes from it."""

import csv
import json
import sys
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra

from ucurve.cli import run as run_command

ROOT = Path(__file__).resolve().parents[2]
ANIMALS = ("cat", "dog", "horse", "goose", "mouse", "snail", "tiger", "whale", "zebra", "camel", "eagle", "hyena")
SPOILED = "<script>document.title = 'taken over'</script> & \"quotes\" </script><!--"


def write_lines(path: Path, records: list[dict[str, str]]) -> None:
    path.write_text(
        "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8"
    )


def write_benchmark(folder: Path, spoiled: bool = False) -> Path:
    """Write 12 pairs of each of two paradigms; ``spoiled`` ones hold what would be markup in a page."""
    folder.mkdir()
    (folder / "card.yaml").write_text('name: mine\nlanguage: eng\nfiles: ["*.jsonl"]\n', encoding="utf-8")
    more = f" {SPOILED}" if spoiled else ""
    for paradigm, good, bad in (("agreement", "sleeps", "sleep"), ("past", "slept", "sleeped")):
        pairs = [
            {"paradigm": paradigm, "phenomenon": "verbs",
             "sentence_good": f"The old {animal} {good} under that tree.{more}",
             "sentence_bad": f"The old {animal} {bad} under that tree.{more}"}
            for animal in ANIMALS
        ]  # fmt: skip
        write_lines(folder / f"{paradigm}.jsonl", pairs)
    return folder


def make(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Run the command as a user does; it ends with exit code 0 or raises SystemExit."""
    GlobalHydra.instance().clear()
    monkeypatch.setattr(sys, "argv", ["questionnaire", *arguments])
    run_command("questionnaire")


def read_items(out: Path) -> list[dict[str, str]]:
    with (out / "items.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
