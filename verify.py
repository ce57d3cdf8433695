"""Check a run folder: ``python verify.py run=runs/NAME`` exits with 0 only when every checkpoint is whole."""

from ucurve.cli import run

if __name__ == "__main__":
    run("verify")
