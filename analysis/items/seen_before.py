"""How often a run had seen what differs in a pair before a checkpoint, and the lines of its training text with it.

Of all pairs at once it says how often the rarest words and word pairs stood in the training text of each run.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ucurve.analysis.data.groups import Pairs
from ucurve.analysis.items.histories import History
from ucurve.errors import UserError
from ucurve.eval.edits import FREQUENCIES, Edits, edited_ngrams, find_edits
from ucurve.eval.scoring.text.layout import delimits_words
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.progress import ProgressBar
from ucurve.storage.run_folder import TOKENIZER
from ucurve.token_stream.order import Batches
from ucurve.token_stream.run import RunTokens
from ucurve.token_stream.seen_text import count_ngrams, read_texts, split_words, whole_words

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

LONGEST = 3  # words of an n-gram
_LINES = 3  # of an n-gram, those that were seen last
_AT_ONCE = 10_000_000  # training tokens that are gone through in some seconds
_COLUMNS = ("run", "line", "pair", "phenomenon", "paradigm", "good", "bad")


@dataclass(frozen=True, eq=False)
class SeenPair:
    """Where the training text of a run has the n-grams in which the sentences of a pair differ."""

    ngrams: pd.DataFrame  # member, ngram and words, the size of the n-gram
    batches: Batches = field(repr=False)
    tokenizer: "PreTrainedTokenizerBase" = field(repr=False)
    spaced: bool  # whether words are what stands between spaces, and else characters
    # A row for each time that the run was trained on a sequence with one of them, in that order: ngram, step, start of
    # the sequence in the token stream, and how many times it has the n-gram.
    places: pd.DataFrame = field(repr=False)

    def before(self, step: int) -> pd.DataFrame:
        """Count the n-grams in the training text up to a step, which is at most the one that they were looked for.

        A row for each n-gram: ``member`` (good or bad), ``ngram``, ``words`` (its size), ``count``, the ``last_step``
        that had it, and ``lines``, up to three texts that had it, as far as they lie in one training sequence, the
        latest first.
        """
        seen = self.places[self.places["step"] <= step]
        counts, steps = seen.groupby("ngram")["times"].sum(), seen.groupby("ngram")["step"].max()
        latest = seen.drop_duplicates(["ngram", "start"], keep="last").groupby("ngram").tail(_LINES)
        lines: dict[str, list[str]] = {}
        for ngram, start, last in latest.iloc[::-1][["ngram", "start", "step"]].itertuples(index=False):
            (texts,) = read_texts(self.batches.at(int(last)), self.tokenizer, np.array([start]))
            of_text = zip(texts, whole_words(texts, self.spaced), strict=True)
            first = next(text for text, words in of_text if count_ngrams([words], {ngram}).counts).strip()
            lines.setdefault(ngram, []).append(first)
        names = self.ngrams["ngram"]
        return self.ngrams.assign(
            count=names.map(counts).fillna(0).astype(int),
            last_step=names.map(steps).astype("Int64"),
            lines=names.map(lambda ngram: lines.get(ngram, [])),
        )


def find_seen_pair(run: Path, step: int, pairs: pd.DataFrame, pair: int) -> SeenPair:
    """Look in the training text of a run up to a step for what differs in the sentences of one of the pairs of a table.

    Raises:
        UserError: when there is no such pair, when the run was not trained here or not for so many steps, or when its
            token stream is not there.
    """
    training = RunTokens.of(run)
    if not 0 <= step <= training.steps:
        raise UserError(
            f"{run.name}: step {step} is none of its training, which has the steps 0 to {training.steps}"
        )
    chosen = pairs[pairs["pair"] == pair]
    if chosen.empty:
        raise UserError(f"there is no pair {pair}; they are {pairs['pair'].min()} to {pairs['pair'].max()}")
    batches = training.batches(training.open_stream("what the run had seen"))
    tokenizer, spaced = load_tokenizer(run / TOKENIZER), delimits_words(pairs["good"].tolist())
    ngrams = list_edited(str(chosen["good"].iloc[0]), str(chosen["bad"].iloc[0]), spaced)
    return SeenPair(
        ngrams=ngrams,
        batches=batches,
        tokenizer=tokenizer,
        spaced=spaced,
        places=find_places(batches, tokenizer, step, ngrams["ngram"], spaced),
    )


def find_seen_at_once(run: Path, step: int, pairs: pd.DataFrame, pair: int) -> SeenPair | None:
    """Look for it where that takes seconds; None where the run had read much by the step, or its text is not there."""
    try:
        training = RunTokens.of(run)
        # Few readers look at these places, so the report does not wait for a long search.
        is_short = step * training.length * training.sequences <= _AT_ONCE
        return find_seen_pair(run, step, pairs, pair) if is_short else None
    except UserError:
        return None


def list_edited(good: str, bad: str, spaced: bool) -> pd.DataFrame:
    """List the n-grams of up to ``LONGEST`` words that have a word of the edit: ``member``, ``ngram``, ``words``."""
    sentences = {"good": split_words(good, spaced), "bad": split_words(bad, spaced)}
    others = dict(zip(sentences, reversed(sentences.values()), strict=True))
    rows = [
        (member, ngram, size)
        for member, words in sentences.items()
        for size, ngrams in enumerate(edited_ngrams(words, others[member], LONGEST), start=1)
        for ngram in dict.fromkeys(ngrams)
    ]
    return pd.DataFrame(rows, columns=["member", "ngram", "words"])


def find_places(
    batches: Batches, tokenizer: "PreTrainedTokenizerBase", step: int, ngrams: pd.Series, spaced: bool
) -> pd.DataFrame:
    """Find the training sequences of the steps up to one that have one of the n-grams; see ``SeenPair.places``."""
    stages = (_find_in_stage(*stage, tokenizer, set(ngrams), spaced) for stage in batches.stages(0, step))
    places = pd.concat([pd.DataFrame({name: [] for name in ("ngram", "start", "times", "step")}), *stages])
    return places.sort_values("step", kind="stable", ignore_index=True)


def _find_in_stage(
    batches: Batches, after: int, to: int, tokenizer: "PreTrainedTokenizerBase", wanted: set[str], spaced: bool
) -> pd.DataFrame:
    """Find them in the steps ``after + 1`` to ``to``, whose sequences have one length."""
    order = batches.starts_between(after, to)
    starts, parts = np.unique(order), [ngram.split(" ") for ngram in wanted]
    rows: list[tuple[str, int, int]] = []
    with ProgressBar("looking for a pair's words in the training text", len(starts), transient=True) as bar:
        for start, texts in zip(starts.tolist(), read_texts(batches, tokenizer, starts, bar), strict=True):
            text = "\n".join(texts).lower()
            if any(all(word in text for word in words) for words in parts):  # cutting into words takes longer
                counts = count_ngrams(whole_words(texts, spaced), wanted).counts
                rows += [(ngram, start, times) for ngram, times in counts.items()]
    places = pd.DataFrame(rows, columns=["ngram", "start", "times"]).astype(
        {"start": np.int64, "times": np.int64}
    )
    trained = pd.DataFrame({"start": order, "step": after + 1 + np.arange(len(order)) // batches.sequences})
    return places.merge(trained, on="start")


def frequency_table(histories: Sequence[History]) -> pd.DataFrame:
    """Look up the rarest word and the rarest bigram of the edit of each pair, in what each run had seen at its end.

    The end is the last scored checkpoint. ``FREQUENCIES`` are log10 of (count + 1) per million words seen; NaN, and the
    word missing, where the sentence has no word of its own or no bigram at the edit.
    """
    edits: dict[int, Edits] = {}
    tables = []
    for history in histories:
        shared = history.shared
        if id(shared) not in edits:  # runs with the same pairs share their table
            edits[id(shared)] = find_edits(shared.table)
        table = shared.table[["pair", "phenomenon", "paradigm", "good", "bad"]].reset_index(drop=True)
        table = table.assign(run=history.run.label, line=history.run.line)[list(_COLUMNS)]
        run, step = history.run, int(history.checkpoints["step"].max())
        if run.facts is None:
            raise UserError(
                f"{run.label} was not trained here, so it is not known how often words stood in its training text; "
                "open the runs that were trained here without it"
            )
        if step < 1:
            raise UserError(f"{run.label}: only step 0 is scored, at which it had seen no text")
        tables.append(table.join(edits[id(shared)].rarest(history.run.folder, step)))
    return pd.concat(tables, ignore_index=True)


def with_frequencies(histories: Sequence[History], columns: Collection[str]) -> list[History]:
    """Add ``FREQUENCIES`` to the pairs that all runs were scored on, each the mean over the runs, if a column is one.

    They are rounded to two places, so that values have short names.
    """
    if set(FREQUENCIES).isdisjoint(columns):
        return list(histories)
    table = frequency_table(histories)
    values = table[list(FREQUENCIES)].to_numpy().reshape(len(histories), -1, len(FREQUENCIES)).mean(axis=0)
    means = dict(zip(FREQUENCIES, values.round(2).T, strict=True))
    pairs = Pairs(histories[0].shared.table.assign(**means))
    return [replace(history, shared=pairs) for history in histories]
