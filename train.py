"""Train a run or a grid of runs: ``python train.py model=160m tokens=3B``; settings are in ``conf/train.yaml``."""

from train.commands import train_command
from ucurve.command import run_grid_command

if __name__ == "__main__":
    run_grid_command("train", train_command)
