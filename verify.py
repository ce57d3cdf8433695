"""Check a run folder: ``python verify.py run=runs/NAME`` exits with 0 only when every checkpoint is whole."""

from typing import Any

from ucurve.command import run_command


def main(values: dict[str, Any]) -> None:
    """Verify the run folder that the configuration names."""
    from train.verify import verify_command

    verify_command(values)


if __name__ == "__main__":
    run_command("verify", main)
