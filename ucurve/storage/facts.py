"""What ``run.json`` and a checkpoint's ``manifest.json`` hold: each is defined, written and read here."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.dataclasses import dataclass

from ucurve.errors import DamagedError
from ucurve.fields import STRICT, Seed
from ucurve.storage.faults import listed_faults
from ucurve.storage.files import contents, has_hash, sha256_file
from ucurve.storage.run_folder import MANIFEST, RECORD, STATE_FACTS, TOKENIZER, WEIGHTS
from ucurve.storage.sealed import MANIFEST as MANIFEST_SEAL
from ucurve.storage.sealed import RECORD as RECORD_SEAL
from ucurve.storage.sealed import STATE, Seal

ObjectiveKind = Literal["causal", "masked", "mntp", "hybrid"]
Precision = Literal["float32", "bfloat16"]
Status = Literal["running", "interrupted", "finished", "failed"]
Hashes = Mapping[str, str]  # SHA-256 in hexadecimal, by name
Level = str | int | float  # of a factor


class Facts(BaseModel):
    """A record that is never changed in memory and has no key but those it defines."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ParentFacts(Facts):
    """The run whose state another run went on from."""

    name: str
    step: int  # after which the two runs part
    config_sha256: str


@dataclass(frozen=True, config=STRICT)
class Start:
    """The checkpoint of another run whose weights a run begins with."""

    run: str
    step: int
    weights_sha256: str
    tokenizer_sha256: str


@dataclass(frozen=True, config=STRICT)
class FullStart(Start):
    """The same, where a run begins with the optimizer's state as well."""

    state_sha256: str


class CheckpointFacts(Facts):
    """How far training is at a checkpoint, and what is trained."""

    step: int
    tokens: int
    flops: float  # training FLOPs so far by 6ND
    flops_exact: float  # training FLOPs so far, matrix products counted
    epoch: float  # tokens seen divided by the tokens of the corpus
    data_sha256: str  # content hash of the token stream
    config_sha256: str  # hash of the configuration that determines the outcome
    precision: Precision  # of the matrix products that trained it
    parts: dict[str, int] | None = None  # tokens seen of each part of a mixture or of stages; None for one corpus
    parent: ParentFacts | None = None  # None for a run that was trained from its first step on
    start: FullStart | Start | None = None  # None for random initial weights


class Manifest(CheckpointFacts):
    """``manifest.json`` of a checkpoint; ``files`` has all files beside it."""

    weights_sha256: str
    tokenizer_sha256: str
    files: Hashes
    averaged: tuple[str, ...] | None = (
        None  # weights_sha256 of the checkpoints whose mean it is, the first one first
    )

    @property
    def has_weights(self) -> bool:
        """Whether the weights are there, which ``ucurve prune`` removes once they are scored."""
        return WEIGHTS in self.files


class StateFacts(Facts):
    """``state.json`` of a full state: whose state it is, and after which step."""

    model_config = ConfigDict(extra="ignore")  # what a later version adds does not make a state less whole

    config_sha256: str | None = None
    data_sha256: str | None = None
    metrics_sha256: str | None = None  # of the lines of ``metrics.jsonl`` then
    step: int
    state_sha256: str  # of the tensors beside it


@dataclass(frozen=True, config=STRICT)
class Seeds:
    """Seeds of the initial weights and of the data order."""

    init: Seed
    data: Seed


class RunIdentity(Facts):
    """What tells a run from every other: its name, the hash of its configuration and its seeds."""

    name: str
    config_sha256: str
    seeds: Seeds


class WordBudget(Facts):
    """How a budget in words became one in tokens."""

    asked: int  # words in all passes, as given by ``tokens=``
    in_corpus: int  # words of the corpus, in one pass
    tokens_per_word: float  # tokens of an epoch, in whole sequences, divided by ``in_corpus``
    counter: str
    version: str | None  # of the counter; None for ``whitespace``


class CorpusFacts(Facts):
    """The token stream of a run; ``start_tokens_seen`` counts the documents that training begins."""

    documents: int
    tokens: int
    start_tokens_seen: int


class TextSize(Facts):
    """The size of a text; sentences by the rule of interventions."""

    documents: int
    sentences: int
    characters: int


class InterventionFacts(Facts):
    """What a step did to the training text before it was tokenized."""

    name: str
    what: str  # for people
    before: TextSize
    after: TextSize


class PartFacts(Facts):
    """A part of a mixture or of stages."""

    name: str
    documents: int
    tokens: int
    tokens_seen: int  # by the whole run
    data_sha256: str
    interventions: tuple[InterventionFacts, ...]


class HeldOutFacts(Facts):
    """The held-out text; ``left_out`` counts its documents that are in the training text too."""

    source: str
    documents: int
    bytes: int  # of the documents as read, in UTF-8
    unknown_bytes: int  # of them, those that the tokenizer gives its unknown token
    tokens: int
    left_out: int
    sha256: str


class EngineFacts(Facts):
    """What computed the steps."""

    kind: str
    processes: int
    precision: str
    compiled: bool


class Session(Facts):
    """Code, versions and machine of the steps after ``after_step``; a run that goes on may have several."""

    after_step: int
    code_revision: str | None
    versions: dict[str, str]
    hardware: dict[str, str | int | list[str] | None]
    engine: EngineFacts


class RunFacts(Facts):
    """``run.json``: what a run is trained from, with what, and how far it is."""

    name: str
    model: str
    factors: dict[str, Level] = {}  # ``training.factors``; runs trained before have them in config.yaml alone
    objective: ObjectiveKind = "causal"
    tokens_budget: int  # the budget in tokens, also where it was asked for in words
    words: WordBudget | None = None
    tokenizer: str
    tokenizer_sha256: str
    vocabulary: int  # rows of the embedding
    data: str
    data_sha256: str
    corpus: CorpusFacts
    interventions: tuple[InterventionFacts, ...] | None = None  # None for a corpus as it is
    parts: tuple[PartFacts, ...] | None = None  # None for one corpus
    parent: ParentFacts | None = None  # None for a run that was trained from its first step on
    held_out: HeldOutFacts | None = None  # None for a run without held-out text
    seeds: Seeds
    config_sha256: str
    cell_sha256: str  # hash of the configuration without the seeds; runs that share it are one curve with a band
    averaged: int | None = (
        None  # of how many checkpoints each of its own is the mean; None for a run that was trained
    )
    parameters: dict[str, int]  # by group, with ``total`` and ``non_embedding``
    checkpoint_steps: tuple[int, ...]
    code_revision: str | None = None
    versions: dict[str, str]
    hardware: dict[str, str | int | list[str] | None]
    engine: EngineFacts
    start: FullStart | Start | None = None  # None for random initial weights
    commits: dict[str, str] | None = None  # of ``data`` and ``tokenizer``, as far as they are of the hub
    files: Hashes = {}  # of ``config.yaml``, ``held_out.csv`` and every file of ``tokenizer/``
    files_before: Hashes | None = None  # while a file is replaced: what is accepted in its place as well
    status: Status = "running"
    sessions: tuple[Session, ...] = ()
    steps: int | None = None
    metrics_sha256: str | None = None  # of ``metrics.jsonl`` when the run is finished
    error: str | None = None  # why the run failed

    @property
    def identity(self) -> RunIdentity:
        """What tells the run from every other."""
        return RunIdentity(name=self.name, config_sha256=self.config_sha256, seeds=self.seeds)

    @property
    def finished(self) -> bool:
        """Whether the last step is taken and everything is written."""
        return self.status == "finished"

    def session(self, after_step: int) -> Session:
        """Return what computes the steps after ``after_step``."""
        return Session(
            after_step=after_step,
            code_revision=self.code_revision,
            versions=self.versions,
            hardware=self.hardware,
            engine=self.engine,
        )

    def replacing(self, run: Path, name: str, digest: str) -> Self:
        """Return the facts under which a file of the run may be replaced: what is there and what comes are accepted.

        Args:
            run: the run folder.
            name: of the file.
            digest: SHA-256 of what comes.
        """
        accepted = {self.files.get(name), (self.files_before or {}).get(name)}
        there = sha256_file(run / name) if (run / name).is_file() else None
        before = {name: there} if there is not None and there in accepted and there != digest else None
        return self.model_copy(update={"files": {**self.files, name: digest}, "files_before": before})


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a checkpoint."""
    MANIFEST_SEAL.write(folder / MANIFEST, known(manifest))


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a checkpoint (``read_facts``).

    Raises:
        DamagedError: when it is missing, unreadable or not what was written.
    """
    return read_facts(folder / MANIFEST, MANIFEST_SEAL, Manifest)


def write_state_facts(folder: Path, facts: StateFacts) -> None:
    """Write ``state.json`` of a full state, without what is not known."""
    STATE.write(folder / STATE_FACTS, known(facts))


def read_state_facts(folder: Path) -> StateFacts:
    """Read ``state.json`` of a full state (``read_facts``)."""
    return read_facts(folder / STATE_FACTS, STATE, StateFacts)


def write_run_facts(run: Path, facts: RunFacts) -> None:
    """Write ``run.json``, without what is not known."""
    RECORD_SEAL.write(run / RECORD, known(facts))


def known(facts: Facts) -> dict[str, object]:
    """Return what is written of facts: without what is not known."""
    return {key: value for key, value in facts.model_dump(mode="json").items() if value is not None}


def read_run_facts(run: Path) -> RunFacts | None:
    """Read ``run.json`` (``read_facts``); None where there is none.

    Raises:
        DamagedError: when it is unreadable or not what was written.
    """
    path = run / RECORD
    return read_facts(path, RECORD_SEAL, RunFacts) if path.exists() else None


_Read = TypeVar("_Read", bound=Facts)


def read_facts(path: Path, seal: Seal, kind: type[_Read]) -> _Read:
    """Read a sealed file as facts of a kind; ``DamagedError`` when it is missing or not what was written."""
    return as_facts(seal.read(path), path, kind)


def as_facts(record: Mapping[str, object], path: Path, kind: type[_Read]) -> _Read:
    """Take a record for facts of a kind; ``DamagedError`` when it lacks one or has more."""
    try:
        return kind.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DamagedError(f"{path}: not what this version writes ({place}: {first['msg']})") from error


def own_faults(run: Path, facts: RunFacts | None, parts: Sequence[str] = ("",)) -> list[str]:
    """Name what is not as ``run.json`` says of the files that it lists; nothing without ``run.json``.

    Args:
        run: the run folder.
        facts: what its ``run.json`` holds.
        parts: names of files, or ``tokenizer`` for all that is in that folder; by default everything.
    """
    if facts is None:
        return []
    before = {name: digest for name, digest in (facts.files_before or {}).items() if has_hash(run / name, digest)}
    listed = {name: digest for name, digest in {**facts.files, **before}.items() if name.startswith(tuple(parts))}
    inside = contents(run / TOKENIZER) if (run / TOKENIZER).is_dir() else []
    found = {name for name in listed if (run / name).exists()} | {f"{TOKENIZER}/{path.name}" for path in inside}
    return listed_faults(run, listed, {name for name in found if name.startswith(tuple(parts))}, RECORD)
