"""The stored log probabilities of tokens as tables: by phenomenon over training, and token by token.

The critical region of a pair has the tokens in which its members differ, between what both begin and end with.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.errors import UserError
from ucurve.eval.pairs import in_accuracies, score_arguments
from ucurve.eval.store.tokens import StoredSentences, StoredTokens, read_sentences, read_tokens
from ucurve.invocation import command

SIDES = ("good", "bad")
Ids = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
OF_MEMBERS = ("critical", "first", "after", "length")
MARGINS = ("margin", "margin_before", "margin_critical", "margin_after")
VALUES = (*(f"{part}_{side}" for part in OF_MEMBERS for side in SIDES), *MARGINS)
_LINE = ["line", "phenomenon", "step"]


@dataclass(frozen=True, eq=False)
class Regions:
    """Where the parts of a pair's members lie among the tokens of all sentences, each int64[pairs]."""

    start: Ids  # first token of the member
    critical: Ids  # first token after those that both members begin with
    after: Ids  # first token after the region; the same tokens follow in both members
    end: Ids  # end of the member


def find_regions(sentences: StoredSentences, members: pd.DataFrame) -> dict[str, Regions]:
    """Find the critical regions of the ``good`` and the ``bad`` members of pairs.

    The tokens that both members begin with are the longest such part; those that both end with are the longest part of
    what is left. Where one member only lacks tokens of the other, its region is empty.
    """
    numbers = {side: members[side].to_numpy() for side in SIDES}
    starts = {side: sentences.starts[each] for side, each in numbers.items()}
    ends = {side: sentences.starts[each + 1] for side, each in numbers.items()}
    shortest = np.minimum(*(ends[side] - starts[side] for side in SIDES))
    width = int(shortest.max(initial=0))
    # All pairs are compared at once, in a table as wide as the longest, because a loop over pairs would be slow.
    offsets = np.arange(width)
    inside = offsets < shortest[:, None]
    last = len(sentences.tokens) - 1  # places beyond a sentence are read too, and ``inside`` leaves them out

    def equal(places: dict[str, Ids]) -> Ids:
        good, bad = (sentences.tokens[np.clip(places[side], 0, last)] for side in SIDES)
        same: Ids = np.logical_and.accumulate((good == bad) & inside, axis=1).sum(axis=1)
        return same

    before = equal({side: starts[side][:, None] + offsets for side in SIDES})
    after = equal({side: ends[side][:, None] - 1 - offsets for side in SIDES})
    after = np.minimum(after, shortest - before)
    return {side: Regions(starts[side], starts[side] + before, ends[side] - after, ends[side]) for side in SIDES}


def sum_regions(regions: dict[str, Regions], surprisal: Values) -> pd.DataFrame:
    """Add up the surprisal of the parts of each pair's members, in its unit; tokens with NaN add nothing.

    ``critical``, ``first`` (the first token that differs; NaN if it has no score, and for a member that ends before
    it), ``after`` (what follows the region) and ``length`` (tokens of the region) are there for ``_good`` and ``_bad``;
    ``margin`` is by how much the bad member is less probable, the sum of ``margin_before``, ``margin_critical`` and
    ``margin_after``.

    ``surprisal`` is float64[tokens] of all sentences.
    """
    scored, columns, before = np.nan_to_num(surprisal), dict[str, Values | Ids](), dict[str, Values]()
    for side, region in regions.items():
        first = surprisal[np.minimum(region.critical, len(surprisal) - 1)]
        before[side] = _sums(scored, region.start, region.critical)
        columns |= {
            f"critical_{side}": _sums(scored, region.critical, region.after),
            f"first_{side}": np.where(region.critical < region.end, first, np.nan),
            f"after_{side}": _sums(scored, region.after, region.end),
            f"length_{side}": region.after - region.critical,
        }
    margins = {
        "margin_before": before["bad"] - before["good"],
        **{f"margin_{part}": columns[f"{part}_bad"] - columns[f"{part}_good"] for part in ("critical", "after")},
    }
    return pd.DataFrame({**columns, "margin": sum(margins.values()), **margins})


def _sums(values: Values, first: Ids, end: Ids) -> Values:
    """Sum values from one place to another, each sum by itself, so that equal values have equal sums."""
    # ``reduceat`` also sums from each end to the next beginning; every other sum is wanted.
    places = np.stack([first, end], axis=1).ravel()
    sums = np.add.reduceat(np.append(values, 0.0), places)[::2]
    return np.where(first < end, sums, 0.0)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint of which the log probabilities of tokens are stored."""

    run: Run
    step: int
    tokens: float  # of the training
    stored: StoredTokens
    sentences: StoredSentences
    regions: dict[str, Regions]  # of all pairs, in the order of ``StoredSentences.members``

    @property
    def labels(self) -> dict[str, str | float]:
        """The columns that say which checkpoint a row is about."""
        return {"run": self.run.label, "line": self.run.line, "step": self.step, "tokens": self.tokens}


def read_checkpoints(scored: BenchmarkScores, steps: Collection[int] | None = None) -> Iterator[Checkpoint]:
    """Yield the checkpoints with stored tokens, run by run; of these steps only, if they are given."""
    shared: dict[str, tuple[StoredSentences, dict[str, Regions]]] = {}
    rows = scored.rows
    rows = rows[rows["step"] >= 0][["run", "scorer", "step", "tokens"]].drop_duplicates(["run", "step"])
    for run in scored.study.runs:
        own = rows[rows["run"] == run.label].sort_values("step")
        for scorer, step, tokens in own[["scorer", "step", "tokens"]].itertuples(index=False, name=None):
            wanted = steps is None or step in steps
            stored = read_tokens(run.folder, scored.benchmark, str(scorer), step) if wanted else None
            if stored is None:
                continue
            if stored.sentences not in shared:  # the name of the file is a hash of what is in it
                sentences = read_sentences(run.folder, scored.benchmark, stored.sentences)
                shared[stored.sentences] = sentences, find_regions(sentences, sentences.members)
            yield Checkpoint(run, step, tokens, stored, *shared[stored.sentences])


def not_stored(scored: BenchmarkScores, steps: Collection[int] = ()) -> UserError:
    """Make the error for a benchmark without stored tokens, or only without those of some steps."""
    of_steps = f" of step {', '.join(map(str, sorted(steps)))}" if steps else ""
    return UserError(
        f"{scored.benchmark}: no log probabilities of tokens are stored{of_steps}; "
        f"'{command('score', f'run=RUN {score_arguments(scored.benchmark)} tokens=true')}' stores them"
    )


def region_table(scored: BenchmarkScores) -> pd.DataFrame:
    """Average the surprisal of the parts of all pairs that accuracies count, and then the runs of each line.

    For each of ``VALUES`` there is the mean over pairs and runs and, as ``_sd``, the sample standard deviation over
    runs (NaN for one); in bits, except ``length``, which counts tokens.
    """
    rows = region_rows(scored)
    if rows.empty:
        return rows
    lines = [run.line for run in scored.study.runs]
    rows["line"] = pd.Categorical(rows["line"], list(dict.fromkeys(lines)))
    groups = rows.groupby(_LINE, observed=True)
    table = groups.agg(tokens=("tokens", "mean"), runs=("run", "count"), pairs=("pairs", "mean"))
    means, spread = groups[list(VALUES)].mean(), groups[list(VALUES)].std().add_suffix("_sd")
    return table.join(means).join(spread).reset_index().astype({"line": str, "pairs": int})


def region_rows(scored: BenchmarkScores, steps: Collection[int] | None = None) -> pd.DataFrame:
    """Compute ``region_table`` for each run by itself, at all checkpoints or those of some steps."""
    return stack(_average_pairs(scored, checkpoint) for checkpoint in read_checkpoints(scored, steps))


def _average_pairs(scored: BenchmarkScores, checkpoint: Checkpoint) -> pd.DataFrame:
    """Average the pairs of a checkpoint: a row for all, and one for each phenomenon."""
    pairs = scored.study.pairs(checkpoint.run, scored.benchmark)
    assert pairs is not None, "scores are stored beside their pairs"
    surprisal = np.where(checkpoint.sentences.scored, -checkpoint.stored.values / np.log(2), np.nan)
    values = sum_regions(checkpoint.regions, surprisal)
    members = checkpoint.sentences.members["pair"]
    named = pairs.loc[in_accuracies(pairs), ["pair", "phenomenon"]].astype({"phenomenon": str})
    each = values.assign(pair=members).merge(named, on="pair", validate="one_to_one")
    groups = [
        ("all", each),
        *((name, rows) for name, rows in each.groupby("phenomenon") if name not in ("", "all")),
    ]
    return pd.DataFrame(
        [
            {**checkpoint.labels, "phenomenon": name, "pairs": len(rows), **rows[list(VALUES)].mean()}
            for name, rows in groups
        ]
    )


def token_frame(
    scored: BenchmarkScores, pairs: Collection[int] | None = None, steps: Collection[int] | None = None
) -> pd.DataFrame:
    """List the tokens of pairs with their surprisal at every checkpoint, or those given, of which they are stored.

    ``tokens`` are those of the training; ``side`` is good or bad, ``place`` that in the sentence, ``text`` the
    characters of the token (missing where the tokenizer did not say), ``region`` before, critical or after, ``word``
    its number in the sentence (missing where white space delimits none), ``surprisal`` in bits (NaN for a token without
    score). A pair that does not exist, or a step of which no tokens are stored, is a ``UserError``.
    """
    tables, kept = [], dict[str, pd.DataFrame]()
    without = set[int]() if steps is None else {int(step) for step in steps}
    for checkpoint in read_checkpoints(scored, steps):
        name = checkpoint.stored.sentences
        without.discard(checkpoint.step)
        if name not in kept:  # checkpoints of one tokenizer have the same sentences
            kept[name] = _describe_tokens(scored.benchmark, checkpoint, pairs)
        described, at = kept[name], kept[name]["at"].to_numpy()
        surprisal = -checkpoint.stored.values[at] / np.log(2)
        tables.append(described.assign(**checkpoint.labels, surprisal=surprisal))
    if without or not tables:
        raise not_stored(scored, without)
    order = ["run", "line", "step", "tokens", *kept[name].columns.drop("at"), "surprisal"]
    return pd.concat(tables, ignore_index=True)[order]


def _describe_tokens(benchmark: str, checkpoint: Checkpoint, pairs: Collection[int] | None) -> pd.DataFrame:
    """List the tokens of pairs, with their places (``at``) among those of all sentences."""
    sentences, members = checkpoint.sentences, checkpoint.sentences.members
    if pairs is not None and (unknown := set(pairs) - set(members["pair"])):
        raise UserError(f"{benchmark}: there is no pair {min(unknown)}")
    rows = np.flatnonzero(members["pair"].isin(members["pair"] if pairs is None else list(pairs)))
    tables = []
    for side in SIDES:
        region = checkpoint.regions[side]
        sizes = (region.end - region.start)[rows]
        owner = np.repeat(rows, sizes)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        at = region.start[owner] + place
        parts = np.select(
            [at < region.critical[owner], at < region.after[owner]], ["before", "critical"], "after"
        )
        texts: list[str | None] = [None] * len(at)  # where the tokenizer did not say
        if sentences.places is not None:
            spans = zip(members[side].to_numpy()[owner].tolist(), sentences.places[at].tolist(), strict=True)
            texts = [sentences.texts[number][first:end] for number, (first, end) in spans]
        table = {
            "pair": members["pair"].to_numpy()[owner],
            "side": side,
            "place": place,
            "id": sentences.tokens[at],
            "text": texts,
            "region": parts,
            "word": pd.array([pd.NA] * len(at), "Int64") if sentences.words is None else sentences.words[at],
            "scored": sentences.scored[at],
            "at": at,
        }
        tables.append(pd.DataFrame(table).astype({"word": "Int64"}))
    every = pd.concat(tables, ignore_index=True)
    # Descending sides put good before bad.
    return every.sort_values(["pair", "side", "place"], ascending=[True, False, True], ignore_index=True)
