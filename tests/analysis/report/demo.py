"""Runs like those of the demo: three seeds of one model, a phenomenon that gets worse before it gets better."""

from pathlib import Path

import numpy as np

from measurements.shapes.simulated_curves import SLOW, dip, flat, rising, simulate
from tests.analysis.item_runs import make_item_run, pair_table
from tests.analysis.synthetic import TOKENS_PER_STEP, run_maker

CURVES = {
    "agreement": rising(0.5, 0.95), "compound_classifier": dip(0.8, 0.3), "control_raising": rising(0.5, 0.99),
    "ellipsis": flat(0.5), "nominal_expression": rising(0.45, 0.9), "question": rising(0.5, 0.97),
}  # fmt: skip
STEPS = [2**power for power in range(13)]


def make_demo_runs(folder: Path, seeds: int = 3) -> str:
    """Write the runs; return the pattern that finds them."""
    pairs, draw = (
        pair_table({f"{name}_{part}": name for name in CURVES for part in (1, 2)}, 60),
        np.random.default_rng(4),
    )
    tokens = TOKENS_PER_STEP * np.array(STEPS)
    half_points = np.zeros((seeds, len(tokens), len(pairs)), dtype=np.uint8)
    for name, curve in CURVES.items():
        chosen = (pairs["phenomenon"] == name).to_numpy()
        half_points[:, :, chosen] = simulate(curve, tokens, SLOW, draw, seeds=seeds, items=int(chosen.sum()))
    make = run_maker(folder)
    for seed in range(seeds):
        scores = {0: np.tile([0, 2], len(pairs) // 2)} | dict(zip(STEPS, half_points[seed], strict=True))
        losses = {step: 8 - 0.5 * place - 0.02 * seed for place, step in enumerate(STEPS)}
        make_item_run(make, pairs, scores, seed=seed, bits=losses)
    return f"{folder}/runs/*"
