"""Surprisal of words over training, and when they are acquired (Chang and Bergen 2022, section 3.2)."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from ucurve.analysis.acquisition.age import age_of_acquisition, half_way_times
from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.study import BenchmarkScores
from ucurve.analysis.figures.described import TOKENS, LineFigure, Up
from ucurve.analysis.figures.drawings import picture
from ucurve.analysis.plotting.facets import OVER_RUNS
from ucurve.analysis.report import questions
from ucurve.analysis.report.html import Column, ReportSection, TableView, table_columns
from ucurve.analysis.tokens.table import Checkpoint, read_checkpoints

_FEWEST = 5  # occurrences of a word in different sentences; the mean of fewer is that of these sentences
_LEAST_FALL = 1.0  # bits; on less no level tells when a word is acquired
_DRAWN = 12  # words, the most frequent ones
_AROUND = " \t\n.,;:!?…。，；：！？、\"'()[]«»“”‘’「」（）"
_SHOWN = table_columns(
    "line",
    Column("word", "Word"),
    Column("occurrences", "Sentences", "count"),
    Column("untrained", "First (bits)", "number"),
    Column("last", "Last (bits)", "number"),
    Column("age", "Acquired at (tokens)", "count"),
    Column("acquired", "Runs", "count"),
)
_LEVELS = table_columns(
    "factor",
    "level",
    Column("ratio", "Times the tokens (95 %)", "number", ("low", "high")),
    Column("against", "Of"),
    "p_holm",
    Column("phenomena", "Words", "count"),
)
_NOTE = (
    "A word's surprisal is the mean over the good sentences that it stands in, without punctuation around it. It is "
    "acquired at the tokens at which the smoothed surprisal has come half way from the first checkpoint to the last "
    "for good; the geometric mean over the runs that come there. Words in fewer than "
    f"{_FEWEST} sentences are left out. "
)


def word_rows(scored: BenchmarkScores) -> pd.DataFrame:
    """Average the surprisal of each word over the good sentences, by run and checkpoint, where words are stored.

    Columns: ``run``, ``line``, ``step``, ``tokens`` (of the training), ``word``, ``occurrences`` and ``bits``. A word
    that a sentence has twice counts twice; one without a score does not count.
    """
    checkpoints = (one for one in read_checkpoints(scored) if one.stored.words is not None)
    return stack(_average_words(one) for one in checkpoints)


def _average_words(checkpoint: Checkpoint) -> pd.DataFrame:
    """Average the surprisal of each word at a checkpoint."""
    sentences, stored = checkpoint.sentences, checkpoint.stored
    assert sentences.words is not None and sentences.places is not None, "words are found by their characters"
    assert stored.words is not None and stored.word_starts is not None
    owner = np.repeat(np.arange(len(sentences.texts)), np.diff(sentences.starts))
    first, end = sentences.places.T
    tokens = pd.DataFrame({"sentence": owner, "number": sentences.words, "first": first, "end": end})
    good = tokens[tokens["sentence"].isin(sentences.members["good"])]
    words = good.groupby(["sentence", "number"]).agg(first=("first", "min"), end=("end", "max"))
    places = stored.word_starts[words.index.get_level_values("sentence")] + words.index.get_level_values("number")
    words["bits"] = -stored.words[places] / np.log(2)
    texts = [sentences.texts[number] for number, _ in words.index]
    spans = zip(texts, words["first"], words["end"], strict=True)
    named = words.assign(word=[text[first:end].strip(_AROUND) for text, first, end in spans]).dropna(
        subset="bits"
    )
    # A word that was punctuation alone is empty now.
    table = named[named["word"] != ""].groupby("word")["bits"].agg(occurrences="size", bits="mean").reset_index()
    return table[table["occurrences"] >= _FEWEST].assign(**checkpoint.labels)


def word_ages(rows: pd.DataFrame) -> pd.DataFrame:
    """Say when each line acquires each word: a row for both, those acquired first at the top.

    ``rows`` are those of ``word_rows``. ``untrained`` and ``last`` are bits at the first and the last checkpoint, means
    over runs; ``age`` is the geometric mean of the tokens of the ``acquired`` runs that pass half way, NaN for none.
    """
    # Words stay in the index: as columns, "run" and "time" would be taken for the run and its time.
    own = [
        pd.Series(half_way_times(curves)[0].rename_axis(index="run", columns="word").unstack(), name="time")
        for _, curves in as_curves(rows).groupby("line")
    ]
    ends = rows.sort_values("tokens").groupby(["line", "word", "run"], sort=False)
    found = ends.agg(occurrences=("occurrences", "max"), untrained=("bits", "first"), last=("bits", "last"))
    known = stack((times.reset_index() for times in own), ("run", "word", "time"))
    known = known[np.isfinite(known["time"])]
    means = found.reset_index().merge(known, how="left", on=["run", "word"]).groupby(["line", "word"], sort=False)
    table = means.agg(
        occurrences=("occurrences", "max"),
        untrained=("untrained", "mean"),
        last=("last", "mean"),
        acquired=("time", "count"),
        time=("time", "mean"),
    ).reset_index()
    return (
        table.assign(age=10 ** table["time"]).drop(columns="time").sort_values(["line", "age"], ignore_index=True)
    )


def as_curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Return words as phenomena whose ``accuracy`` is the share of the way from a line's first surprisal to its last.

    So lines that begin at other heights, as with other tokenizers, can be compared. A word has no curve in a line in
    which it falls by less than a bit.
    """
    ends = rows.sort_values("tokens").groupby(["line", "word", "run"])["bits"].agg(["first", "last"])
    means = ends.groupby(["line", "word"]).mean()
    falling = means[means["first"] - means["last"] >= _LEAST_FALL].reset_index()
    own = rows.merge(falling, on=["line", "word"])
    way = (own["first"] - own["bits"]) / (own["first"] - own["last"])
    return own.assign(phenomenon=own["word"], accuracy=way)


@questions.section(questions.PAIRS, place=6, page="docs/token-scores.md")
def word_sections(scored: BenchmarkScores) -> Iterator[ReportSection]:
    """Draw and tabulate the words of a benchmark; nothing where no words are stored."""
    rows = word_rows(scored)
    if rows.empty:
        return
    rows = rows.astype({"run": str})
    ages, name = word_ages(rows), scored.file_name
    views = [TableView(f"{_NOTE}{scored.title}.", _SHOWN, ages, {f"words_{name}": ages})]
    factors = scored.study.design.table[list(scored.study.design.varying)]
    if not factors.empty and rows["run"].nunique() >= 2 * rows["line"].nunique():
        levels = age_of_acquisition(as_curves(rows[rows["run"].isin(factors.index)]), factors)
        text = (
            "How many times the tokens the runs of a level need to come half way of a word, each of its own way. "
        )
        views.append(TableView(f"{text}{scored.title}.", _LEVELS, levels, {f"words_by_factor_{name}": levels}))
    # A panel for each of the most frequent words, means over the runs of a line.
    frequent = rows.groupby("word")["occurrences"].max().nlargest(_DRAWN).index
    groups = rows[rows["word"].isin(frequent)].groupby(["line", "word", "step"], sort=False)
    means = groups.agg(
        tokens=("tokens", "mean"), bits=("bits", "mean"), sd=("bits", "std"), runs=("run", "count")
    ).reset_index()
    lines = means.assign(low=means["bits"] - means["sd"], high=means["bits"] + means["sd"])
    band = f"Band: ± {OVER_RUNS}." if lines["sd"].notna().any() else "No band: one run for each line."
    figure = LineFigure(lines, TOKENS, Up("bits", "Surprisal (bits)"), band, scored.study.look, by="word")
    note = f"Surprisal of the {len(frequent)} most frequent words in bits, {scored.title}. {_NOTE}{band}"
    drawing = picture(figure, f"words_{scored.file_name}_curves", "Surprisal of words", note, lines)
    yield ReportSection(f"Words of {scored.heading}", (drawing, *views))
