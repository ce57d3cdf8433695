"""The stored log probabilities of tokens as tables: by phenomenon over training, and token by token."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.runs import Run
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.tokens.regions import SIDES, Ids, Regions, find_regions, sum_regions
from ucurve.errors import UserError
from ucurve.eval.pairs import in_accuracies
from ucurve.eval.store.tokens import StoredSentences, StoredTokens, read_sentences, read_tokens

OF_MEMBERS = ("critical", "first", "after", "length")
MARGINS = ("margin", "margin_before", "margin_critical", "margin_after")
VALUES = (*(f"{part}_{side}" for part in OF_MEMBERS for side in SIDES), *MARGINS)
_LINE = ["line", "phenomenon", "step"]


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
        f"{scored.benchmark}: no log probabilities of tokens are stored{of_steps}; python score.py run=RUN "
        f"'benchmarks=[{scored.benchmark}]' tokens=true stores them"
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
    pairs = scored.study.pairs(checkpoint.run, scored.benchmark)
    assert pairs is not None, "scores are stored beside their pairs"
    surprisal = np.where(checkpoint.sentences.scored, -checkpoint.stored.values / np.log(2), np.nan)
    values = sum_regions(checkpoint.regions, surprisal)
    members = checkpoint.sentences.members["pair"]
    named = pairs.loc[in_accuracies(pairs), ["pair", "phenomenon"]].astype({"phenomenon": str})
    each = values.assign(pair=members).merge(named, on="pair", validate="one_to_one")
    groups = [("all", each), *((name, rows) for name, rows in each.groupby("phenomenon") if name not in ("", "all"))]
    return pd.DataFrame([
        {**checkpoint.labels, "phenomenon": name, "pairs": len(rows), **rows[list(VALUES)].mean()}
        for name, rows in groups
    ])  # fmt: skip


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
        if name not in kept:
            kept[name] = _describe_tokens(scored.benchmark, checkpoint, pairs)
        described, at = kept[name], kept[name]["at"].to_numpy()
        surprisal = -checkpoint.stored.values[at] / np.log(2)
        tables.append(described.assign(**checkpoint.labels, surprisal=surprisal))
    if without or not tables:
        raise not_stored(scored, without)
    order = ["run", "line", "step", "tokens", *kept[name].columns.drop("at"), "surprisal"]
    return pd.concat(tables, ignore_index=True)[order]


def _describe_tokens(benchmark: str, checkpoint: Checkpoint, pairs: Collection[int] | None) -> pd.DataFrame:
    sentences, members = checkpoint.sentences, checkpoint.sentences.members
    if pairs is not None and (unknown := set(pairs) - set(members["pair"])):
        raise UserError(f"{benchmark}: there is no pair {min(unknown)}")
    rows = np.flatnonzero(members["pair"].isin(list(pairs)) if pairs is not None else np.ones(len(members), dtype=bool))
    tables = []
    for side in SIDES:
        region = checkpoint.regions[side]
        sizes = (region.end - region.start)[rows]
        owner = np.repeat(rows, sizes)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        at = region.start[owner] + place
        parts = np.select([at < region.critical[owner], at < region.after[owner]], ["before", "critical"], "after")
        table = {"pair": members["pair"].to_numpy()[owner], "side": side, "place": place, "id": sentences.tokens[at]}
        table |= {"text": _texts(sentences, members[side].to_numpy()[owner], at), "region": parts}
        table |= {"word": pd.array([pd.NA] * len(at), "Int64") if sentences.words is None else sentences.words[at]}
        tables.append(pd.DataFrame({**table, "scored": sentences.scored[at], "at": at}).astype({"word": "Int64"}))
    every = pd.concat(tables, ignore_index=True)
    return every.sort_values(["pair", "side", "place"], ascending=[True, False, True], ignore_index=True)


def _texts(sentences: StoredSentences, owner: Ids, at: Ids) -> list[str | None]:
    if sentences.places is None:
        return [None] * len(at)
    places = sentences.places[at].tolist()
    return [sentences.texts[number][first:end] for number, (first, end) in zip(owner.tolist(), places, strict=True)]
