"""Settings and commands with the defaults of the files in ``conf/``, and what a test gives."""

import importlib
from dataclasses import replace
from functools import partial

from ucurve.analysis.data.settings import AnalyzeSettings
from ucurve.cli import COMMANDS
from ucurve.config import check
from ucurve.config_files import choices, completed
from ucurve.eval.benchmarks.custom import CustomBenchmark, CustomColumns
from ucurve.eval.metrics.fitting import FitSettings
from ucurve.eval.models.unigram import UnigramSettings
from ucurve.eval.scoring.base import PromptSettings
from ucurve.eval.settings import ScoreCommand
from ucurve.generation.decontaminate import FilterSettings
from ucurve.generation.maker import import_part
from ucurve.training.config import EngineSettings
from ucurve.training.corpus.settings import CorpusSettings
from ucurve.training.objective.settings import ObjectiveSettings
from ucurve.training.optim import RateScales, usual_optimizer, usual_rate
from ucurve.training.tokenizer.build import TokenizerSettings
from ucurve.workbench.settings import WorkbenchSettings

SCORING = "eval/default.yaml"


def maker(kind, file, /, *parts, **usual):
    """Return a function that makes settings of a kind from a file of ``conf/``, or from a part of it."""

    def make(**given):
        values = usual | given
        for part in reversed(parts):
            values = {part: values}
        values = completed(file, values)
        for part in parts:
            values = values[part]
        return check(kind, values)

    return make


def doer(name):
    """Return a function that does with some values what a command does with them on its command line."""

    def do(given):
        module, _, function = COMMANDS[name].task.rpartition(".")
        getattr(importlib.import_module(module), function)(completed(f"{name}.yaml", given))

    return do


def source_settings(source, **given):
    """Return the settings of a source of pairs."""
    values = completed(f"source/{source}.yaml", given)
    del values["source"]  # the key of the command
    return check(import_part(source, "make").Settings, values)


def choice(group, kind, usual):
    """Return the file of a choice of a group, or of the usual one where there is none of that name."""
    file = f"{group}/{kind}.yaml"
    return file if file in choices(group) else f"{group}/{usual}.yaml"


def corpus_settings(kind="text", **given):
    """Return the settings of a corpus; of a text each record is a document, and nothing is held out."""
    usual = {"unit": "record", "holdout": 0} if kind in ("text", "hub") else {}
    return check(CorpusSettings, completed(choice("data", kind, "text"), {"kind": kind} | usual | given))


def tokenizer_settings(kind, **given):
    """Return the settings of a tokenizer, with its kind as its name."""
    return check(
        TokenizerSettings, completed(choice("tokenizer", kind, "hub"), {"kind": kind, "name": kind} | given)
    )


def rate_settings(kind="cosine", decay=None, **given):
    """Return the settings of a form of the learning rate."""
    return replace(usual_rate(kind), **({} if decay is None else {"decay": decay}) | given)


def optimizer_settings(learning_rate=1e-3, **given):
    """Return the settings of AdamW, or of what is given, with a cosine."""
    return replace(usual_optimizer("cosine", learning_rate), **given)


analyze_settings = maker(AnalyzeSettings, "analyze.yaml")
custom_benchmark = maker(CustomBenchmark, SCORING, "custom")
custom_columns = maker(CustomColumns, SCORING, "custom", "columns")
fit_settings = maker(FitSettings, SCORING, "fit", on="paradigms")
prompt_settings = maker(PromptSettings, SCORING, "prompt")
unigram_settings = maker(UnigramSettings, SCORING, "unigrams")
command_asked = maker(ScoreCommand, "score.yaml")
objective_settings = maker(ObjectiveSettings, "objective/hybrid.yaml", kind="masked")
engine_settings = maker(EngineSettings, "engine/auto.yaml", precision="float32", device="cpu")
filter_settings = maker(FilterSettings, "generate.yaml", "filter")
workbench_settings = maker(WorkbenchSettings, "workbench.yaml")
rate_scales = maker(RateScales, "train.yaml", "optimizer", "scale")
multiblimp_settings = partial(source_settings, "multiblimp")
rublimp_settings = partial(source_settings, "rublimp")
sweblimp_settings = partial(source_settings, "sweblimp")
tse_settings = partial(source_settings, "tse")
answers_command, batches_command, leaderboard_command, power_command = map(
    doer, ("answers", "batches", "leaderboard", "power")
)
prune_command, publish_command, score_command, verify_command, workbench_command = map(
    doer, ("prune", "publish", "score", "verify", "workbench")
)
