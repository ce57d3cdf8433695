"""One run from configuration to finished folder: prepare, train, checkpoint, score; cut-off runs go on."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from train import evaluation as hooks
from train.config import RunSettings, config_sha256, without_seeds
from train.corpus.corpus import Corpus
from train.data.store import build_token_store, check_budget, save_unigram_counts
from train.engine.choice import check_device, check_processes, engine_kind, process_device
from train.engine.processes import Processes, connect, processes_of
from train.engine.signals import Interrupted, StopSignals, announce
from train.plan import Plan, make_plan
from train.run.prepared import Prepared
from train.run.tracking import check_tracker
from train.run_folder.checks import (
    refuse_other_configuration,
    refuse_other_data,
    refuse_text_without_bytes,
    refuse_unwritable,
)
from train.run_folder.records import RunRecord, read_record
from train.tokenizer.build import build_tokenizer, check_tokenizer
from train.tokenizer.folder import end_of_document
from train.tokenizer.vocabulary import vocabulary_size
from ucurve.config import plain
from ucurve.errors import DamagedError, RunError, UcurveError
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.huggingface.tokenizer_files import tokenizer_sha256
from ucurve.progress import say
from ucurve.provenance import code_revision, hardware, versions
from ucurve.storage.files import new_folder, remove_leftovers
from ucurve.storage.locks import only_writer, refuse_busy
from ucurve.storage.run_folder import CHECKPOINTS, CONFIGURATION, TOKENIZER


def train_cell(settings: RunSettings) -> None:
    """Train, score and record one run, or go on with it; every process of the run calls this.

    Raises:
        UserError: when something the user gave does not fit; the run folder is then as it was.
        RunError: when the run cannot go on; ``run.json`` then says failed.
        Interrupted: on SIGTERM, SIGUSR1 or Ctrl-C; ``run.json`` then says interrupted, unless training was not under
            way.
    """
    processes = processes_of(os.environ)
    with StopSignals(launched=processes.size > 1 or "TORCHELASTIC_RUN_ID" in os.environ) as signals:
        check_processes(settings, processes)
        if processes.size > 1:
            connect(processes, process_device(settings, processes).type)
        try:
            prepared = processes.first_then_others(lambda: _prepare(settings, processes, signals))
            with contextlib.ExitStack() as stack:
                processes.on_first(lambda: _take_folder(prepared, stack))
                _execute(prepared, processes, signals)
        except DamagedError as error:
            raise RunError(str(error)) from error
        except Interrupted as error:
            if processes.is_first:
                announce(error)
            raise


def _prepare(settings: RunSettings, processes: Processes, signals: StopSignals) -> Prepared:
    with signals.at_once():
        check_inputs(settings)
        check_device(settings, processes)
        return prepare(settings)


def _take_folder(prepared: Prepared, stack: contextlib.ExitStack) -> None:
    stack.enter_context(only_writer(prepared.folder))
    refuse_other_configuration(prepared.folder, prepared.settings)  # another process may have been first
    refuse_other_data(prepared.folder, prepared.settings, prepared.store.sha256)


def check_inputs(settings: RunSettings) -> None:
    """Check all that the configuration, the folders and the files tell, writing nothing and without torch.

    Raises:
        UserError: naming what does not fit.
    """
    refuse_unwritable(settings)
    refuse_other_configuration(_folder(settings), settings)
    refuse_busy(_folder(settings))
    check_tracker(settings.tracker)
    Corpus(settings.data).require_files()
    check_tokenizer(settings.tokenizer, settings.data)
    hooks.check_benchmarks_exist(settings.eval)


def prepare(settings: RunSettings) -> Prepared:
    """Build what is missing of tokenizer and token shards, and check what they tell, before the run folder is touched.

    Raises:
        UserError: when tokenizer, corpus, token budget and benchmarks do not fit together.
    """
    folder = _folder(settings)
    corpus = Corpus(settings.data)
    tokenizer_folder = build_tokenizer(settings.tokenizer, settings.data, Path(settings.paths.tokenizers))
    tokenizer = load_tokenizer(tokenizer_folder)
    plan = make_plan(settings, vocabulary_size(tokenizer))
    hooks.check_pairs_fit(settings.eval, tokenizer, settings.batch.length)
    store = build_token_store(corpus, tokenizer_folder, Path(settings.paths.cache))
    tokens = settings.steps * settings.batch.tokens
    where = f"data={settings.data.run_name}"
    check_budget(store, settings.batch.length, tokens, settings.data.max_epochs, where)
    refuse_text_without_bytes(store, where)
    save_unigram_counts(store, tokenizer_folder)
    return Prepared(settings, folder, tokenizer_folder, store, end_of_document(tokenizer), plan)


def _folder(settings: RunSettings) -> Path:
    return Path(settings.paths.runs) / settings.run_name


def _execute(prepared: Prepared, processes: Processes, signals: StopSignals) -> None:
    from train.run.trainer import Training

    record = RunRecord(prepared.folder, _facts(prepared, processes))
    if not processes.on_first(lambda: _begin(prepared, record)):
        with _recorded(record, processes):
            Training(prepared, processes, signals, record).run()
    processes.on_first(lambda: _score_at_end(prepared, signals))


def _score_at_end(prepared: Prepared, signals: StopSignals) -> None:
    with signals.at_once("scores made so far are kept, the same command goes on"):
        hooks.score_at_end(prepared.folder, prepared.settings.eval)


def _begin(prepared: Prepared, record: RunRecord) -> bool:
    """Lay out the folder and tell whether the run in it is finished."""
    from train.run.trainer import require_checkpoints, require_metrics

    before = read_record(prepared.folder)
    _lay_out(prepared, record, anew=before is None)
    if before is None or before["status"] != "finished":
        hooks.say_if_nothing_is_scored(prepared.folder, prepared.settings.eval)
        record.write("running")
        return False
    say(f"{prepared.folder} is finished")
    require_checkpoints(prepared.folder, prepared.plan)
    require_metrics(prepared.folder, before)
    return True


@contextlib.contextmanager
def _recorded(record: RunRecord, processes: Processes) -> Iterator[None]:
    """Write into the run's record how training ended, if not well."""

    def write(status: str, **more: str) -> None:
        if processes.is_first:
            with contextlib.suppress(OSError):  # on a full disk the record cannot be written either
                record.write(status, **more)

    try:
        yield
    except Interrupted:
        write("interrupted")
        raise
    except (UcurveError, OSError) as error:
        write("failed", error=str(error))
        if isinstance(error, UcurveError):
            raise
        if not processes.is_first:  # the first does not know of it, and only the first's errors are printed
            say(f"process {processes.rank}: {error}")
        raise RunError(f"{error}; the newest whole state is kept in resume/") from error
    except Exception as error:
        write("failed", error=f"{type(error).__name__}: {error}")
        raise


def _lay_out(prepared: Prepared, record: RunRecord, anew: bool) -> None:
    """Write what stands in the folder from the first step on; without a record, nothing there counts as written."""
    run = prepared.folder
    for folder in (run, run / CHECKPOINTS):
        remove_leftovers(folder)
    if anew or not (run / TOKENIZER).exists():
        with new_folder(run / TOKENIZER) as temporary:
            for file in prepared.tokenizer.iterdir():
                shutil.copyfile(file, temporary / file.name)
    record.vouch_for_tokenizer()
    settings = plain(asdict(prepared.settings))
    record.write_file(CONFIGURATION, yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))


def _facts(prepared: Prepared, processes: Processes) -> dict[str, Any]:
    settings, plan = prepared.settings, prepared.plan
    return {
        "name": settings.run_name,
        "model": settings.model.name,
        "tokens_budget": settings.tokens,
        "tokenizer": settings.tokenizer.name,
        "tokenizer_sha256": tokenizer_sha256(prepared.tokenizer),
        "vocabulary": plan.vocabulary,
        "data": settings.data.run_name,
        "data_sha256": prepared.store.sha256,
        "corpus": {"documents": prepared.store.documents, "tokens": prepared.store.length},
        "seeds": asdict(settings.seeds),
        "config_sha256": plan.config_sha256,
        "cell_sha256": config_sha256(without_seeds(settings.identity())),
        "parameters": _parameters(plan),
        "checkpoint_steps": list(plan.checkpoint_steps),
        "code_revision": code_revision(),
        "versions": versions(),
        "hardware": hardware(),
        "engine": {"kind": engine_kind(settings, processes), "processes": processes.size},
    }


def _parameters(plan: Plan) -> dict[str, int]:
    totals = {"total": plan.parameters.total, "non_embedding": plan.parameters.non_embedding}
    return asdict(plan.parameters) | totals
