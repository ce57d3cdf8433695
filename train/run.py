"""One run from configuration to finished folder: prepare, train, checkpoint, score; cut-off runs go on."""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

from train import hooks
from train.checkpoint import MANIFEST, checkpoint_folder, faults, holds_weights, write_checkpoint
from train.config import RunSettings, config_sha256, without_seeds
from train.corpus import Corpus
from train.engine import Engine, TorchEngine, choose_device
from train.loop import Batches, Callbacks, run_steps
from train.model import build_model, parameters_by_group
from train.order import DataOrder
from train.plan import Plan, make_plan
from train.records import MetricsLog, RunRecord, read_record
from train.refusals import (
    refuse_other_configuration,
    refuse_other_data,
    refuse_text_without_bytes,
    refuse_unwritable,
)
from train.resume import newest_state, save_state
from train.stored import CONFIGURATION
from train.text import build_tokenizer, end_of_document, load_tokenizer
from train.tokens import TokenStore, build_token_store, check_budget, save_unigram_counts
from train.tracking import Tracker, check_tracker, make_tracker
from train.vocabulary import vocabulary_size
from ucurve.command import plain
from ucurve.errors import RunError, UcurveError, UserError
from ucurve.files import new_folder, remove_leftovers, write_text
from ucurve.progress import ProgressBar, say
from ucurve.provenance import code_revision, hardware, versions


@dataclass(frozen=True)
class Prepared:
    """Everything a run needs before its folder is touched."""

    settings: RunSettings
    folder: Path
    tokenizer: Path
    store: TokenStore
    document_token: int
    plan: Plan


def train_cell(settings: RunSettings) -> None:
    """Train, score and record one run, or go on with it.

    Raises:
        UserError: when something the user gave does not fit; the run folder is then as it was.
        RunError: when the run cannot go on; ``run.json`` then says failed.
    """
    prepared = prepare(settings)
    with _only_writer(prepared.folder):
        refuse_other_configuration(prepared.folder, settings)  # another process may have been first
        refuse_other_data(prepared.folder, settings, prepared.store.sha256)
        _execute(prepared)


def prepare(settings: RunSettings) -> Prepared:
    """Build what is missing of tokenizer and token shards, and check all that can be checked before training."""
    folder = Path(settings.paths.runs) / settings.run_name
    refuse_unwritable(settings)
    refuse_other_configuration(folder, settings)
    choose_device(settings.engine.device)
    check_tracker(settings.tracker)
    hooks.check_benchmarks_exist(settings.eval)
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


@contextlib.contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    lock = folder.parent / ".locks" / f"{folder.name}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(lock, timeout=0):
            yield
    except Timeout as error:
        raise UserError(f"{folder} is being written by another process; wait for it or stop it") from error


def _execute(prepared: Prepared) -> None:
    _lay_out(prepared)
    record = RunRecord(prepared.folder, _facts(prepared))
    before = read_record(prepared.folder)
    if before is None or before["status"] != "finished":
        record.write("running")
        _guarded(record, lambda: _train(prepared, record))
    else:
        say(f"{prepared.folder} is finished")
        _require_checkpoints(prepared.folder, prepared.plan)
    hooks.score_at_end(prepared.folder, prepared.settings.eval)


def _guarded(record: RunRecord, work: Any) -> None:
    try:
        work()
    except (UcurveError, OSError) as error:
        with contextlib.suppress(OSError):  # on a full disk the record cannot be written either
            record.write("failed", error=str(error))
        if isinstance(error, UcurveError):
            raise
        raise RunError(f"{error}; the newest whole state is kept in resume/") from error


def _lay_out(prepared: Prepared) -> None:
    run = prepared.folder
    for folder in (run, run / "checkpoints"):
        remove_leftovers(folder)
    write_text(
        run / CONFIGURATION, yaml.safe_dump(plain(asdict(prepared.settings)), sort_keys=False, allow_unicode=True)
    )
    if not (run / "tokenizer").exists():
        with new_folder(run / "tokenizer") as temporary:
            shutil.copytree(prepared.tokenizer, temporary, dirs_exist_ok=True)


def _facts(prepared: Prepared) -> dict[str, Any]:
    settings, plan = prepared.settings, prepared.plan
    return {
        "name": settings.run_name,
        "model": settings.model.name,
        "tokens_budget": settings.tokens,
        "tokenizer": settings.tokenizer.name,
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
    }


def _parameters(plan: Plan) -> dict[str, int]:
    totals = {"total": plan.parameters.total, "non_embedding": plan.parameters.non_embedding}
    return asdict(plan.parameters) | totals


def _train(prepared: Prepared, record: RunRecord) -> None:
    settings, plan, run = prepared.settings, prepared.plan, prepared.folder
    engine = _build_engine(prepared)
    done = _restore(engine, prepared)
    metrics = MetricsLog(run / "metrics.jsonl", done)
    tracker = make_tracker(settings, run, plain(asdict(settings)))
    exit_code = 1
    try:
        with ProgressBar(settings.run_name, plan.steps, done) as bar:
            callbacks = _callbacks(prepared, engine, metrics, tracker, bar)
            run_steps(engine, _batches(prepared), plan, done, callbacks)
        _require_checkpoints(run, plan)
        record.write("finished", steps=plan.steps)
        exit_code = 0
    finally:
        with contextlib.suppress(OSError):  # a full disk must not keep the tracker from being closed
            metrics.close()
        tracker.finish(exit_code)


def _build_engine(prepared: Prepared) -> Engine:
    settings, plan = prepared.settings, prepared.plan
    model = build_model(
        settings.model.shape, plan.vocabulary, settings.batch.length, prepared.document_token, settings.seeds.init
    )
    assert parameters_by_group(model) == plan.parameters, "the formula for parameters does not fit the model"
    return TorchEngine(model, settings.optimizer, settings.engine)


def _restore(engine: Engine, prepared: Prepared) -> int:
    found = newest_state(prepared.folder, _state_owner(prepared))
    if found is None:
        return 0
    step, state = found
    engine.load(state)
    say(f"{prepared.folder.name}: going on after step {step}")
    return step


def _state_owner(prepared: Prepared) -> dict[str, str]:
    return {"config_sha256": prepared.plan.config_sha256, "data_sha256": prepared.store.sha256}


def _require_checkpoints(run: Path, plan: Plan) -> None:
    """Stop where a checkpoint of a finished run is gone: the steps before the resume state cannot be taken again."""
    folders = [checkpoint_folder(run, step) for step in plan.checkpoint_steps]
    missing = [folder.name for folder in folders if not (folder / MANIFEST).exists()]
    if missing:
        raise RunError(f"{run}: checkpoints are missing: {', '.join(missing)}; train the run anew in another folder")


def _batches(prepared: Prepared) -> Batches:
    settings, store = prepared.settings, prepared.store
    order = DataOrder.over(store.sha256, settings.seeds.data, settings.batch.length, store.length)
    return Batches(store, order, settings.batch.sequences)


def _callbacks(
    prepared: Prepared, engine: Engine, metrics: MetricsLog, tracker: Tracker, bar: ProgressBar
) -> Callbacks:
    def on_step(values: dict[str, float]) -> None:
        metrics.append(values)
        tracker.log(values, step=int(values["step"]))
        bar.advance(note=f"loss {values['loss']:.3f}, {values['tokens_per_second']:.0f} tokens/s")

    def on_checkpoint(step: int) -> None:
        _checkpoint(prepared, engine, step)
        hooks.score_checkpoint(prepared.folder, prepared.settings.eval, step)

    def on_state(step: int) -> None:
        metrics.sync()  # a state must not outlive the lines of the steps before it
        save_state(prepared.folder, step, engine.state(), _state_owner(prepared))

    return Callbacks(on_step, on_checkpoint, on_state)


def _checkpoint(prepared: Prepared, engine: Engine, step: int) -> None:
    """Write a checkpoint unless a resumed run finds it from before it was cut off, whole and with the same weights."""
    folder = checkpoint_folder(prepared.folder, step)
    facts = prepared.plan.facts(step, prepared.store.sha256, prepared.store.length)
    if folder.exists() and not faults(folder) and holds_weights(folder, engine.model):
        return
    if folder.exists():
        say(f"{folder} is not what this run computes; it is written anew")
    write_checkpoint(prepared.folder, engine.model, prepared.tokenizer, facts)
