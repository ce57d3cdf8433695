"""The command ``generate``: makes a benchmark folder from a source, or checks one that is there."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
from pydantic import BeforeValidator, PositiveInt
from pydantic.dataclasses import dataclass

from ucurve.config import check
from ucurve.config_files import CONFIGURATION
from ucurve.errors import UserError
from ucurve.eval.benchmarks.card import check_name
from ucurve.eval.benchmarks.registry import CARDS
from ucurve.eval.metrics.clusters import edit
from ucurve.eval.metrics.sampling import FEWEST_CLUSTERS
from ucurve.fields import STRICT, Texts, format_names
from ucurve.generation.benchmark_folder import REPORT_FILE, write_benchmark
from ucurve.generation.check import check_folder
from ucurve.generation.decontaminate import Familiarity, FilterSettings, filtered, read_familiarity, threshold
from ucurve.generation.differences import Member, describe_differences, find_differences
from ucurve.generation.lengths import LOPSIDED, Lengths, Shares, read_lengths, shares
from ucurve.generation.maker import PAIRS, SURPLUS, Chooser, Drawn, Made, Outcome, import_part
from ucurve.generation.variety import treebank_report
from ucurve.progress import ProgressBar, log_line
from ucurve.storage.locks import new_output
from ucurve.templates.pair import Pair, Reason, Value
from ucurve.text_table import format_table
from ucurve.yaml_files import file_names

ALL = "all"
_NAMED = 5  # of the paradigms with mostly longer bad members, in the message


def _number_or_all(value: object) -> object:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if value is None or value == ALL or whole:
        return value
    raise ValueError(f"{value!r} is not a whole number of at least 1, or {ALL!r}")


@dataclass(frozen=True, config=STRICT, kw_only=True)
class GenerateSettings:
    """What every source takes; conf/generate.yaml describes every key."""

    source: str | None = None  # the choice of the group has it
    out: Path | None
    pairs: Annotated[int | str | None, BeforeValidator(_number_or_all)]
    longest: PositiveInt | None
    lengths: Literal["balanced"] | None
    tokenizer: Path | None
    seed: int
    check: Path | None
    run: Path | None
    parses: Texts
    corpus: Texts
    filter: FilterSettings


def generate_command(values: dict[str, object]) -> None:
    """Make a benchmark folder and say what is in it, or print what the checks of a folder find or what parses hold."""
    # The other keys are those of a source, which its maker checks.
    own = {one.name for one in fields(GenerateSettings)}
    settings = check(GenerateSettings, {name: value for name, value in values.items() if name in own})
    keys = {name: value for name, value in values.items() if name not in own}
    if settings.run is not None and settings.check is None:
        raise UserError("run: goes with check=DIR, whose pairs are looked up in the training text of the run")
    if settings.corpus and not settings.parses:
        raise UserError("corpus: goes with parses=FILE, whose words are looked up in it")
    if settings.check is not None:
        text = check_folder(settings.check, keys, settings.run, settings.parses, settings.corpus)
        sys.stdout.write(text + "\n")
    elif settings.parses and settings.source is not None:
        raise UserError("parses: goes with check=DIR, or alone, and not with a source")
    elif settings.parses:
        sys.stdout.write(treebank_report(settings.parses, settings.corpus) + "\n")
    else:
        _make(settings, keys)


def _make(settings: GenerateSettings, keys: Mapping[str, object]) -> None:
    """Make a benchmark folder of a source, or the tables of one of its stages."""
    if settings.source is None:
        raise UserError(f"source: no value given; allowed: {', '.join(file_names(CONFIGURATION / 'source'))}")
    # A folder that cannot be made is told before any work; a stage of a source may only print tables.
    _check_out(settings.out, needed=keys.get("stage", PAIRS) == PAIRS)
    maker = import_part(settings.source, "make")
    asked = check(maker.Settings, keys)
    lengths = read_lengths(settings.longest, settings.lengths is not None, settings.tokenizer)
    familiarity = read_familiarity(settings.filter) if settings.filter.scores else None
    made: Made = maker.make(asked, settings.seed)
    for note in made.notes:
        log_line(note)
    if made.paradigms:
        build_benchmark(made, settings, keys, lengths, familiarity)
        return
    # A stage that makes tables alone has no paradigms, and needs no folder.
    if settings.out is not None:
        with new_output(settings.out) as folder:
            _write_tables(made, folder)
    for name, rows in made.tables.items():
        sys.stdout.write(f"{name}\n{format_table(rows) if rows else 'nothing'}\n")


def build_benchmark(
    made: Made,
    settings: GenerateSettings,
    keys: Mapping[str, object],
    lengths: Lengths | None = None,
    familiarity: Familiarity | None = None,
) -> list[Outcome]:
    """Choose pairs, write the folder, complete or not at all, and return what became of each paradigm.

    Args:
        keys: the settings of the source, for the card.
        lengths: how sentences are measured, and which pairs are left out for it.
        familiarity: takes the pairs that models seem least to have seen.

    Raises:
        UserError: when the folder cannot be made, or no pair was found.
    """
    _check_out(settings.out, needed=True)
    assert settings.out is not None
    lengths = lengths or Lengths()
    if familiarity is not None:
        made = filtered(made, familiarity)
    pairs = _wanted(made, settings.pairs)
    outcomes = _choose(made, pairs, settings.seed, lengths)
    found = [shares(outcome.pairs, lengths) for outcome in outcomes]
    for outcome, share in zip(outcomes, found, strict=True):
        outcome.facts.update(share._asdict())
        differences = find_differences(_members(outcome), made.lemmas, lengths)
        outcome.facts.update({kind: len(members) for kind, members in differences.items()})
        if familiarity is not None:
            outcome.facts["threshold"] = threshold(outcome, familiarity)
        if made.word and outcome.pairs:
            outcome.facts.update(_commonest(outcome.pairs, made.word))
    if not any(outcome.pairs for outcome in outcomes):
        raise UserError(
            "no pairs: " + "; ".join(f"{outcome.paradigm.name}: {_why(outcome)}" for outcome in outcomes)
        )
    with new_output(settings.out) as folder:
        write_benchmark(folder, settings.out.absolute().name, made, outcomes, _how(settings, pairs, keys))
        _write_tables(made, folder)
    _summarize(outcomes, pairs, settings.out)
    _name_lopsided(outcomes, found, lengths)
    _name_few_edits(outcomes)
    _name_one_word(outcomes)
    members = [one for outcome in outcomes for one in _members(outcome)]
    for sentence in describe_differences(members, made.lemmas, lengths):
        log_line(sentence)
    return outcomes


def _members(outcome: Outcome) -> list[Member]:
    return [Member(outcome.paradigm.name, pair.good, pair.bad) for pair in outcome.pairs]


def _commonest(pairs: Sequence[Pair], column: str) -> dict[str, Value]:
    """Return the word of more than half of the pairs of a paradigm, with their number; nothing where none is."""
    [(word, count)] = Counter(pair.columns[column] for pair in pairs).most_common(1)
    return {"one_word": f"{word}, {count} of {len(pairs)}"} if count > len(pairs) / 2 else {}


def _how(settings: GenerateSettings, pairs: int | None, keys: Mapping[str, object]) -> dict[str, object]:
    """Return source and settings for card and report; those of lengths where they are given."""
    lengths = {"longest": settings.longest, "lengths": settings.lengths, "tokenizer": settings.tokenizer}
    return {
        "source": settings.source,
        "seed": settings.seed,
        "pairs": pairs or ALL,
        **_named(
            {name: str(value) if name == "tokenizer" else value for name, value in lengths.items() if value}
        ),
        "settings": _named(keys),
    }


def _check_out(out: Path | None, needed: bool) -> None:
    """Check that a folder can be made, and that its name can be that of a benchmark."""
    if out is None:
        if needed:
            raise UserError("out: no value given; name the folder to make")
        return
    if any(path.is_file() for path in out.parents):
        raise UserError(f"{out} lies below a file; name a folder that does not exist")
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise UserError(f"{out} exists already; name a folder that does not")
    name = out.absolute().name
    try:
        check_name(name)
    except ValueError as error:
        raise UserError(f"out: {error}") from error
    if (CARDS / f"{name}.yaml").is_file():
        raise UserError(
            f"out: {name!r} is the name of a published benchmark; the folder's name names what is made"
        )


def _wanted(made: Made, pairs: int | str | None) -> int | None:
    """Return how many pairs of each paradigm are made; None for all candidates."""
    if pairs is None:
        return made.default_pairs
    if isinstance(pairs, int):
        return pairs
    if any(isinstance(paradigm, Drawn) for paradigm in made.paradigms):
        raise UserError(
            "pairs: 'all' is for sources whose candidates can be counted; this one draws: give a number"
        )
    return None


def _choose(made: Made, pairs: int | None, seed: int, lengths: Lengths) -> list[Outcome]:
    chooser, outcomes = Chooser(pairs, seed, made.across, lengths), []
    with ProgressBar("paradigms", len(made.paradigms)) as bar:
        for paradigm in made.paradigms:
            outcomes.append(chooser.choose(paradigm))
            bar.advance(note=paradigm.name)
    return outcomes


def _named(keys: Mapping[str, object]) -> dict[str, object]:
    """Return settings for a card: of a path only its name, so that the bytes do not tell where the input was."""

    def short(value: object) -> object:
        if isinstance(value, list):
            return [short(item) for item in value]
        return Path(value).name if isinstance(value, str) and "/" in value else value

    return {name: short(value) for name, value in keys.items()}


def _summarize(outcomes: Sequence[Outcome], pairs: int | None, out: Path) -> None:
    """Say how many pairs there are, and where the input holds fewer than were asked for, in a table."""
    fewer = [] if pairs is None else [outcome for outcome in outcomes if len(outcome.pairs) < pairs]
    made = sum(len(outcome.pairs) for outcome in outcomes)
    if fewer:
        names = ("paradigm", "pairs", "candidates", "why not more")
        cells = [(one.paradigm.name, len(one.pairs), one.candidates, _why(one)) for one in fewer]
        rows = [dict(zip(names, row, strict=True)) for row in cells]
        full = f"{len(outcomes) - len(fewer)} of {len(outcomes)} paradigms have {pairs} pairs"
        log_line(f"{full}; the source gives these fewer, and all of them are kept:\n{format_table(rows)}")
    filled = sum(bool(outcome.pairs) for outcome in outcomes)
    log_line(f"{made} pairs of {filled} paradigm{'' if filled == 1 else 's'}; see {out / REPORT_FILE}")


def _name_lopsided(outcomes: Sequence[Outcome], found: Sequence[Shares], lengths: Lengths) -> None:
    """Name the paradigms whose bad members are mostly longer, so that taking the shorter sentence alone does well."""
    named = [
        (one.accuracy_of_shorter or 0.0, outcome)
        for one, outcome in zip(found, outcomes, strict=True)
        if one.lopsided
    ]
    if not named:
        return
    named.sort(key=lambda entry: -entry[0])  # the most lopsided one comes first
    shown = [f"{outcome.paradigm.name} {wins} %" for wins, outcome in named]
    filled = sum(bool(outcome.pairs) for outcome in outcomes)
    log_line(
        f"the bad sentence is longer (in {lengths.unit}) in more than {LOPSIDED:.0%} of the pairs of {len(named)} of "
        f"{filled} paradigms. Taking the shorter sentence is right in: {format_names(shown, _NAMED)}; "
        f"{REPORT_FILE} has all. lengths=balanced makes equal shares."
    )


def _name_few_edits(outcomes: Sequence[Outcome]) -> None:
    """Name the paradigms whose pairs differ in the same few words, so that their accuracies get no interval."""
    made = [outcome for outcome in outcomes if outcome.pairs]
    edits = [len({edit(pair.good, pair.bad) for pair in outcome.pairs}) for outcome in made]
    few = [(outcome, number) for outcome, number in zip(made, edits, strict=True) if number < FEWEST_CLUSTERS]
    if few:
        named = [f"{outcome.paradigm.name} ({number})" for outcome, number in few]
        advice = "more pairs do not help, other words in the place where the sentences differ do."
        if any(len(outcome.pairs) < FEWEST_CLUSTERS for outcome, _ in few):
            advice = "more pairs may help, or other words in the place where the sentences differ."
        log_line(
            f"in {len(named)} of {len(made)} paradigms good and bad sentence differ in fewer than {FEWEST_CLUSTERS} "
            f"different ways: {format_names(named, _NAMED)}. Their accuracies will have no interval; {advice}"
        )


def _name_one_word(outcomes: Sequence[Outcome]) -> None:
    """Name the paradigms of which one word is more than half, the largest first."""
    shown = [
        f"{one.paradigm.name} ({one.facts['one_word']})"
        for one in sorted(outcomes, key=lambda one: -len(one.pairs))
        if "one_word" in one.facts
    ]
    if shown:
        log_line(
            f"one verb is more than half of {len(shown)} of {sum(bool(one.pairs) for one in outcomes)} paradigms: "
            f"{format_names(shown, _NAMED)}; {REPORT_FILE} has all. "
            "What a model gets right there may be that verb alone."
        )


def _why(outcome: Outcome) -> str:
    """Say in a few words why a paradigm has no more pairs."""
    if outcome.paradigm.note:
        return outcome.paradigm.note
    reasons = [(reason, count) for reason, count in outcome.reasons.most_common() if reason != SURPLUS]
    if not reasons:
        return "no more candidates" if outcome.candidates else "no candidates"
    reason, count = reasons[0]
    cause = "too few different sentences" if reason == Reason.DUPLICATE else f"most often {reason}"
    return f"{cause} ({count} times)"


def _write_tables(made: Made, folder: Path) -> None:
    for name, rows in made.tables.items():
        pd.DataFrame(list(rows)).to_csv(folder / f"{name}.csv", index=False)
