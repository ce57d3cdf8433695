"""The part of a run before its folder is touched: checks, tokenizer, token shards and plan, built or only expected."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ucurve.errors import UserError
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.huggingface.tokenizer_files import tokenizer_sha256
from ucurve.storage.facts import FullStart, WordBudget, own_faults, read_run_facts
from ucurve.storage.files import has_hash
from ucurve.storage.locks import refuse_busy
from ucurve.storage.run_folder import CONFIGURATION, TOKENIZER, WEIGHTS
from ucurve.token_stream.order import Batches
from ucurve.token_stream.store import StreamSize, TokenStore
from ucurve.training import evaluation
from ucurve.training.config import RunRequest, RunSettings
from ucurve.training.corpus.corpus import Corpus, pin_corpus, recall_commits
from ucurve.training.corpus.files import recall_hashes
from ucurve.training.corpus.words import check_counter
from ucurve.training.data.store import (
    build_token_store,
    check_budget,
    check_part_budgets,
    describe_interventions,
    find_stream_size,
    save_unigram_counts,
)
from ucurve.training.objective.masks import MaskedBatches, Masking
from ucurve.training.plan import Plan, describe_plan, make_plan
from ucurve.training.run.budget import expect_budget, list_budget_warnings, resolve_budget
from ucurve.training.run.forecast import describe_forecast
from ucurve.training.run.tracking import check_tracker
from ucurve.training.run_folder.checkpoint import other_shape
from ucurve.training.run_folder.checks import check_same_configuration, check_text_has_bytes, check_writable
from ucurve.training.run_folder.config_file import load_settings, read_configuration
from ucurve.training.run_folder.resume import has_state
from ucurve.training.tokenizer.build import (
    build_tokenizer,
    check_tokenizer,
    expected_vocabulary,
    find_tokenizer,
    pin_tokenizer,
)
from ucurve.training.tokenizer.folder import end_of_document
from ucurve.training.tokenizer.vocabulary import begins_word, vocabulary_size

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_Request = TypeVar("_Request", bound=RunRequest)


@dataclass(frozen=True)
class PreparedRun:
    """What a run is trained from."""

    plan: Plan
    tokenizer: Path
    store: TokenStore
    document_token: int  # id of the token that precedes every document
    words: WordBudget | None = None  # None for a budget in tokens
    masking: Masking | None = None  # None for the next token as the objective

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.plan.settings.folder

    @property
    def owner(self) -> dict[str, str]:
        """The hashes that tell this run's resume states from those of other runs."""
        return {"config_sha256": self.plan.config_sha256, "data_sha256": self.store.sha256}

    @property
    def batches(self) -> Batches | MaskedBatches:
        """The run's global batches, step by step."""
        settings, batch = self.plan.settings, self.plan.settings.batch
        plain = Batches.over(self.store, settings.seeds.data, batch.length, batch.sequences, batch.stages)
        return plain if self.masking is None else MaskedBatches(plain, self.masking)


@dataclass(frozen=True)
class ExpectedRun:
    """What is known of a run before anything is built or fetched; the notes say where the numbers are from."""

    plan: Plan
    stream: StreamSize | None  # None for a corpus that is not tokenized yet
    vocabulary_note: str
    tokens_note: str
    interventions: list[str]  # what each changes, for people
    warnings: list[str]  # what is doubtful of the budget

    def describe(self) -> str:
        """Return the plan as text, as ``dry_run=true`` prints it."""
        first, *rest = describe_plan(self.plan, self.vocabulary_note, self.stream, self.tokens_note).splitlines()
        changes = [f"intervention   {line}" for line in self.interventions]
        changes += [f"budget         {line}" for line in self.warnings]
        return "\n".join([first, *changes, *describe_forecast(self.plan), *rest])


def expect_run(request: RunRequest) -> ExpectedRun:
    """Plan a run with the size that its vocabulary and its budget have, or are expected to have."""
    cache, root = Path(request.paths.cache), Path(request.paths.tokenizers)
    recall_hashes(cache)
    pinned = pin_sources(request, online=False)
    folder = find_tokenizer(pinned.tokenizer, pinned.data, root, pinned.has_masks)
    vocabulary, vocabulary_note = expected_vocabulary(pinned.tokenizer, pinned.data, root, pinned.has_masks)
    stream = None if folder is None else find_stream_size(Corpus(pinned.data), folder, cache)
    settings, tokens_note = expect_budget(pinned, stream)
    changes = describe_interventions(Corpus(pinned.data), folder, cache)
    warnings = list_budget_warnings(pinned, stream)
    return ExpectedRun(make_plan(settings, vocabulary), stream, vocabulary_note, tokens_note, changes, warnings)


def check_inputs(settings: RunRequest) -> RunRequest:
    """Check what can be checked without making anything or importing torch; return the settings with their commits.

    Raises:
        UserError: naming what does not fit, or what the hub does not give.
    """
    check_writable(settings)
    check_same_configuration(settings)
    refuse_busy(settings.folder)
    check_tracker(settings.tracker)
    Corpus(settings.data).check_files()
    if not isinstance(settings, RunSettings):
        check_counter(settings.counted_words[1])
    check_tokenizer(settings.tokenizer)
    pinned = pin_sources(settings)
    evaluation.check_benchmarks_exist(settings.eval)
    return pinned


def check_start(request: RunRequest, tokenizer: Path, vocabulary: int) -> None:
    """Check that the checkpoint that a run starts from has its tokenizer and as many parameters of each kind.

    Raises:
        UserError: naming what of the checkpoint does not fit.
    """
    start, run = request.started_from, request.start_run
    if start is None:
        return
    if start.tokenizer_sha256 != tokenizer_sha256(tokenizer):
        raise UserError(
            f"start={request.start}: made with another tokenizer than {tokenizer}, so its vocabulary does not fit; "
            f"tokenizer.path={run / TOKENIZER} takes that of the checkpoint"
        )
    parameters = request.model.design.count_parameters(vocabulary, request.batch.length).as_dict()
    if (facts := read_run_facts(run)) is not None and facts.parameters != parameters:
        raise other_shape(request.start)
    if not has_hash(Path(str(request.start)).expanduser() / WEIGHTS, start.weights_sha256):
        raise UserError(f"start={request.start}: its weights are missing or not what its manifest says")
    if not isinstance(start, FullStart):
        return
    if not has_state(run, start.step, start.state_sha256):
        raise UserError(f"start={request.start}: the full state of that step is missing or not what was written")
    wanted = request.optimizer.kind
    if (kind := load_settings(run).optimizer.kind) != wanted:
        raise UserError(
            f"start_with=state: {start.run} was trained with optimizer={kind}, whose state optimizer={wanted} does not "
            "take; give the same, or start_with=weights"
        )


def pin_sources(settings: RunRequest, online: bool = True) -> RunRequest:
    """Return the settings with the commits of corpus and tokenizer; offline, those unknown to the cache stay None.

    Raises:
        UserError: when the hub is needed and does not give them, or ``config.yaml`` is broken.
    """
    # A run that goes on keeps those it began with, also when their branches have moved, and does not ask the hub.
    if (settings.folder / CONFIGURATION).exists():
        return pin_as(settings, settings.folder)
    data, tokenizer = pin_corpus(settings.data, online), pin_tokenizer(settings.tokenizer, online)
    return replace(settings, data=data, tokenizer=tokenizer)


def pin_as(settings: _Request, run: Path) -> _Request:
    """Return the settings with the commits of corpus and tokenizer that a run began with."""
    before = read_configuration(run)
    tokenizer = replace(settings.tokenizer, commit=before["tokenizer"].get("commit"))
    return replace(settings, data=recall_commits(settings.data, before["data"]), tokenizer=tokenizer)


def prepare(request: RunRequest, reads_shards: bool = True) -> PreparedRun:
    """Build the tokenizer and the token shards where they are missing, and check everything that depends on them.

    Raises:
        UserError: naming what of tokenizer, corpus and budget does not fit.
    """
    cache, facts = Path(request.paths.cache), read_run_facts(request.folder)
    folder, tokenizer = build_checked_tokenizer(request)
    check_start(request, folder, vocabulary_size(tokenizer))
    read_all = reads_shards and not (facts is not None and facts.finished)  # a finished run trains on nothing
    store = build_token_store(Corpus(request.data), folder, cache, read_all=read_all)
    where = f"data={request.data.run_name}"
    settings, words = resolve_budget(request, store)
    plan = replace(
        make_plan(settings, vocabulary_size(tokenizer)), parent=None if facts is None else facts.parent
    )
    if settings.data.parts:
        check_part_budgets(store, settings.data, settings.batch.length, plan.tokens)
    else:
        check_budget(store.length, settings.batch.length, plan.tokens, settings.data.max_epochs, where)
    check_text_has_bytes(store, where)
    # The copy in the run folder was recorded with its hashes and stays as it is.
    if folder != request.folder / TOKENIZER:
        save_unigram_counts(store, folder)
    masking = make_masking(settings, store, tokenizer) if settings.has_masks else None
    return PreparedRun(plan, folder, store, end_of_document(tokenizer), words, masking)


def build_checked_tokenizer(request: RunRequest) -> "tuple[Path, PreTrainedTokenizerBase]":
    """Build the tokenizer of a run where it is missing, and check that the context holds the pairs to be scored."""
    recall_hashes(Path(request.paths.cache))
    facts, folder = read_run_facts(request.folder), request.folder / TOKENIZER
    # Other versions of libraries may build another one from the same settings.
    is_kept = request.tokenizer.path is None and facts is not None
    if not is_kept or own_faults(request.folder, facts, [TOKENIZER]):
        root = Path(request.paths.tokenizers)
        folder = build_tokenizer(request.tokenizer, request.data, root, request.has_masks)
    tokenizer = load_tokenizer(folder)
    evaluation.check_pairs_fit(request.eval, tokenizer, request.batch.length, request.has_masks)
    return folder, tokenizer


def make_masking(settings: RunSettings, store: TokenStore, tokenizer: "PreTrainedTokenizerBase") -> Masking:
    """Return what masks the tokens of a run."""
    is_text, begins = store.token_bytes > 0, None
    if settings.objective.whole_words:
        begins = begins_word(tokenizer)
        if begins[is_text].all():
            raise UserError(
                f"objective.whole_words=true: every token of tokenizer={settings.tokenizer.name} is a word by itself; "
                "leave it out"
            )
    assert tokenizer.mask_token_id is not None, "the tokenizer was built with one"
    steps, mask = settings.steps, int(tokenizer.mask_token_id)
    return Masking(settings.objective, settings.seeds.data, steps, mask, is_text, begins)
