"""Draws the curves of run folders and writes the report: ``python analyze.py runs='runs/*' out=figures``."""

from ucurve.cli import run

if __name__ == "__main__":
    run("analyze")
