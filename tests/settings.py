"""Settings as commands make them: those of the files in ``conf/``, and what a test gives."""

from ucurve.analysis.data.settings import AnalyzeSettings
from ucurve.config import check
from ucurve.config_files import completed


def maker(kind, file, part=None):
    """Return a function that makes settings of a kind from a file of ``conf/``, or from one part of it."""

    def make(**given):
        return check(kind, completed(file, given) if part is None else completed(file, {part: given})[part])

    return make


analyze_settings = maker(AnalyzeSettings, "analyze.yaml")
