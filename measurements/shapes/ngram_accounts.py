"""Measure how often n-gram models are named as the account of simulated dips: where one is followed, and where not.

python -m measurements.shapes.ngram_accounts [--learners 200] [--items 300 1000] [--seeds 3]

Run it from the root of the project. Each learner is simulated many times. The table shows how often the test of shape
finds the dip (p at 5 %), and of all simulations how often each order is named and how often none. Its last columns are
about the order that is followed (the bigram where none is), of the dips found: the mean share, how often it is at least
one half, and how often each of the two tests is significant by itself, not adjusted for the orders.
"""

import argparse
import time
from collections import Counter

import numpy as np
import pandas as pd

from measurements.shapes.simulated_curves import token_axis
from measurements.shapes.simulated_ngrams import FOLLOWERS, ORDERS, OTHERS, Learned, Learner, learn
from ucurve.analysis.ngrams.dips import LEAST_SHARE, Dip, account_of_dip, dip_places
from ucurve.analysis.shape.classify import LEVEL, shape_test
from ucurve.analysis.shape.pooled import estimate_curve
from ucurve.analysis.shape.smoothing import Array, smoothing_weights

_SHAPE_DRAWS = 500


def account_of(learned: Learned, tokens: Array, seed: int = 0) -> pd.DataFrame | None:
    """Return the table of the dip of a simulated phenomenon; None where the test of shape finds no dip."""
    curve = estimate_curve(tokens, learned.half_points, learned.paradigms, learned.clusters)
    test = shape_test(curve, _SHAPE_DRAWS, seed)
    if test["p_u"] > LEVEL:
        return None
    start, bottom = dip_places(tokens, curve.mean, test["dip_start"], test["dip_end"])
    credit = learned.half_points.mean(axis=0) / 2
    before, after = smoothing_weights(np.log10(tokens))[[start, bottom]] @ credit
    wrong = (learned.margins[:, bottom] <= 0).astype(float)
    return account_of_dip(ORDERS, Dip(before - after, after, wrong, learned.paradigms, learned.clusters), seed)


def run(learner: Learner, tokens: Array, count: int, items: int, seeds: int, seed: int = 0) -> dict[str, object]:
    """Simulate a learner many times and count what is named."""
    draw = np.random.default_rng([seed, items])
    named: Counter[str] = Counter()
    rows = []
    for number in range(count):
        learned = learn(learner, tokens, draw, items=items, paradigms=6 if items < 600 else 10, seeds=seeds)
        table = account_of(learned, tokens, number)
        chosen = [] if table is None else table.loc[table["named"], "order"].tolist()
        named[f"{chosen[0]}-gram" if chosen else "none"] += 1
        if table is not None:
            rows.append(table[table["order"] == (learner.truth or 2)])
    found = pd.concat(rows, ignore_index=True)
    return {
        "learner": learner.name, "items": items, "dip found": len(found) / count,
        **{name: named[name] / count for name in (*(f"{order}-gram" for order in ORDERS), "none")},
        "share": float(found["share"].mean()), "share >= .5": float((found["share"] >= LEAST_SHARE).mean()),
        "loses": float((found["p_loss"] <= LEVEL).mean()), "follows": float((found["p_follows"] <= LEVEL).mean()),
    }  # fmt: skip


def main() -> None:
    """Simulate, count, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learners", type=int, default=200, help="simulations of each kind")
    parser.add_argument("--items", type=int, nargs="+", default=[300, 1000], help="pairs of the phenomenon")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each learner")
    parser.add_argument("--checkpoints", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    tokens = token_axis(arguments.checkpoints, 3.2)
    for items in arguments.items:
        for learner in (*FOLLOWERS, *OTHERS):
            before = time.perf_counter()
            row = run(learner, tokens, arguments.learners, items, arguments.seeds, arguments.seed)
            if learner is FOLLOWERS[0]:
                print("  ".join(f"{name:>40}" if name == "learner" else f"{name:>11}" for name in row))
            shown = [f"{value:11.3f}" if isinstance(value, float) else f"{value!s:>11}" for value in row.values()]
            print(
                f"{learner.name:>40}", *shown[1:], f"{time.perf_counter() - before:.0f} s", sep="  ", flush=True
            )


if __name__ == "__main__":
    main()
