"""Measure how often the intervals of scaling fits, the factor model, length bias and the best alpha hold the truth.

python -m measurements.intervals.fit_intervals [--repeats 100]

Run it from the root of the project. Prints a row for each simulated case, in percent. For scaling fits: how often the
intervals of the three parameters and the band hold the truth. For the factor model: how often a factor of languages and
one of pairs without effect has p < .05. For length bias: the mean Delta_acc and the mean signed differences that are
found, in points, and how often their intervals hold the true ones. For the best alpha, by each criterion: the true one,
which 200,000 templates of one pair each give, and how often its interval holds it.
"""

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import t as student

from ucurve.analysis.linking.length_bias import alpha_curve, best_alpha, best_of_curve
from ucurve.analysis.pairs.factors import clustered_errors
from ucurve.analysis.scaling.laws import LOGISTIC_LAW, POWER_LAW, Law, fit_tables
from ucurve.eval.metrics.bootstrap import LENGTH_BIASES, length_biases
from ucurve.eval.metrics.levels import levels_of
from ucurve.eval.metrics.sampling import clusters_of

_TRUTHS = ((POWER_LAW, np.array([1.0, 400.0, 0.15])), (LOGISTIC_LAW, np.array([0.85, 1.5, 17.0])))
_CASES = (  # different FLOPs, seeds, how far a cell lies off the law, noise, correlation of neighbors
    (8, 1, 0.0, 0.01, 0.0),
    (20, 1, 0.0, 0.01, 0.0),
    (20, 3, 0.0, 0.005, 0.0),
    (20, 3, 0.02, 0.005, 0.0),
    (20, 3, 0.05, 0.005, 0.0),
    (20, 1, 0.0, 0.015, 0.7),
    (20, 3, 0.0, 0.015, 0.7),
)
_LANGUAGES = ((2, 1000), (3, 1000), (5, 300), (10, 300), (20, 300))  # how many, pairs of each
_PAIRS = (600, 3000, 30_000)  # a fifth of them with the longer good member, a fifth with the longer bad one
_TEMPLATES = ((300, 300, 0.0), (16, 300, 0.3), (100, 300, 0.3), (100, 3000, 0.3))  # templates, pairs, correlation
_LENGTH_COSTS = (2.0, 3.0, 4.0)  # nats that a further token costs, where a sentence has 4 a token


def scaling_rows(repeats: int) -> Iterator[str]:
    """Yield a row for each case of a scaling fit."""
    for case in _CASES:
        for law, truth in _TRUTHS:
            draw = np.random.default_rng(7)
            held = np.mean([_scaling_held(law, truth, case, draw, seed) for seed in range(repeats)], axis=0)
            yield f"scaling\t{law.formula}\t{case}\t" + "\t".join(f"{100 * value:.0f}" for value in held)


def _scaling_held(
    law: Law, truth: np.ndarray, case: tuple[int, int, float, float, float], draw: np.random.Generator, seed: int
) -> list[float]:
    cells, seeds, off, noise, alike = case
    flops = np.geomspace(1e15, 1e20, cells)
    own = draw.normal(0, noise, (seeds, cells))
    for place in range(1, cells):
        own[:, place] = alike * own[:, place - 1] + np.sqrt(1 - alike**2) * own[:, place]
    apart = own + draw.normal(0, off, cells)
    values = law.curve(flops, truth) * np.exp(apart) if law is POWER_LAW else law.curve(flops, truth) + apart
    points = pd.DataFrame({"line": "a", "flops": np.tile(flops, seeds), "value": values.ravel()})
    parameters, curves = fit_tables(points, law, samples=100, seed=seed)
    band = curves[curves["source"] == "fit"]
    there = law.curve(band["flops"].to_numpy(float), truth)
    inside = (parameters["low"] <= truth) & (truth <= parameters["high"])
    return [*inside.astype(float), float(((band["low"] <= there) & (there <= band["high"])).mean())]


def factor_rows(repeats: int) -> Iterator[str]:
    """Yield a row for each number of languages, equal in size and very unequal."""
    for languages, size in _LANGUAGES:
        for spread in (0.0, 1.0):
            draw = np.random.default_rng(3)
            p = np.array([_factor_p(languages, size, spread, draw) for _ in range(repeats)])
            found = np.where(np.isnan(p).all(axis=0), np.nan, (p < 0.05).mean(axis=0))
            yield f"factors\t{languages} languages\tspread {spread}\t{100 * found[0]:.1f}\t{100 * found[1]:.1f}"


def _factor_p(languages: int, size: int, spread: float, draw: np.random.Generator) -> np.ndarray:
    sizes = np.maximum(20, (size * np.exp(draw.normal(0, spread, languages) - spread**2 / 2)).astype(int))
    language = np.repeat(np.arange(languages), sizes)
    of_language, of_pair = draw.normal(0, 1, languages)[language], draw.normal(0, 1, len(language))
    of_pair += 0.5 * draw.normal(0, 1, languages)[language]
    response = draw.normal(0, 0.5, languages)[language] + draw.normal(0, 0.2, languages)[language] * of_pair
    response += draw.normal(0, 3, len(language))
    design = np.column_stack([np.ones(len(language)), of_language, of_pair])
    betas = np.linalg.lstsq(design, response, rcond=None)[0]
    errors, freedom = clustered_errors(design, response - design @ betas, language)
    return np.asarray(2 * student.sf(np.abs(betas / errors), freedom)[1:])


def length_rows(repeats: int) -> Iterator[str]:
    """Yield a row for each number of pairs and true length bias."""
    for pairs in _PAIRS:
        for bias in (0.0, 0.02, 0.1):
            draw, truth = np.random.default_rng(1), np.array([bias, -bias, bias])
            found = np.array([_length_biases(pairs, bias, draw, seed) for seed in range(repeats)])
            held = ((found[:, 1] <= truth) & (truth <= found[:, 2])).mean(axis=0)
            shown = (*found[:, 0].mean(axis=0), *held)
            yield f"length\t{pairs} pairs\tbias {bias}\t" + "\t".join(f"{100 * value:.1f}" for value in shown)


def _length_biases(pairs: int, bias: float, draw: np.random.Generator, seed: int) -> list[list[float]]:
    words = [f"{number}" for number in range(pairs)]  # every pair has an edit of its own
    table = pd.DataFrame(
        {"paradigm": np.repeat(["a", "b"], pairs // 2), "phenomenon": "X", "good": words, "bad": "x"}
    )
    scores = pd.DataFrame({"n_good": np.tile([1, 2, 2, 2, 3], pairs // 5), "n_bad": 2})
    chances = np.tile([0.8 + bias, 0.8, 0.8, 0.8, 0.8 - bias], pairs // 5)
    credit = (draw.random(pairs) < chances).astype(float)
    found = length_biases(clusters_of(table, levels_of(table)), scores, credit, 300, seed)
    overall = 2  # after the two paradigms
    return [[found[name + part][overall] for name in LENGTH_BIASES] for part in ("", "_low", "_high")]


def alpha_rows(repeats: int) -> Iterator[str]:
    """Yield a row for each cost of a longer sentence and each kind of templates."""
    for cost in _LENGTH_COSTS:
        truth = best_of_curve(
            alpha_curve(*_length_templates(200_000, 200_000, 0.0, cost, np.random.default_rng(9)))
        )
        for templates, pairs, correlation in _TEMPLATES:
            held = [
                [one.low <= truth[one.criterion] <= one.high for one in best_alpha(*drawn)]
                for drawn in (
                    _length_templates(templates, pairs, correlation, cost, np.random.default_rng([7, seed]))
                    for seed in range(repeats)
                )
            ]
            shown = zip(truth.items(), np.mean(held, axis=0), strict=True)
            yield f"alpha\tcost {cost}\t{templates} templates\t{pairs} pairs\t{correlation} alike\t" + "\t".join(
                f"{name} {alpha}: {100 * value:.1f}" for (name, alpha), value in shown
            )


def _length_templates(
    templates: int, pairs: int, correlation: float, cost: float, draw: np.random.Generator
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return pairs and scores; a template's good sentences are shorter or longer by one token, or as long."""
    template = np.sort(np.arange(pairs) % templates)
    longer = np.array([0, 1, -1, 1, -1])[template % 5]
    n_bad = draw.integers(8, 16, templates)[template]
    of_template, of_pair = draw.normal(0, 1, templates)[template], draw.normal(0, 1, pairs)
    margin = 1 + 2 * (np.sqrt(correlation) * of_template + np.sqrt(1 - correlation) * of_pair)
    bad = -4.0 * n_bad + draw.normal(0, 4, pairs)
    sentences = {  # the last words are the edit, one of each template
        kind: [f"pair {pair} {kind}{place}" for pair, place in enumerate(template)] for kind in ("good", "bad")
    }
    table = pd.DataFrame({"pair": np.arange(pairs), "paradigm": "p", "phenomenon": "f", **sentences})
    lengths = {"n_good": n_bad + longer, "n_bad": n_bad}
    return table, pd.DataFrame(
        {"pair": table["pair"], "lp_good": bad - cost * longer + margin, "lp_bad": bad, **lengths}
    )


def main() -> None:
    """Simulate and print every row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=100, help="simulations of each case")
    repeats = parser.parse_args().repeats
    for rows in (length_rows, alpha_rows, factor_rows, scaling_rows):
        for row in rows(repeats):
            print(row, flush=True)


if __name__ == "__main__":
    main()
