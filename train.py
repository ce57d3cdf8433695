"""Train a run or a grid of runs: ``python train.py model=160m tokens=3B``; settings are in ``conf/train.yaml``."""

from ucurve.cli import run

if __name__ == "__main__":
    run("train")
