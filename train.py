"""Train a run or a grid of runs: ``python train.py model=160m tokens=3B``; settings are in ``conf/train.yaml``."""

from collections.abc import Sequence

from ucurve.command import Composed, run_grid_command


def main(cells: Sequence[Composed]) -> None:
    """Train what the composed configurations ask for."""
    from train.commands import train_command

    train_command(cells)


if __name__ == "__main__":
    run_grid_command("train", main, "the same command goes on")
