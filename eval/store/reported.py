"""How a benchmark's accuracy is reported: what is printed and drawn first of all that is computed."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ucurve.errors import DamagedError
from ucurve.eval.benchmarks.card import Benchmark
from ucurve.eval.benchmarks.registry import card_of
from ucurve.eval.metrics.accuracy import TiesRule
from ucurve.eval.pairs import full_name
from ucurve.storage.run_folder import EVAL, REPORTED
from ucurve.storage.sealed import REPORTED as REPORTED_SEAL

USUAL_LINKINGS = ("slln_lp", "lp")  # of those that are there, the first is shown where nothing else is said
USUAL_RULE: TiesRule = "half"
OVER_PAIRS = "all"


@dataclass(frozen=True)
class Reported:
    """What is shown first of a benchmark; None where neither its card nor a preset says."""

    linking: str | None = None
    ties_rule: TiesRule | None = None
    aggregate: str | None = None  # ``paradigm`` of the overall number's row, where ``phenomenon=all``
    maker: str | None = None  # of a user's own benchmark, which is shown as the published ones that it makes anew

    def choose_linking(self, there: Collection[str]) -> str:
        """Return the linking function that is shown first, of those that are there (at least one)."""
        return next(
            name for name in (self.linking, *USUAL_LINKINGS, *there) if name is not None and name in there
        )

    def choose_rule(self, there: Sequence[TiesRule]) -> TiesRule:
        """Return what a tie counts in what is shown first, of the rules that are there (at least one)."""
        return next(rule for rule in (self.ties_rule, USUAL_RULE, *there) if rule is not None and rule in there)

    @property
    def overall(self) -> str:
        """``paradigm`` of the overall row."""
        return self.aggregate or OVER_PAIRS

    def choose_rows(self, accuracies: pd.DataFrame) -> pd.DataFrame:
        """Return what is shown first of one score: a row over all lengths for each phenomenon, and the overall one."""
        rows = accuracies[accuracies["split"] == "all"]
        linking = self.choose_linking(list(dict.fromkeys(rows["linking"])))
        rule = self.choose_rule(list(dict.fromkeys(rows["ties_rule"])))
        rows = rows[(rows["linking"] == linking) & (rows["ties_rule"] == rule)]
        wanted = np.where(rows["phenomenon"] == "all", self.overall, OVER_PAIRS)
        return rows[rows["paradigm"] == wanted]


def reported_by_card(card: Benchmark) -> Reported:
    """Return what a card says."""
    return Reported(card.linking, card.ties_rule, card.aggregate, card.made_by if card.place else None)


def reported_path(folder: Path, benchmark: str) -> Path:
    """Return where what is shown first of a benchmark is stored, below the run folder ``folder``."""
    return folder / EVAL / benchmark / REPORTED


def keep_reported(folder: Path, benchmark: str, reported: Reported) -> None:
    """Store what is shown first of a benchmark, where its published card, which stays, does not say the same."""
    path = reported_path(folder, benchmark)
    if reported == _published(benchmark):
        if path.exists():
            path.unlink()
        return
    record = {"benchmark": benchmark, **asdict(reported)}
    if not path.exists() or path.read_text(encoding="utf-8", errors="replace") != REPORTED_SEAL.text(record):
        REPORTED_SEAL.write(path, record)


def read_reported(folder: Path, benchmark: str) -> Reported:
    """Read what is shown first of a benchmark that was scored into a run folder, or take it from its published card."""
    path = reported_path(folder, benchmark)
    if not path.is_file():
        return _published(benchmark)
    record = REPORTED_SEAL.read(path)
    if record.pop("benchmark", None) != benchmark:
        raise DamagedError(f"{path}: not of the benchmark {benchmark}; score it again")
    return Reported(**record)


def _published(benchmark: str) -> Reported:
    card = card_of(full_name(benchmark))
    return Reported() if card.place is not None else reported_by_card(card)
