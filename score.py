"""Score checkpoints of a run, or any causal model, on minimal-pair benchmarks.

python score.py run=RUN benchmarks=zhoblimp benchmark_root=DIR [steps=0,512]
python score.py model=PATH_OR_HUB_ID benchmarks=zhoblimp benchmark_root=DIR out=DIR [revisions=step0,step512]
python score.py check=true benchmarks=zhoblimp benchmark_root=DIR
"""

from ucurve.cli import run

if __name__ == "__main__":
    run("score")
