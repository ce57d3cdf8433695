"""Draws the curves of run folders and writes the report: ``python analyze.py runs='runs/*' out=figures``."""

import sys
from typing import Any

from ucurve.command import check, run_command


def _analyze(values: dict[str, Any]) -> None:
    from analysis.config import AnalyzeSettings
    from analysis.run import analyze

    report = analyze(check(AnalyzeSettings, values))
    sys.stdout.write(f"report: {report}\n")


if __name__ == "__main__":
    run_command("analyze", _analyze, "every file written so far is whole, the same command begins anew")
