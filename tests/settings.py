"""Settings and commands with the defaults of the files in ``conf/``, and what a test gives."""

import importlib

from ucurve.analysis.data.settings import AnalyzeSettings
from ucurve.cli import COMMANDS
from ucurve.config import check
from ucurve.config_files import completed


def maker(kind, file, part=None):
    """Return a function that makes settings of a kind from a file of ``conf/``, or from one part of it."""

    def make(**given):
        return check(kind, completed(file, given) if part is None else completed(file, {part: given})[part])

    return make


def doer(name):
    """Return a function that does with some values what a command does with them on its command line."""

    def do(given):
        module, _, function = COMMANDS[name].task.rpartition(".")
        getattr(importlib.import_module(module), function)(completed(f"{name}.yaml", given))

    return do


analyze_settings = maker(AnalyzeSettings, "analyze.yaml")
answers_command, power_command = map(doer, ("answers", "power"))
