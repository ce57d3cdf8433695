"""The command ``ucurve leaderboard``: what a leaderboard takes, from stored scores and without scoring."""

import functools
import json
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import ConfigDict, Field, NonNegativeInt
from pydantic.dataclasses import dataclass

from ucurve.config import check
from ucurve.errors import UserError, refuse_missing_folder
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import pair_credits
from ucurve.eval.pairs import SUBSET_MARK
from ucurve.eval.presets import Preset, find_preset
from ucurve.eval.store.keys import find_key
from ucurve.eval.store.scores import StoredScores, score_path
from ucurve.fields import named
from ucurve.storage.files import write_text
from ucurve.storage.run_folder import CHECKPOINTS, EVAL, STEPS, checkpoints, parse_step
from ucurve.yaml_files import read_named

FOLDER = Path(__file__).parent


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class Task:
    """One task of a leaderboard."""

    benchmark: str  # the benchmark whose scores it is computed from
    metric: str  # the key of its number
    unknown_is_wrong: bool = False  # whether a pair with an unknown token in one of its sentences is wrong


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class Form:
    """What a leaderboard takes."""

    name: str  # also the name of its file
    title: str  # the leaderboard in words
    preset: str  # the preset with its scorers, linking function, rule for ties and aggregate
    start_rules: tuple[str, ...]  # allowed tokens before a sentence for causal models (`start_rule` of a key)
    decimals: NonNegativeInt  # of percentages
    tasks: dict[str, Task]  # what is written, by the leaderboard's own names, in its order
    not_scored: tuple[str, ...]  # tasks of the leaderboard that are not minimal pairs
    sources: tuple[str, ...]  # the published code or page of each choice


@functools.cache
def find_form(name: str) -> Form:
    """Return a form by name."""
    return read_named(FOLDER, name, Form, "form")


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class LeaderboardSettings:
    """What to write and where; conf/leaderboard.yaml describes every key."""

    run: Annotated[str, Field(min_length=1)]
    form: Annotated[str, named(find_form)]
    out: Path
    step: int | Literal["last"]


def leaderboard_command(given: dict[str, object]) -> None:
    """Write the file that a leaderboard takes."""
    settings = check(LeaderboardSettings, given)
    run, form = Path(settings.run), find_form(settings.form)
    refuse_missing_folder("run", run)
    if settings.out.is_dir():
        raise UserError(f"out={settings.out} is a folder; a file is expected")
    step = find_last_step(run) if settings.step == "last" else settings.step
    scored = read_scored_pairs(run, step, form)
    preset = find_preset(form.preset)
    percents = {name: 100 * task_accuracy(pairs, form.tasks[name], preset) for name, pairs in scored.items()}
    numbers = {name: round(percent, form.decimals) / 100 for name, percent in percents.items()}
    entry = {name: {form.tasks[name].metric: number} for name, number in numbers.items()}
    write_text(settings.out, json.dumps(entry, indent=2, ensure_ascii=False) + "\n")
    lines = [
        f"  {name} {100 * numbers[name]:.{form.decimals}f} % "
        f"({len(pairs):,} pairs, {pairs['paradigm'].nunique()} paradigms)"
        for name, pairs in scored.items()
    ]
    print(  # noqa: T201 - what came out
        "\n".join([f"{settings.out}: {form.title}, step {step}", *lines]) + "\n"
        f"left out, as no minimal pairs: {', '.join(form.not_scored)}; the leaderboard's own pipeline scores them"
    )


def find_last_step(run: Path) -> int:
    """Return the step of a run's last checkpoint, or, in a folder without checkpoints, of the last stored score."""
    found = checkpoints(run) if (run / CHECKPOINTS).is_dir() else list((run / EVAL).rglob(f"{STEPS}.parquet"))
    steps = [step for path in found if (step := parse_step(path.stem)) is not None]
    if not steps:
        raise UserError(f"run={run}: no checkpoint and no score there; score it first with score.py")
    return max(steps)


def read_scored_pairs(run: Path, step: int, form: Form) -> dict[str, pd.DataFrame]:
    """Read the pairs of each task with their scores; an error names all that are missing and what makes them."""
    preset = find_preset(form.preset)
    stored: dict[str, StoredScores] = {}
    problems = []
    for name, task in form.tasks.items():
        try:
            stored[name] = _find_scores(run, step, task.benchmark, preset, form)
        except UserError as error:
            problems.append(str(error))
    if problems:
        lines = "\n  ".join(problems)
        names = ",".join(task.benchmark for task in form.tasks.values())
        what = f"run={run} 'steps=[{step}]'" if (run / CHECKPOINTS).is_dir() else f"model=MODEL out={run}"
        command = f"python score.py {what} preset={form.preset} 'benchmarks=[{names}]'"
        raise UserError(f"run={run} lacks what the {form.title} takes:\n  {lines}\nthis scores them: {command}")
    return {name: scores.pairs() for name, scores in stored.items()}


def task_accuracy(pairs: pd.DataFrame, task: Task, preset: Preset) -> float:
    """Compute the accuracy of one task, a fraction: the mean over paradigms. Identical pairs are ties."""
    right = pair_credits(pairs, parse_linking(preset.linking[0]), preset.ties_rule)
    if task.unknown_is_wrong:
        right = np.where((pairs["unk_good"] + pairs["unk_bad"]).to_numpy() > 0, 0.0, right)
    return float(pd.Series(right).groupby(pairs["paradigm"].to_numpy()).mean().mean())


def _find_scores(run: Path, step: int, benchmark: str, preset: Preset, form: Form) -> StoredScores:
    """Find the scores of a task, by the preset's scorer and after a token that the leaderboard allows."""
    scorers = (preset.scorer_causal, preset.scorer_masked)
    there = [scorer for scorer in scorers if score_path(run, benchmark, scorer, step).is_file()]
    if not there:
        raise UserError(f"{benchmark}: {_what_is_there(run, benchmark, scorers)}")
    key = find_key(score_path(run, benchmark, there[0], step))
    start = form.start_rules[0] if key is None else key.settings.get("start_rule", form.start_rules[0])
    if key is not None and there[0] == preset.scorer_causal and start not in form.start_rules:
        what = f"the token {key.notes.get('start_token')!r}" if start == "token" else f"the {start} token"
        raise UserError(
            f"{benchmark}: scored after {what}, which the tokenizer does not put before a sentence itself "
            f"(bos={preset.bos})"
        )
    return StoredScores(run, run.name, step, benchmark, there[0])


def _what_is_there(run: Path, benchmark: str, scorers: tuple[str, ...]) -> str:
    """Describe what is scored of a benchmark that lacks scores at the step."""
    folder = run / EVAL / benchmark
    steps = sorted(
        {
            step
            for scorer in scorers
            for path in (folder / scorer).glob(f"{STEPS}.parquet")
            if (step := parse_step(path.stem)) is not None
        }
    )
    if steps:
        return f"not scored at this step, only at {', '.join(map(str, steps))}"
    parts = sorted(path.name for path in folder.parent.glob(f"{folder.name}{SUBSET_MARK}*") if path.is_dir())
    if parts:
        return f"only a part of it is scored ({', '.join(parts)}), and all its pairs count"
    return f"not scored by {' or '.join(dict.fromkeys(scorers))}"
