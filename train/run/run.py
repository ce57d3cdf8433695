"""One run from its settings to the finished folder: check, prepare, take the folder, train, score at the end."""

import contextlib
import gc
import os
import shutil
from collections.abc import Iterator

from ucurve.errors import DamagedError, RunError, UcurveError
from ucurve.huggingface.tokenizer_files import tokenizer_sha256
from ucurve.progress import log_line
from ucurve.provenance import code_revision, hardware, versions
from ucurve.storage.facts import CorpusFacts, EngineFacts, PartFacts, RunFacts, Status, read_run_facts
from ucurve.storage.files import contents, is_leftover, new_folder, remove_leftovers
from ucurve.storage.locks import only_writer
from ucurve.storage.run_folder import CHECKPOINTS, CONFIGURATION, TOKENIZER
from ucurve.training import evaluation
from ucurve.training.config import RunRequest
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.engine.execution import Execution, check_processes, choose_execution
from ucurve.training.engine.processes import Processes, read_processes
from ucurve.training.engine.signals import Interrupted, StopSignals
from ucurve.training.factors import factors_of
from ucurve.training.identity import config_sha256, without_seeds
from ucurve.training.plan import count_start_tokens, warn_of_flops, warn_of_start_token
from ucurve.training.run.group import score_in_all
from ucurve.training.run.prepare import PreparedRun, check_inputs, prepare
from ucurve.training.run.tracking import tracking_late_scores
from ucurve.training.run_folder.checks import check_same_configuration, check_same_data
from ucurve.training.run_folder.config_file import configuration_text
from ucurve.training.run_folder.records import RunRecord
from ucurve.training.run_folder.resume import check_kept_states
from ucurve.training.tokenizer.build import say_script


def train_run(settings: RunRequest) -> None:
    """Train, score and record one run, or continue it; every process of the run calls this.

    Raises:
        UserError: for a mistake of the user; the run folder is as it was.
        RunError: when the run cannot go on; ``run.json`` says failed if training had begun.
        Interrupted: on a signal; ``run.json`` says interrupted if training had begun.
    """
    processes = read_processes(os.environ)
    check_processes(settings, processes)
    with StopSignals(launched=processes.size > 1 or "TORCHELASTIC_RUN_ID" in os.environ) as signals:
        try:
            execution, settings = _check(settings, processes, signals)
            run = processes.rank0_first(lambda: _prepare(settings, processes, signals))
            with contextlib.ExitStack() as locks:
                processes.run_on_rank0(lambda: _lock(run, locks))
                record = RunRecord(run.folder, _describe_run(run, execution))
                if not processes.run_on_rank0(lambda: _is_finished(run, record)):
                    _train(run, execution, signals, record)
                with tracking_late_scores(settings) if processes.is_rank0 else contextlib.nullcontext():
                    score_in_all(
                        processes,
                        signals,
                        lambda group: evaluation.score_at_end(settings.folder, settings.eval, group),
                        "scores made so far are kept, the same command goes on",
                    )
        except DamagedError as error:
            raise RunError(str(error)) from error
        except Interrupted as error:
            if processes.is_rank0:
                log_line(f"{error.message}; exit code {error.exit_code}")
            raise


def _check(settings: RunRequest, processes: Processes, signals: StopSignals) -> tuple[Execution, RunRequest]:
    """Choose the engine, and return the settings with the commits of what comes from the hub once they are checked."""

    def check() -> RunRequest:
        with signals.at_once():
            if processes.is_rank0:
                say_script(settings.tokenizer, settings.data)
                Corpus(settings.data).say_notes()
            return check_inputs(settings)

    if processes.size == 1:
        pinned = check()  # before torch is imported
        return choose_execution(settings, processes), pinned
    execution = choose_execution(settings, processes)
    # They are connected now, so that a mistake found by one ends all. All take the commits that rank 0 found.
    return execution, processes.broadcast(processes.rank0_first(check))


def _prepare(settings: RunRequest, processes: Processes, signals: StopSignals) -> PreparedRun:
    with signals.at_once():
        return prepare(settings, reads_shards=processes.local_rank == 0)  # one process of a machine reads them


def _lock(run: PreparedRun, locks: contextlib.ExitStack) -> None:
    locks.enter_context(only_writer(run.folder))
    check_same_configuration(run.plan.settings)  # again, as another process may have written the folder meanwhile
    facts = read_run_facts(run.folder)
    check_kept_states(run.folder, run.plan.settings.kept_steps, finished=facts is not None and facts.finished)


def _is_finished(run: PreparedRun, record: RunRecord) -> bool:
    """Write what the folder holds from the first step on, and tell whether the run in it is finished and whole."""
    from ucurve.training.run.trainer import check_checkpoints, check_logs

    before = record.before
    if before is not None:
        # First of all, as nothing may be written into the folder of a run on other data.
        check_same_data(run.plan.settings, run.store, before)
    _write_static_files(run, record, first_start=before is None)
    if before is None or not before.finished:
        for warning in (warn_of_start_token(run.plan, run.store), warn_of_flops(run.plan)):
            if warning:
                log_line(f"{run.folder.name}: {warning}")
        evaluation.log_what_is_not_scored(run.folder, run.plan.settings.eval)
        record.write("running")
        return False
    log_line(f"{run.folder} is finished")
    check_checkpoints(run.folder, run.plan, run.plan.steps)
    check_logs(run.folder, before)
    return True


def _write_static_files(run: PreparedRun, record: RunRecord, first_start: bool) -> None:
    """Write tokenizer and configuration; at the first start, files found there do not count as written."""
    folder = run.folder
    remove_leftovers(folder)  # of a process that was killed while it wrote
    remove_leftovers(folder / CHECKPOINTS)
    if first_start or not (folder / TOKENIZER).exists():
        with new_folder(folder / TOKENIZER) as temporary:
            for file in contents(run.tokenizer):
                if not is_leftover(file):  # another run of the tokenizer may write its counts now
                    shutil.copyfile(file, temporary / file.name)
    record.record_tokenizer()
    record.write_file(CONFIGURATION, configuration_text(run.plan.settings))


def _describe_run(run: PreparedRun, execution: Execution) -> RunFacts:
    """Return what ``run.json`` says of a run before its first step."""
    plan, settings, store = run.plan, run.plan.settings, run.store
    # Runs that read other commits of the hub are other lines of a figure.
    commits = {"commits": settings.commits} if settings.commits else {}
    return RunFacts(
        name=settings.run_name,
        model=settings.model.name,
        factors=factors_of(settings, plan.parameters.as_dict()),
        objective=settings.objective.kind,
        tokens_budget=settings.tokens,
        words=run.words,
        tokenizer=settings.tokenizer.name,
        tokenizer_sha256=tokenizer_sha256(run.tokenizer),
        vocabulary=plan.vocabulary,
        data=settings.data.run_name,
        data_sha256=store.sha256,
        corpus=CorpusFacts(
            documents=store.documents,
            tokens=store.length,
            start_tokens_seen=count_start_tokens(plan, store),
        ),
        interventions=store.interventions or None,
        parts=_describe_parts(run),
        parent=plan.parent,
        held_out=store.held_out.facts if store.held_out else None,
        seeds=settings.seeds,
        config_sha256=plan.config_sha256,
        cell_sha256=config_sha256(without_seeds(settings.identity()) | commits),
        parameters=plan.parameters.as_dict(),
        checkpoint_steps=plan.checkpoint_steps,
        code_revision=code_revision(),
        versions=versions(),
        hardware=hardware(),
        engine=EngineFacts(
            kind=execution.kind,
            processes=execution.processes.size,
            precision=settings.engine.precision,
            compiled=execution.compiled,
        ),
        start=settings.started_from,
        commits=settings.commits or None,
    )


def _describe_parts(run: PreparedRun) -> tuple[PartFacts, ...] | None:
    """Return what ``run.json`` says of each part of the corpus; None for one corpus."""
    seen = run.plan.part_tokens(run.plan.steps)
    if seen is None:
        return None
    return tuple(
        PartFacts(
            name=name,
            documents=part.documents,
            tokens=part.length,
            tokens_seen=tokens,
            data_sha256=part.sha256,
            interventions=part.interventions,
        )
        for (name, tokens), part in zip(seen.items(), run.store.parts, strict=True)
    )


def _train(run: PreparedRun, execution: Execution, signals: StopSignals, record: RunRecord) -> None:
    """Train the steps that are left, with what becomes of them in ``run.json``."""
    from ucurve.training.run.trainer import Trainer  # it imports torch

    if execution.processes.is_rank0:
        log_line(f"{run.folder.name}: {execution.describe(run.plan.settings)}")
    with _failures_recorded(record, execution.processes):
        trainer = Trainer(run, execution, signals, record)
        with _garbage_frozen():
            trainer.train()


@contextlib.contextmanager
def _garbage_frozen() -> Iterator[None]:
    """Keep what exists now out of garbage collection; going through it would take most of a second in some steps."""
    # What is garbage now would otherwise be kept until the end of training.
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextlib.contextmanager
def _failures_recorded(record: RunRecord, processes: Processes) -> Iterator[None]:
    """Write into ``run.json`` why training ended, if not at its end."""

    def write(status: Status, **more: str) -> None:
        if processes.is_rank0:
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
        if not processes.is_rank0:  # rank 0 has not seen it, and only the errors of rank 0 are printed
            log_line(f"process {processes.rank}: {error}")
        raise RunError(f"{error}; the newest whole state is kept in resume/") from error
    except Exception as error:
        write("failed", error=f"{type(error).__name__}: {error}")
        raise
