"""``ucurve publish``: a finished run as a Hugging Face repository."""

from ucurve.cli import run

if __name__ == "__main__":
    run("publish")
