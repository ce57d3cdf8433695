"""``python -m eval.generation``: minimal pairs from templates, a vocabulary and phrases."""

from ucurve.cli import run

if __name__ == "__main__":
    run("generate")
