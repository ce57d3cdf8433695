"""How often the test of docs/validation-answers.md says that people differ, where they do and where they do not.

Answers are simulated by item and person: the log odds of a good answer are the sum of the item's (normal, the standard
deviation is in the table) and the person's (the same for all people, or normal with a standard deviation of .5 for the
column ``power``). With several lists, a person answers the items of one list. With 1,000 draws the standard error of a
level of 5 % is .7.

python -m measurements.intervals.people_levels [--draws 1000]
"""

import argparse
import sys

import numpy as np
import pandas as pd

from ucurve.validation.answer_files import BAD, GOOD
from ucurve.validation.judging.people import compare_people

# People, items, lists, share of good answers to an item of mean difficulty, and standard deviation over items. The
# second is like the Basque suites, the third and fourth like ZhoBLiMP and RuBLiMP.
CELLS = [
    (3, 30, 1, 0.95, 1.0), (10, 40, 1, 0.95, 1.0), (50, 650, 10, 0.94, 1.5), (12, 125, 1, 0.94, 1.5),
    (5, 20, 1, 0.90, 1.0), (20, 20, 1, 0.95, 1.0), (20, 60, 4, 0.85, 1.5), (40, 100, 1, 0.98, 1.0),
]  # fmt: skip
ABILITY = 0.5
_LEVEL, _SEED = 0.05, 20_261_128


def simulate(
    random: np.random.Generator, cell: tuple[int, int, int, float, float], ability: float
) -> pd.DataFrame:
    """Draw answers: ``item``, ``annotator`` and ``choice``."""
    people, items, lists, share, spread = cell
    logits = (
        np.log(share / (1 - share)) + random.normal(0, spread, (items, 1)) + random.normal(0, ability, people)
    )
    is_good = random.random((items, people)) < 1 / (1 + np.exp(-logits))
    given = np.arange(items)[:, None] % lists == np.arange(people) % lists
    item, person = np.nonzero(given)
    return pd.DataFrame({"item": item, "annotator": person, "choice": np.where(is_good[given], GOOD, BAD)})


def row(cell: tuple[int, int, int, float, float], draws: int) -> dict[str, object]:
    """Return how often people are called different, where they do not differ and where they do."""
    random = np.random.default_rng(_SEED)
    level, power = (
        np.mean([compare_people(simulate(random, cell, ability)).p < _LEVEL for _ in range(draws)])
        for ability in (0.0, ABILITY)
    )
    return {
        **dict(zip(("people", "items", "lists", "good", "sd"), cell, strict=True)),
        "level": level,
        "power": power,
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000, help="simulated sets of answers for each number")
    draws = parser.parse_args().draws
    sys.stdout.write(pd.DataFrame([row(cell, draws) for cell in CELLS]).to_string(index=False) + "\n")


if __name__ == "__main__":
    main()
