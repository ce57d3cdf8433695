"""Which tokens a run is trained on, and in which order, as its folder says."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ucurve.errors import UserError, refuse_missing_folder
from ucurve.storage.facts import own_faults, read_run_facts
from ucurve.storage.faults import refuse_faults
from ucurve.storage.files import read_json_or_empty
from ucurve.storage.run_folder import CONFIGURATION, RECORD, TOKENIZER
from ucurve.token_stream.order import Batches
from ucurve.token_stream.store import INDEX, TokenStore, is_complete_store, open_store
from ucurve.yaml_files import read_yaml


@dataclass(frozen=True)
class RunTokens:
    """What a run folder says of the tokens that the run is trained on."""

    run: Path
    data_sha256: str
    seed: int  # of the order
    length: int  # tokens of a training sequence
    sequences: int  # in a global batch
    tokens: int  # the budget of the run
    cache: Path  # the run's own folder of token streams
    shorter: tuple[tuple[int, int], ...] = ()  # see ``Batches.over``

    @staticmethod
    def of(run: Path) -> "RunTokens":
        """Read what the folder of a run says, if its configuration and tokenizer are what was written."""
        refuse_missing_folder("run", run)
        facts = read_run_facts(run)
        if facts is None:
            raise UserError(f"{run / RECORD}: missing; it records which data the run is trained on")
        refuse_faults(own_faults(run, facts, [CONFIGURATION, TOKENIZER]), "restore it from a copy")
        configuration = read_yaml(run / CONFIGURATION, dict[str, Any])  # as it was written
        batch, paths = configuration["batch"], configuration["paths"]
        cache, runs = (Path(paths[name]).expanduser() for name in ("cache", "runs"))
        folder = run.absolute().parent
        # A relative cache is in the folder that the run was started in, as its own place tells; where the run was
        # moved, or that folder has none, it is in the working directory.
        if folder.parts[1:][-len(runs.parts) :] == runs.parts:
            there = folder.parents[len(runs.parts) - 1] / cache
            cache = there if there.is_dir() else cache
        length, sequences = batch["length"], batch["sequences"]
        shorter = tuple((stage["length"], stage["tokens"]) for stage in batch.get("shorter", ()))
        tokens = configuration["tokens"]
        return RunTokens(run, facts.data_sha256, facts.seeds.data, length, sequences, tokens, cache, shorter)

    @property
    def steps(self) -> int:
        """Optimizer steps: whole global batches in the token budget."""
        return self.tokens // (self.length * self.sequences)

    def key(self) -> dict[str, object]:
        """Return what the tokens up to a step depend on, as a JSON object."""
        return {
            "data_sha256": self.data_sha256,
            "data_seed": self.seed,
            "sequence_length": self.length,
            "batch_sequences": self.sequences,
            "shorter": self.shorter,
        }

    def find_stream(self, cache: Path | None = None) -> TokenStore | None:
        """Open the token stream in a folder of them, by default the run's own, if it is there byte for byte."""
        # A run records the hash of its stream, and not the key by which the folder is named.
        for path in sorted((cache or self.cache).glob(f"tokens-*/{INDEX}")):
            index = read_json_or_empty(path)
            if index.get("sha256") == self.data_sha256 and is_complete_store(path.parent, index.get("key", "")):
                return open_store(path.parent)
        return None

    def open_stream(self, needed_by: str) -> TokenStore:
        """Open the token stream in the run's own cache; the error without it names the command that makes it."""
        store = self.find_stream()
        if store is None:
            raise UserError(
                f"{needed_by}: {self.run}: its token stream is not in {self.cache} or damaged\n"
                f"  ucurve batches run={self.run} from=0 to=1 builds it again from the corpus; "
                "add data_path=PATH where the corpus lies elsewhere now"
            )
        return store

    def batches(self, store: TokenStore) -> Batches:
        """Return the global batches that the run takes from its token stream."""
        return Batches.over(store, self.seed, self.length, self.sequences, self.shorter)
