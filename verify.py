"""Check a run folder: ``python verify.py run=runs/NAME`` exits with 0 only when every checkpoint is whole."""

from train.verify import verify_command
from ucurve.command import run_command

if __name__ == "__main__":
    run_command("verify", verify_command)
