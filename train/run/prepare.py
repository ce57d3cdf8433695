"""The part of a run before its folder is touched: every check, the tokenizer, the token shards and the plan."""

from dataclasses import dataclass, replace
from pathlib import Path

from train import evaluation
from train.config import RunRequest, RunSettings
from train.corpus.corpus import Corpus, pin_corpus
from train.corpus.file_hashes import recall_hashes
from train.corpus.words import check_counter
from train.data.store import build_token_store, check_budget, save_unigram_counts
from train.plan import Plan, make_plan
from train.run.budget import settle_budget
from train.run.tracking import check_tracker
from train.run_folder.checks import check_same_configuration, check_text_has_bytes, check_writable
from train.run_folder.config_file import read_configuration
from train.tokenizer.build import build_tokenizer, check_tokenizer, pin_tokenizer
from train.tokenizer.folder import end_of_document
from train.tokenizer.vocabulary import vocabulary_size
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.storage.facts import WordBudget, own_faults, read_run_facts
from ucurve.storage.locks import refuse_busy
from ucurve.storage.run_folder import CONFIGURATION, TOKENIZER
from ucurve.token_stream.order import Batches, DataOrder
from ucurve.token_stream.store import TokenStore


@dataclass(frozen=True)
class PreparedRun:
    """What a run is trained from.

    Attributes:
        document_token: id of the token that precedes every document.
        words: how a budget in words became one in tokens; None for a budget in tokens.
    """

    plan: Plan
    tokenizer: Path
    store: TokenStore
    document_token: int
    words: WordBudget | None = None

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.plan.settings.folder

    @property
    def owner(self) -> dict[str, str]:
        """The hashes that tell this run's resume states from those of other runs."""
        return {"config_sha256": self.plan.config_sha256, "data_sha256": self.store.sha256}

    @property
    def batches(self) -> Batches:
        """The run's global batches, step by step."""
        settings = self.plan.settings
        order = DataOrder.over(self.store.sha256, settings.seeds.data, settings.batch.length, self.store.length)
        return Batches(self.store, order, settings.batch.sequences)


def check_inputs(settings: RunRequest) -> RunRequest:
    """Check the configuration, the folders and the files, making nothing and without importing torch.

    Returns:
        The settings with the commits of what comes from the hub.

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


def pin_sources(settings: RunRequest, online: bool = True) -> RunRequest:
    """Return the settings with the commits of corpus and tokenizer.

    A run that goes on keeps those it began with, wherever their branches are by then, and does not ask the hub.

    Args:
        online: whether the hub may be asked; without it a commit that its cache does not know stays None.

    Raises:
        UserError: when the hub is needed and does not give them, or ``config.yaml`` is broken.
    """
    if (settings.folder / CONFIGURATION).exists():
        before = read_configuration(settings.folder)
        data = replace(settings.data, commit=before["data"].get("commit"))
        tokenizer = replace(settings.tokenizer, commit=before["tokenizer"].get("commit"))
    else:
        data, tokenizer = pin_corpus(settings.data, online), pin_tokenizer(settings.tokenizer, online)
    return replace(settings, data=data, tokenizer=tokenizer)


def prepare(request: RunRequest, read_all: bool = True) -> PreparedRun:
    """Build the tokenizer and the token shards where they are missing, and check everything that depends on them.

    Args:
        read_all: whether the bytes of the token shards are checked; see ``build_token_store``.

    Raises:
        UserError: when tokenizer, corpus, token budget and benchmarks do not fit together.
    """
    recall_hashes(Path(request.paths.cache))
    own = _find_own_tokenizer(request)
    folder = own or build_tokenizer(request.tokenizer, request.data, Path(request.paths.tokenizers))
    tokenizer = load_tokenizer(folder)
    evaluation.check_pairs_fit(request.eval, tokenizer, request.batch.length)
    store = build_token_store(Corpus(request.data), folder, Path(request.paths.cache), read_all=read_all)
    where = f"data={request.data.run_name}"
    settings, words = settle_budget(request, store)
    plan = make_plan(settings, vocabulary_size(tokenizer))
    check_budget(store, settings.batch.length, plan.tokens, settings.data.max_epochs, where)
    check_text_has_bytes(store, where)
    if own is None:
        save_unigram_counts(store, folder)
    return PreparedRun(plan, folder, store, end_of_document(tokenizer), words)


def _find_own_tokenizer(settings: RunRequest) -> Path | None:
    """Return the tokenizer in the folder of a run that goes on, if it is whole and was trained on the corpus.

    Other versions of libraries may build another one from the same settings, with which the run could not go on.
    """
    facts = read_run_facts(settings.folder)
    if settings.tokenizer.path is not None or facts is None:
        return None
    return None if own_faults(settings.folder, facts, [TOKENIZER]) else settings.folder / TOKENIZER
