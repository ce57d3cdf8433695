"""Settings and commands with the defaults of the files in ``conf/``, and what a test gives."""

import importlib

from ucurve.analysis.data.settings import AnalyzeSettings
from ucurve.cli import COMMANDS
from ucurve.config import check
from ucurve.config_files import completed
from ucurve.eval.benchmarks.custom import CustomBenchmark, CustomColumns
from ucurve.eval.metrics.fitting import FitSettings
from ucurve.eval.models.unigram import UnigramSettings
from ucurve.eval.scoring.base import PromptSettings
from ucurve.eval.settings import ScoreCommand

SCORING = "eval/default.yaml"


def maker(kind, file, *parts, **usual):
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


analyze_settings = maker(AnalyzeSettings, "analyze.yaml")
custom_benchmark = maker(CustomBenchmark, SCORING, "custom")
custom_columns = maker(CustomColumns, SCORING, "custom", "columns")
fit_settings = maker(FitSettings, SCORING, "fit", on="paradigms")
prompt_settings = maker(PromptSettings, SCORING, "prompt")
unigram_settings = maker(UnigramSettings, SCORING, "unigrams")
command_asked = maker(ScoreCommand, "score.yaml")
answers_command, power_command, score_command = map(doer, ("answers", "power", "score"))
