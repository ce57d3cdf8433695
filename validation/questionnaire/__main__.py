"""``ucurve questionnaire``: a questionnaire for people from the pairs of a benchmark."""

from ucurve.cli import run

if __name__ == "__main__":
    run("questionnaire")
