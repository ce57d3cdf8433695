"""How far the runs of a line agree on single pairs, and what initialization and data order each contribute to that.

Agreement is what goes beyond that of the accuracies alone. Where every one of several initializations was trained on
every one of several orders of the data, one run each, the differences between these runs on a pair are split by a
crossed two-way analysis of variance with random effects and one observation in each cell (Searle, Casella and McCulloch
1992, "Variance Components", chapter 4.3: the estimators that equate mean squares with their expectations). What an
initialization does on one order alone is in the rest.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.groups import Ids, Mask
from ucurve.analysis.data.runs import Run
from ucurve.analysis.items.histories import RIGHT, Floats, History, same_pairs
from ucurve.eval.metrics.levels import cohens_kappa
from ucurve.eval.metrics.sampling import TAIL
from ucurve.gather import gather

ALL_RUNS, SAME_INIT, SAME_ORDER, BOTH_DIFFER = "all runs", "same init", "same data order", "both differ"
AGREEMENT_COLUMNS = (
    "line", "phenomenon", "between", "step", "tokens", "runs", "run_pairs", "n", "kappa", "kappa_low", "kappa_high",
    "margin_correlation", "agreement",
)  # fmt: skip
PARTS = ("init", "order", "rest")
COMPONENT_COLUMNS = (
    "line", "phenomenon", "measure", "step", "tokens", "inits", "orders", "n",
    *PARTS, *(f"{part}_share{end}" for part in PARTS for end in ("", "_low", "_high")),
)  # fmt: skip
# inits and orders: with two, each variance is one squared difference, and a share may be anything
FEWEST_CROSSED = 3
_DRAWS = 2000  # of which 50 lie beyond each end of an interval
_TRIED = 6  # seeds of each kind among which the fewest runs to add are looked for


class SeedPair(NamedTuple):
    """What a run's numbers were drawn with."""

    init: int
    data: int


@dataclass(frozen=True, eq=False)
class LineRuns:
    """The runs of a line, in the order of the study, at the checkpoints that all of them have, on the same items."""

    line: str
    histories: Sequence[History]
    checkpoints: pd.DataFrame  # step and tokens

    @property
    def runs(self) -> list[Run]:
        """The runs, in the order of the study."""
        return [history.run for history in self.histories]

    @cached_property
    def right(self) -> Mask:
        """Which items are right, bool[runs, steps, items]."""
        return np.stack([history.verdicts[self._shared(history)] == RIGHT for history in self.histories])

    def margins(self, places: Iterable[int]) -> Floats:
        """Return the margins of the runs at some places, float64[places, steps, items]."""
        chosen = [self.histories[place] for place in places]
        return np.stack([history.margins[self._shared(history)] for history in chosen])

    def _shared(self, history: History) -> Mask:
        return history.checkpoints["step"].isin(self.checkpoints["step"]).to_numpy(dtype=bool)

    def parts(self) -> Iterator[tuple[str, Ids]]:
        """Yield ``all`` and every phenomenon with the places of its items."""
        return self.histories[0].parts()


def lines_of(histories: Iterable[History]) -> list[LineRuns]:
    """Put together the runs of a line that were scored on the same pairs, where two or more share a checkpoint."""
    lines = []
    for line, found in _by_line(histories).items():
        own = same_pairs(found)[0]
        steps = set.intersection(*(set(one.checkpoints["step"].tolist()) for one in own))
        places = own[0].checkpoints
        shared = places.loc[places["step"].isin(steps), ["step", "tokens"]].reset_index(drop=True)
        if len(own) > 1 and len(shared):
            lines.append(LineRuns(line, own, shared))
    return lines


def describe_left_out(histories: Iterable[History]) -> str:
    """Name the runs that were scored on other pairs than most runs of their line; empty where there are none."""
    labels = [label for found in _by_line(histories).values() for label in same_pairs(found)[1]]
    return (
        f"Scored on other pairs than most runs of their model, and left out: {', '.join(labels)}."
        if labels
        else ""
    )


def seeds_of(run: Run) -> SeedPair | None:
    """Return the seeds of a run; None for a model that was not trained here."""
    return SeedPair(run.facts.seeds.init, run.facts.seeds.data) if run.facts else None


def agreement_table(lines: Iterable[LineRuns]) -> pd.DataFrame:
    """Compare every two runs of each line on which pairs are right.

    There is a row per line, phenomenon (``all`` for all pairs), ``between`` and checkpoint: Cohen's kappa (1960; mean,
    smallest and largest over every two runs; missing where two are right on all items, or on none), the mean
    correlation of the margins of two runs (Pearson; missing where margins do not vary), and the mean share of items on
    which two agree. ``between`` is ``all runs``, and where some runs share one seed, rows of these.
    """
    rows = (row for line in lines for name, items in line.parts() for row in _compare(line, name, items))
    return stack(rows, AGREEMENT_COLUMNS)


def kappa(first: Mask, second: Mask) -> tuple[Floats, Floats]:
    """Return Cohen's kappa of two raters, bool[steps, items], and the share on which they agree, float64[steps]."""
    observed = (first == second).mean(axis=1)
    return cohens_kappa(first.mean(axis=1), second.mean(axis=1), observed), observed


def _by_line(histories: Iterable[History]) -> dict[str, list[History]]:
    return gather((history.run.line, history) for history in histories)


def _compare(line: LineRuns, phenomenon: str, items: Ids) -> Iterator[pd.DataFrame]:
    """Yield the rows of ``agreement_table`` of a phenomenon in a line, a table for each kind of two runs."""
    right = line.right[:, :, items]
    # Of each run and step the items have the mean 0 and the variance 1; NaN where they do not vary.
    values = line.margins(range(len(line.runs)))[:, :, items]
    apart = values - values.mean(axis=-1, keepdims=True)
    sd = apart.std(axis=-1, keepdims=True)
    varies = sd > 1e-12 * np.abs(values).max(initial=1)  # rounding leaves a little of equal margins
    margins = np.asarray(np.divide(apart, sd, out=np.full_like(apart, np.nan), where=varies))
    kinds = gather(
        (kind, (first, second))
        for first, second in combinations(range(len(line.runs)), 2)
        for kind in (ALL_RUNS, _between(line.runs[first], line.runs[second]))
    )
    some_share = SAME_INIT in kinds or SAME_ORDER in kinds  # else all runs differ in both, and one row tells it
    for between, compared in kinds.items():
        if between == ALL_RUNS or some_share:
            found = [kappa(right[first], right[second]) for first, second in compared]
            kappas, agreed = (np.stack(part) for part in zip(*found, strict=True))
            alike = pd.DataFrame([(margins[first] * margins[second]).mean(axis=1) for first, second in compared])
            known = pd.DataFrame(kappas)  # whose mean, smallest and largest pass over missing values
            yield line.checkpoints.assign(
                line=line.line,
                phenomenon=phenomenon,
                between=between,
                n=len(items),
                runs=len({run for two in compared for run in two}),
                run_pairs=len(compared),
                kappa=known.mean(),
                kappa_low=known.min(),
                kappa_high=known.max(),
                margin_correlation=alike.mean(),
                agreement=agreed.mean(axis=0),
            )[list(AGREEMENT_COLUMNS)]


def _between(first: Run, second: Run) -> str:
    one, other = seeds_of(first), seeds_of(second)
    if one is None or other is None or (one.init != other.init and one.data != other.data):
        return BOTH_DIFFER
    return SAME_INIT if one.init == other.init else SAME_ORDER


def seed_components(line: LineRuns) -> pd.DataFrame:
    """Split the variance between the runs of a line; without rows where no two inits are crossed with two orders.

    There is a row for each phenomenon (``all`` for all pairs), measure (``right``: 1 or 0; ``margin``) and checkpoint:
    the variance between runs, mean over the items, due to the initialization, to the data order, and the rest (by
    chance it may be negative). The shares are of the sum, negative ones taken for 0, with their 95 % intervals; missing
    where runs do not differ, and where there are fewer than three inits or orders.
    """
    crossing = find_crossing(line)
    if not crossing:
        return pd.DataFrame(columns=list(COMPONENT_COLUMNS))
    places = [place for row in crossing for place in row]
    inits, orders = len(crossing), len(crossing[0])
    rows = []
    for measure, values in (("right", line.right[places].astype(np.float64)), ("margin", line.margins(places))):
        cells = values.reshape(inits, orders, *values.shape[1:])
        for phenomenon, items in line.parts():
            squares = mean_squares(cells[..., items])
            rows.append(
                line.checkpoints.assign(
                    line=line.line,
                    phenomenon=phenomenon,
                    measure=measure,
                    inits=inits,
                    orders=orders,
                    n=len(items),
                    **components(squares, inits, orders),
                    **shares_with_intervals(squares, inits, orders),
                )
            )
    return pd.concat(rows, ignore_index=True)[list(COMPONENT_COLUMNS)]


def mean_squares(values: Floats) -> dict[str, Floats]:
    """Return the mean squares within items, float64[steps], mean over the items of [inits, orders, steps, items]."""
    inits, orders = values.shape[:2]
    mean = values.mean(axis=(0, 1))
    of_inits, of_orders = values.mean(axis=1) - mean, values.mean(axis=0) - mean
    rest = values - mean - of_inits[:, None] - of_orders[None]
    freedom = _freedom(inits, orders)
    squares = {
        "init": orders * (of_inits**2).sum(axis=0),
        "order": inits * (of_orders**2).sum(axis=0),
        "rest": (rest**2).sum(axis=(0, 1)),
    }
    return {part: (found / freedom[part]).mean(axis=-1) for part, found in squares.items()}


def components(squares: Mapping[str, Floats], inits: int, orders: int) -> dict[str, Floats]:
    """Estimate the components of variance from mean squares."""
    return {
        "init": (squares["init"] - squares["rest"]) / orders,
        "order": (squares["order"] - squares["rest"]) / inits,
        "rest": squares["rest"],
    }


def _freedom(inits: int, orders: int) -> dict[str, int]:
    return {"init": inits - 1, "order": orders - 1, "rest": (inits - 1) * (orders - 1)}


def find_crossing(line: LineRuns) -> list[list[int]]:
    """Return the places of the most runs in which every init meets every order, a row for each init, or no row."""
    cells = _cells(line)
    orders = {init: frozenset(seeds.data for seeds in cells if seeds.init == init) for init, _ in cells}
    # The orders of the largest crossing are those that some inits share: an intersection of their sets.
    candidates = set(orders.values())
    while more := {one & other for one, other in combinations(candidates, 2)} - candidates:
        candidates |= more
    found = [(sorted(init for init in orders if shared <= orders[init]), sorted(shared)) for shared in candidates]
    crossed = [(inits, shared) for inits, shared in found if len(inits) > 1 and len(shared) > 1]
    # Of equally large ones the choice does not depend on the order in which a set yields them.
    inits, shared = max(crossed, key=lambda both: (len(both[0]) * len(both[1]), both), default=([], []))
    return [[cells[SeedPair(init, data)] for data in shared] for init in inits]


def why_not_crossed(line: LineRuns) -> str:
    """Say why init and order cannot be told apart in a line, which is not named, and which runs would let one."""
    cells = _cells(line)
    if len(cells) < len(line.runs):
        return "init and data order cannot be told apart, as not all runs record their seeds."
    # The fewest runs that would cross two inits with two orders.
    there = set(cells)
    known = ({seeds[place] for seeds in there} for place in range(2))
    # Where there is one seed only, the smallest other one.
    inits, orders = (
        sorted(seeds if len(seeds) > 1 else seeds | {min({0, 1} - seeds)})[:_TRIED] for seeds in known
    )
    crossings = [product(some, others) for some in combinations(inits, 2) for others in combinations(orders, 2)]
    missing = [sorted({SeedPair(*cell) for cell in crossing} - there) for crossing in crossings]
    needed = min(missing, key=lambda runs: (len(runs), runs))
    return (
        "what init and data order each contribute cannot be told apart, as no two inits were trained on the same two "
        f"data orders. The runs have {_name_seeds(cells)}. Train {_name_seeds(needed)} too."
    )


def _cells(line: LineRuns) -> Mapping[SeedPair, int]:
    return {seeds: place for place, run in enumerate(line.runs) if (seeds := seeds_of(run)) is not None}


def _name_seeds(cells: Iterable[SeedPair]) -> str:
    return ", ".join(f"seeds.init={seeds.init} seeds.data={seeds.data}" for seeds in sorted(cells))


def shares_with_intervals(squares: Mapping[str, Floats], inits: int, orders: int) -> dict[str, Floats]:
    """Return the shares of the components and their 95 % intervals; NaN for fewer inits or orders than three.

    The intervals are of generalized pivotal quantities (Weerahandi 1993, "Generalized confidence intervals"): each mean
    square times its degrees of freedom over a chi-square number gives a draw of its expectation, and three of them a
    draw of the shares. The degrees of freedom are those of one item, as a seed may do the same to all of them.
    """
    shares = _shares(components(squares, inits, orders))
    if min(inits, orders) < FEWEST_CROSSED:
        nothing = np.full(len(squares["rest"]), np.nan)
        return {f"{name}{end}": nothing for name in shares for end in ("", "_low", "_high")}
    random = np.random.default_rng(0)
    drawn = {
        part: squares[part] * freedom / random.chisquare(freedom, (_DRAWS, 1))
        for part, freedom in _freedom(inits, orders).items()
    }
    bounds = {
        name: np.quantile(one, (TAIL, 1 - TAIL), axis=0)
        for name, one in _shares(components(drawn, inits, orders)).items()
    }
    return {
        column: values
        for name, share in shares.items()
        for column, values in ((name, share), (f"{name}_low", bounds[name][0]), (f"{name}_high", bounds[name][1]))
    }


def _shares(parts: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the share of each component in their sum, negative ones taken for 0; NaN where all are."""
    clipped = {part: np.maximum(0, found) for part, found in parts.items()}
    total = np.sum(list(clipped.values()), axis=0)
    return {
        f"{part}_share": np.divide(one, total, out=np.full_like(total, np.nan), where=total > 0)
        for part, one in clipped.items()
    }
