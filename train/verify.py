"""Checks a run folder: its records, and that every scheduled checkpoint is complete and of the step it names."""

import csv
import math
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ucurve.config import check
from ucurve.errors import RunError, UserError, refuse_missing_folder
from ucurve.eval.verify import verify_scores
from ucurve.invocation import command
from ucurve.progress import log_line
from ucurve.provenance import versions
from ucurve.storage.facts import Manifest, RunFacts, own_faults, read_manifest, read_run_facts
from ucurve.storage.faults import foreign_faults
from ucurve.storage.files import contents, has_hash
from ucurve.storage.run_folder import (
    CHECKPOINTS,
    CONFIGURATION,
    EVAL,
    HELD_OUT,
    METRICS,
    RECORD,
    RESUME,
    TOKENIZER,
    checkpoints,
    parse_metrics,
    step_name,
)
from ucurve.storage.tabular import read_number
from ucurve.training.plan import Plan, make_plan
from ucurve.training.run_folder.checkpoint import find_faults, holds_weights
from ucurve.training.run_folder.config_file import load_settings, stored_config_sha256
from ucurve.training.run_folder.records import describe_changes
from ucurve.training.run_folder.resume import state_faults
from ucurve.training.tokenizer.folder import tokenizer_files


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class VerifySettings:
    """What to verify: one run folder, or a folder that a model was scored into."""

    run: Annotated[str, Field(min_length=1)]
    deep: bool  # whether accuracies and statistics are computed from the scores and compared, in addition


_FILES = {CONFIGURATION, RECORD, METRICS}
# The last one is what that tracker writes.
_FOLDERS = {TOKENIZER, CHECKPOINTS, RESUME, EVAL, "wandb"}
_SHOWN = 5  # so many faults of one file are shown


def verify_command(values: dict[str, object]) -> None:
    """Verify a run folder, print the result, and say what to do next.

    Raises:
        UserError: when there is no such run.
        RunError: naming every fault.
    """
    settings = check(VerifySettings, values)
    run = Path(settings.run)
    verify_folder(run, settings.deep)
    following = command("analyze", f"runs={shlex.quote(str(run))}")
    # A run is there to be analyzed, for which it has to be scored, on its own benchmarks if it names some.
    if not (run / EVAL).is_dir():
        evaluation = load_settings(run).eval
        following = command(
            "score",
            shlex.join([f"run={run}", *evaluation.score_arguments]) if evaluation.benchmarks else "list=true",
        )
    log_line(f"next: {following}")


def verify_folder(run: Path, deep: bool = False) -> None:
    """Print that a run folder, or one that a model was scored into, is whole; else raise a ``RunError``."""
    refuse_missing_folder("run", run)
    if not any((run / name).exists() for name in (CONFIGURATION, RECORD, EVAL)):
        inner = sorted(path.parent for depth in ("*", "*/*") for path in run.glob(f"{depth}/{RECORD}"))
        hint = f", but holds some: give run={inner[0]}" if inner else ""
        raise UserError(f"run={run} is not a run folder, which holds {CONFIGURATION} and {RECORD}{hint}")
    alone = (run / EVAL).is_dir() and not any((run / name).exists() for name in (CONFIGURATION, RECORD))
    # Two checks may find the same.
    problems = dict.fromkeys(verify_scores(run, deep) if alone else run_faults(run, deep))
    if problems:
        raise RunError(f"{run}: {len(problems)} fault(s)\n  " + "\n  ".join(problems))
    for note in () if alone else run_notes(run):
        log_line(f"{run}: {note}")
    counted = f"{len(checkpoints(run))} checkpoints, all as their manifests say"
    print(f"{run}: {'scores of a model, all as their keys say' if alone else counted}")  # noqa: T201


def run_notes(run: Path) -> list[str]:
    """Return what is no fault of a whole run and should be known: another name, weights removed, what computed it."""
    facts = read_run_facts(run)
    assert facts is not None, "a run without a record has a fault"
    name = run.resolve().name
    other = [] if name == facts.name else [f"the folder is named {name}, and the run in it is {facts.name}"]
    gone = sum(not read_manifest(folder).has_weights for folder in checkpoints(run))
    removed = [f"the weights of {gone} checkpoints were removed once they were scored"] if gone else []
    return other + removed + describe_changes(facts.sessions)


def run_faults(run: Path, deep: bool = False) -> list[str]:
    """Return every fault of a run folder.

    Raises:
        UserError: when the folder holds no run.
    """
    settings = load_settings(run)
    try:
        facts = read_run_facts(run)
    except UserError as error:
        return [str(error)]
    if facts is None:
        return [f"{run / RECORD}: missing"]
    plan = make_plan(settings, facts.vocabulary)
    # The hash is of the file as it is, which lacks keys that later versions have added.
    plan = replace(plan, config_sha256=stored_config_sha256(run), parent=facts.parent)
    problems = [] if facts.finished else [f"{run}: the run is {facts.status}, not finished"]
    files = _FILES | ({HELD_OUT} if facts.held_out else set())
    problems += record_faults(run, facts, plan) + layout_faults(run, plan.checkpoint_steps, files)
    problems += own_faults(run, facts) + metrics_faults(run / METRICS, plan, facts)
    problems += state_faults(run, settings.kept_steps if facts.finished and not facts.averaged else ())
    problems += held_out_faults(run / HELD_OUT, plan, facts)
    return problems + verify_scores(run, deep) + _checkpoint_faults(run, plan, facts)


def _checkpoint_faults(run: Path, plan: Plan, facts: RunFacts) -> list[str]:
    """Name checkpoints that are not as they were written, and whole ones that are not what the run says."""
    problems: list[str] = []
    whole: list[Path] = []
    for folder in checkpoints(run):
        if found := find_faults(folder):
            problems += found
            continue  # what is not as it was written contradicts the run too
        whole.append(folder)
        manifest = read_manifest(folder)
        expected = plan.describe_checkpoint(manifest.step, facts.data_sha256, facts.corpus.tokens)
        problems += [
            f"{folder}: {key} is {getattr(manifest, key)!r}, the run says {value!r}"
            for key, value in expected
            if getattr(manifest, key) != value
        ]
    problems += tokenizer_faults(run, facts, whole)
    return problems + twin_faults(whole, plan) + first_weights_faults(whole, plan, facts)


def layout_faults(run: Path, steps: Sequence[int], files: Collection[str] = _FILES) -> list[str]:
    """Name what is missing in a run folder or does not belong there, and the same for its checkpoints."""
    missing = [f"{run / name}: missing" for name in sorted(files) if not (run / name).is_file()]
    known = {run / name for name in files if (run / name).is_file()} | {
        run / name for name in _FOLDERS if (run / name).is_dir()
    }
    foreign = foreign_faults((path for path in contents(run) if path not in known), "not part of a run folder")
    place = run / CHECKPOINTS
    scheduled = {step_name(step) for step in steps}
    present = {path.name for path in contents(place)} if place.is_dir() else set()
    missing_steps = [f"{place / name}: missing" for name in sorted(scheduled - present)]
    foreign_steps = foreign_faults((place / name for name in sorted(present - scheduled)), "not on the schedule")
    return missing + foreign + missing_steps + foreign_steps


def record_faults(run: Path, facts: RunFacts, plan: Plan) -> list[str]:
    """Name where ``run.json`` contradicts the plan that follows from ``config.yaml``."""
    expected = {
        "config_sha256": plan.config_sha256,
        "checkpoint_steps": list(plan.checkpoint_steps),
        "seeds": asdict(plan.settings.seeds),
        "parameters": plan.parameters.as_dict(),
    }
    found = facts.model_dump(mode="json", include=set(expected))
    return [
        f"{run / RECORD}: {key} is {found[key]!r}, config.yaml gives {value!r}"
        for key, value in expected.items()
        if found[key] != value
    ]


def metrics_faults(path: Path, plan: Plan, facts: RunFacts) -> list[str]:
    """Name wrong lines of ``metrics.jsonl``, steps missing at its end, and a wrong hash; none for a missing file."""
    if not path.is_file():
        return []
    last = 0
    found: list[str] = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            values = parse_metrics(line)
            problem = _line_fault(values, last, plan.settings.batch.tokens)
            found += [f"{path}:{number}: {problem}"] if problem else []
            # The count goes on after a line that cannot be read, so that it is one fault and not two.
            last = values["step"] if values is not None and isinstance(values.get("step"), int) else last + 1
    if facts.finished and last != plan.steps:
        found.append(f"{path}: ends at step {last}, the run has {plan.steps}")
    if facts.metrics_sha256 is not None and not has_hash(path, facts.metrics_sha256):
        found.insert(0, f"{path}: its hash is not run.json's")
    more = len(found) - _SHOWN  # one lost line of a long run must not hide the rest of the report
    return found if more <= 0 else [*found[:_SHOWN], f"{path}: {more} more faults"]


def _line_fault(values: Mapping[str, Any] | None, last: int, batch_tokens: int) -> str | None:
    """Return what is wrong with a line of ``metrics.jsonl`` that follows step ``last``; None for nothing."""
    if values is None:
        return "no readable line"
    step, loss = values.get("step"), values.get("masked_loss", values.get("loss"))
    if step != last + 1:
        return f"step {step} after step {last}"
    if values.get("tokens") != step * batch_tokens:
        return f"tokens is {values.get('tokens')} at step {step}, {step * batch_tokens} is expected"
    if not isinstance(loss, int | float) or not math.isfinite(loss):
        return f"loss is {loss} at step {step}"
    return None


def held_out_faults(path: Path, plan: Plan, facts: RunFacts) -> list[str]:
    """Name wrong and missing lines of ``held_out.csv``; none for a missing file. ``run.json`` has its hash."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        header, *lines = list(csv.reader(file)) or [[]]
    expected = [str(step) for step in plan.checkpoint_steps]
    found = [line[0] if line else "" for line in lines]
    columns = plan.settings.held_out_columns
    # A run that is not finished may lack the last lines.
    if tuple(header) != columns or found != (expected if facts.finished else expected[: len(found)]):
        return [f"{path}: not a line of {', '.join(columns)} for each checkpoint, in their order"]
    return [
        f"{path}: no finite numbers at step {line[0]}"
        for line in lines
        if len(line) != len(header) or None in map(read_number, line)
    ]


def tokenizer_faults(run: Path, facts: RunFacts, whole: Sequence[Path]) -> list[str]:
    """Compare the tokenizers of the run and of its whole checkpoints with that of the first checkpoint."""
    if not whole:
        return []
    own = run / TOKENIZER
    first, *others = [(folder, read_manifest(folder)) for folder in whole]
    name, manifest = first[0].name, first[1]
    found = tokenizer_files(own) if own.is_dir() else {}
    same = facts.tokenizer_sha256 == manifest.tokenizer_sha256
    return [
        *[f"{own / file}: not the file of {name}" for file in found if manifest.files.get(file) != found[file]],
        *([] if same else [f"{run / RECORD}: tokenizer_sha256 is not that of {name}"]),
        *[
            f"{folder}: another tokenizer than {name}"
            for folder, other in others
            if other.tokenizer_sha256 != manifest.tokenizer_sha256
        ],
    ]


def first_weights_faults(whole: Sequence[Path], plan: Plan, facts: RunFacts) -> list[str]:
    """Compare the checkpoint of step 0, if it is whole, bit for bit with a fresh initialization from the seed."""
    first = next((folder for folder in whole if read_manifest(folder).step == 0), None)
    if first is None:
        return []
    settings = plan.settings
    if settings.started_from is not None:
        same = read_manifest(first).weights_sha256 == settings.started_from.weights_sha256
        where = f"step {settings.started_from.step} of {settings.started_from.run}"
        return [] if same else [f"{first}: not the weights of {where}, which the run starts from"]
    no_token = 0  # the token that precedes documents stands in the configuration only
    model = settings.model.design.build_model(
        plan.vocabulary, settings.batch.length, no_token, settings.seeds.init
    )
    if holds_weights(first, model):
        return []
    then, now = facts.versions.get("torch"), versions()["torch"]
    return [
        f"{first}: not the weights that seeds.init={settings.seeds.init} gives (torch {then} then, {now} now)"
    ]


def twin_faults(whole: Sequence[Path], plan: Plan) -> list[str]:
    """Name whole checkpoints, in the order of their steps, with equal weights though a learning rate was above 0."""
    first_with: dict[str, Manifest] = {}
    found = []
    for folder in whole:
        manifest = read_manifest(folder)
        twin = first_with.setdefault(manifest.weights_sha256, manifest)
        between = range(twin.step + 1, manifest.step + 1)
        if any(plan.learning_rate(step) > 0 for step in between):
            found.append(f"{folder}: the same weights as {step_name(twin.step)}")
    return found
