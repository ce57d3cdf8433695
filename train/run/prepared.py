"""What a run has at hand before its folder is touched."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from train.config import RunSettings
from train.data.order import DataOrder
from train.data.store import TokenStore
from train.plan import Plan

if TYPE_CHECKING:  # the preparation comes before torch
    from train.data.order import Batches


@dataclass(frozen=True)
class Prepared:
    """Everything a run needs before its folder is touched."""

    settings: RunSettings
    folder: Path
    tokenizer: Path
    store: TokenStore
    document_token: int
    plan: Plan

    @property
    def owner(self) -> dict[str, str]:
        """The hashes that tell the run's resume states from those of another."""
        return {"config_sha256": self.plan.config_sha256, "data_sha256": self.store.sha256}

    @property
    def batches(self) -> "Batches":
        """The run's global batches, step by step."""
        from train.data.order import Batches

        order = DataOrder.over(
            self.store.sha256, self.settings.seeds.data, self.settings.batch.length, self.store.length
        )
        return Batches(self.store, order, self.settings.batch.sequences)
