"""Score checkpoints of a run, or any causal model, on minimal-pair benchmarks.

python score.py run=RUN benchmarks=[zhoblimp] benchmark_root=DIR [steps=[0,512]]
python score.py model=PATH_OR_HUB_ID benchmarks=[zhoblimp] benchmark_root=DIR out=DIR [revisions=[step0,step512]]
python score.py check=true benchmarks=[zhoblimp] benchmark_root=DIR
"""

from typing import Any

from ucurve.command import check, run_command


def main(values: dict[str, Any]) -> None:
    """Check the configuration and score what it asks for."""
    from eval.run import execute
    from eval.settings import ScoreCommand

    execute(check(ScoreCommand, values))


if __name__ == "__main__":
    run_command("score", main, "scores made so far are kept, the same command goes on")
