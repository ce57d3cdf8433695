"""The first screen of the report: what was trained, what was learned first and last, and which curves turn."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from ucurve.analysis.acquisition.order import FROM_START, LEARNED, LEVEL, NOT_LEARNED, TOO_FEW, Order, read_order
from ucurve.analysis.curves.learning import curve_table, learning_figure
from ucurve.analysis.data.design import Design
from ucurve.analysis.data.frames import stack
from ucurve.analysis.data.runs import NOT_TRAINED_HERE, Run
from ucurve.analysis.data.study import BenchmarkScores, Study
from ucurve.analysis.figures import paper
from ucurve.analysis.items.card import card_html, maker_of, pair_facts
from ucurve.analysis.items.histories import History, read_histories
from ucurve.analysis.items.seen_before import find_seen_at_once
from ucurve.analysis.plotting.facets import panels_by
from ucurve.analysis.plotting.figures import Drawing
from ucurve.analysis.plotting.style import readable, rounded_count
from ucurve.analysis.report.html import FirstScreen
from ucurve.analysis.shape.classify import NOT_TESTED, TURNS, Row
from ucurve.analysis.shape.power import MOST_SEEDS
from ucurve.analysis.shape.section import (
    MOST_PICTURED,
    classified_curves,
    count_classes,
    draw_smoothed,
    read_shapes,
)
from ucurve.analysis.shape.tables import SEEDS_ONLY, Shapes, unproven_turn
from ucurve.analysis.summary import format_range, headline
from ucurve.fields import format_count
from ucurve.gather import gather

_LEVEL = f"{100 * LEVEL:.0f} %"  # from which on a phenomenon is learned
_MOST_NAMED, _MOST_TURNS, _MOST_TOLD, _MOST_BENCHMARKS = 3, 3, 2, 3
_NOTE = (
    "Line: smoothed accuracy, mean over runs; band: 95 % for the whole curve; dots: checkpoints; triangle: a turn that "
    "is shown."
)


@dataclass(frozen=True)
class Story:
    """What is told of a benchmark."""

    heading: str  # the name of the benchmark
    accuracies: tuple[str, ...]
    order: tuple[str, ...]  # in which phenomena are learned
    turns: tuple[str, ...]
    pictures: tuple[Drawing, ...]
    tested: bool = False  # whether a curve could be tested


def tell_benchmark(scored: BenchmarkScores) -> Story:
    """Tell what was learned of a benchmark and which curves turn, with pictures of the curves."""
    shapes, order = read_shapes(scored), read_order(scored)
    accuracies = tuple(_describe_accuracies(scored))
    if shapes is None or order is None:
        return Story(scored.heading, accuracies, (), (), tuple(_draw_plain(scored)))
    maker = maker_of(scored.study.runs[0].folder, scored.benchmark)
    turns = tuple(describe_turns(shapes, read_histories(scored), maker))
    pictures = tuple(_draw_classified(scored, shapes))
    tested = bool((shapes.classes["class"] != NOT_TESTED).any())
    return Story(scored.heading, accuracies, tuple(_describe_order(order)), turns, pictures, tested)


def first_screen(study: Study, stories: Sequence[Story]) -> FirstScreen:
    """Put the first screen together; of many benchmarks the first ones are told, and one is drawn."""
    # Those whose curves could be tested come first.
    told = sorted(stories, key=lambda story: not story.tested)[:_MOST_BENCHMARKS]
    more = len(stories) - len(told)
    learned = [sentence for story in told for sentence in story.accuracies]
    learned += _name_benchmarks([(story.heading, story.order) for story in told])
    learned += [f"{more} more benchmarks are below."] if more else []
    turns = _name_benchmarks([(story.heading, story.turns) for story in told])
    facts = {
        "What was trained": tuple(_describe_runs(study)),
        "What was learned": tuple(learned),
        "Which curves turn": tuple(turns),
    }
    pictures = next((story.pictures for story in stories if story.pictures), ())
    if stories and len({run.line for run in study.runs}) > 1:
        first = next(scored for scored in study.benchmarks() if scored.heading == told[0].heading)
        # Masked models are scored in another way: without it, a part of the lines would not be seen.
        ways = [tuple(_draw_plain(one)) for one in study.benchmarks() if one.benchmark == first.benchmark]
        pictures = (*(overall for overall, *_ in filter(None, ways)), *ways[0][1:])
    told_facts = tuple((heading, lines) for heading, lines in facts.items() if lines)
    sentences = tuple(text for text in turns if not isinstance(text, Markup))
    return FirstScreen(told_facts, pictures, sentences[:_MOST_TURNS])


def _name_benchmarks(told: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Put the benchmark before each sentence that is not told of all of them; such a sentence is told once."""
    of_all = set.intersection(*(set(sentences) for _, sentences in told)) if told else set()
    named = (
        sentence if sentence in of_all or isinstance(sentence, Markup) else f"{heading}: {sentence}"
        for heading, sentences in told
        for sentence in sentences
    )
    return list(dict.fromkeys(named))


def describe_turns(shapes: Shapes, histories: Sequence[History] = (), maker: str | None = None) -> Iterator[str]:
    """Say which curves turn and how sure that is, then what looks like a turn and is not shown to be one.

    Each of the first comes with two pairs that turned wrong on its way down, where ``histories`` has its runs; the
    sentence is followed by their cards, as ``Markup``. ``maker`` is whose checks the pairs should pass.
    """
    rows = shapes.classes.sort_values("depth", ascending=False, kind="stable").to_dict("records")
    turned = [row for row in rows if row["class"] in TURNS]
    several = shapes.classes["line"].nunique() > 1
    for row in turned[:_MOST_TURNS]:
        told = f"{_describe_turn(row, shapes, several=several)}: {_describe_proof(row)}. {_describe_depth(row)}"
        # Two pairs that turned wrong on the way down, the most wrong ones then; their cards are folded.
        lost = _find_lost(row, shapes, histories).to_dict("records")
        quoted = [f"pair {one['pair']}, “{one['good']}” and “{one['bad']}”" for one in lost]
        yield (
            f"{told} Turned wrong on the way down (the good sentence first): {'; '.join(quoted)}."
            if lost
            else told
        )
        if lost:
            cards = Markup("").join(_lost_card(one, histories[one["history"]], maker) for one in lost)
            yield Markup("<details><summary>More on these pairs</summary>{}</details>").format(cards)
    if len(turned) > _MOST_TURNS:
        yield f"{len(turned) - _MOST_TURNS} more turn, see below."
    if not turned:
        tested = any(row["class"] != NOT_TESTED for row in rows)
        yield ("No curve turns beyond chance. " if tested else "") + count_classes(shapes.classes)
    # A reader sees these turns in the pictures and asks about them, so they are told together with the doubt.
    seen = sorted((row for row in rows if unproven_turn(row)), key=lambda row: -max(row["dip"], row["bump"]))
    for row in seen[: 1 if turned else 2]:
        yield f"{_describe_turn(row, shapes, several=several)}. {_describe_doubt(row)}"


def _describe_turn(row: Row, shapes: Shapes, *, several: bool) -> str:
    """Say from where to where a curve falls and comes back, or rises and falls back, by the accuracies drawn."""
    (since, before), (place, turned), (_, after) = _extremes(row, shapes)
    name = readable(str(row["phenomenon"])) if row["phenomenon"] != "all" else "the overall curve"
    of_line = f" of {row['line']}" if several else ""
    verbs = ("falls", "comes back") if _turn_of(row) == "dip" else ("rises", "falls back")
    own = shapes.curves[
        (shapes.curves["line"] == row["line"]) & (shapes.curves["phenomenon"] == row["phenomenon"])
    ]
    untrained = own.loc[own["tokens"] == 0, "accuracy"]
    start = f" (untrained: {100 * untrained.iloc[0]:.0f} %)" if len(untrained) else ""
    name = f"{name[:1].upper()}{name[1:]}"
    return (
        f"{name}{of_line} {verbs[0]} from {100 * before:.0f} % at {rounded_count(since, 2)}{start} "
        f"to {100 * turned:.0f} % at {rounded_count(place, 2)} tokens and {verbs[1]} to {100 * after:.0f} %"
    )


def _extremes(row: Row, shapes: Shapes) -> list[tuple[float, float]]:
    """Return tokens and accuracy before, at and after a turn, each where it is farthest out."""
    turn, curves = _turn_of(row), shapes.curves
    sign = 1 if turn == "dip" else -1
    line = curves[
        (curves["line"] == row["line"]) & (curves["phenomenon"] == row["phenomenon"]) & (curves["tokens"] > 0)
    ]
    accuracy = line.set_index("tokens")["accuracy"]
    place = (sign * accuracy[row[f"{turn}_start"] : row[f"{turn}_end"]]).idxmin()
    before, after = ((sign * part).idxmax() for part in (accuracy[:place], accuracy[place:]))
    return [(float(tokens), float(accuracy[tokens])) for tokens in (before, place, after)]


def _find_lost(row: Row, shapes: Shapes, histories: Sequence[History]) -> pd.DataFrame:
    """Find at most two such pairs, each with the ``history`` (its place) and the ``step`` in which it was so wrong."""
    way_down = slice(0, 2) if _turn_of(row) == "dip" else slice(1, 3)
    (start, _), (end, _) = _extremes(row, shapes)[way_down]
    own = [
        (place, one, one.checkpoints["tokens"].tolist())
        for place, one in enumerate(histories)
        if one.run.line == row["line"]
    ]
    changed = stack(
        one.changes(tokens.index(start), tokens.index(end)).assign(
            history=place, step=one.checkpoints["step"].iloc[tokens.index(end)]
        )
        for place, one, tokens in own
    )
    if changed.empty:
        return changed
    chosen = changed["phenomenon"].isin([row["phenomenon"]]) | (row["phenomenon"] == "all")
    lost: pd.DataFrame = changed[
        chosen & (changed["before"] == "right") & (changed["now"] == "wrong")
    ].drop_duplicates("pair")
    return lost.nsmallest(2, "margin")


def _lost_card(lost: Row, history: History, maker: str | None) -> Markup:
    """Write the card of a pair that turned wrong, with what the run had read of it."""
    pairs, run, pair, step = history.shared, history.run, lost["pair"], lost["step"]
    place = int((pairs.table["pair"] == pair).to_numpy().argmax())
    found = find_seen_at_once(run.folder, step, pairs.table, pair)
    facts = pair_facts(pairs, place, maker, None if found is None else found.before(step))
    return card_html([("Pair", f"{pair}, {lost['paradigm']}, at step {step:,} of {run.label}"), *facts])


def _describe_proof(row: Row) -> str:
    """Say by which p a turn is shown, and of what: of these pairs, these runs, or others too."""
    p = "p < 0.0001" if row["p"] < 0.0001 else f"p = {row['p']:.2g}"
    if row["runs"] == 1:
        return f"{row['class']} over the pairs of this run ({p}), which says nothing about another seed"
    if row["runs"] == 2:
        return f"{row['class']} ({p}), indicative with two seeds; a third helps most"
    if row["variation"] == SEEDS_ONLY:
        return (
            f"{row['class']} over {row['runs']} seeds on these pairs ({p} after Holm), whose few different edits say "
            "little of others"
        )
    return f"{row['class']} over pairs and {row['runs']} seeds ({p} after Holm)"


def _describe_doubt(row: Row) -> str:
    """Say why a turn that is seen is not shown, and what would help most."""
    if row["class_these_pairs"] in TURNS and row["variation"] != SEEDS_ONLY:
        shown = f"On these pairs it is shown for other seeds too ({row['class_these_pairs']})"
        return f"{shown}; for other pairs it is open."
    advice = {1: "With one run nothing can be said of other seeds; train two more.",
              2: "With two seeds this is not shown beyond chance; a third seed helps most."}  # fmt: skip
    more, need = row["more_seeds"], f"what limits it most: {row['limited_by']}"
    if more <= MOST_SEEDS:
        need = f"if it is real, {more:.0f} more seed{'s' if more > 1 else ''} would show it in 80 % of cases"
    told = advice.get(row["runs"], f"This is not shown beyond chance; {need}.")
    return f"{told} {_describe_depth(row)}"


def _describe_depth(row: Row) -> str:
    """Say how deep a turn is in the smoothed curve."""
    turn = _turn_of(row)
    low, high = (100 * row[f"{turn}_depth_{end}"] for end in ("low", "high"))
    interval = "" if math.isnan(low) else f" (95 %, of this curve alone: {low:.0f} to {high:.0f})"
    return f"Smoothed it is {100 * row[turn]:.0f} points deep{interval}."


def _turn_of(row: Row) -> str:
    """Name the turn that is told of a curve: that of its class, or else the deeper one."""
    if row["class"] in TURNS:
        return "dip" if row["class"] == "U-shaped" else "bump"
    return "dip" if row["dip"] >= row["bump"] else "bump"


def _describe_runs(study: Study) -> Iterator[str]:
    """Say what was trained, and of how many runs something is missing."""
    lines = gather((run.line, run) for run in study.runs if run.status != NOT_TRAINED_HERE)
    if len(lines) > 1:
        yield _describe_design(study.design, list(lines.values()))
    else:
        yield from map(_describe_line, lines.values())
    if elsewhere := sum(run.status == NOT_TRAINED_HERE for run in study.runs):
        yield (
            f"{elsewhere} models from elsewhere are scored."
            if elsewhere > 1
            else "A model from elsewhere is scored."
        )
    if running := sum(not run.has_ended for run in study.runs if run.status != NOT_TRAINED_HERE):
        yield f"{running} run{'s are' if running > 1 else ' is'} not finished."
    unscored = len({run.label for run in study.runs} - set(study.scores["run"].astype(str)))
    if 0 < unscored < len(study.runs):
        yield f"{unscored} run{'s have' if unscored > 1 else ' has'} no scores."
    for scored in study.benchmarks():
        if others := scored.on_other_pairs:
            yield (
                f"On {scored.heading} {_join(_some(others))} {'were' if len(others) > 1 else 'was'} scored on other "
                "pairs than the other runs: accuracies on different pairs do not compare."
            )
        for run, names in scored.mixed_settings.items():
            yield (
                f"On {scored.heading} the steps of {run} were scored with different settings ({', '.join(names)}), "
                "which its curve mixes: score all of them with one command."
            )


def _describe_design(design: Design, lines: Sequence[Sequence[Run]]) -> str:
    """Say how many lines of runs there are, in which factors they differ, and whether all levels are crossed."""
    seeds = sorted({len(line) for line in lines})
    counts = f"{' or '.join(map(str, seeds))} seed{'' if seeds == [1] else 's'} each"
    facts = lines[0][0].facts
    text = f", on {format_count(facts.tokens_budget)} tokens of {facts.data}" if facts else ""
    shared = "" if {"budget", "corpus"} & set(design.varying) else text
    runs = f"{sum(map(len, lines))} runs in {len(lines)} lines, {counts}{shared}"
    if not design.varying:
        return f"{runs}."
    levels = [f"{name} ({', '.join(design.levels(name))})" for name in design.varying]
    pairs = len(levels) * (len(levels) - 1) // 2
    crossed = ", every level of one with every level of the others" if 0 < pairs == len(design.crossed) else ""
    return f"{runs}: they differ in {_join(levels)}{crossed}."


def _describe_line(members: Sequence[Run]) -> str:
    """Say what the runs of the only line were trained with."""
    first, count = members[0], f"{len(members)} run{'s' if len(members) > 1 else ''}"
    facts = first.facts
    if facts is None:
        return f"{count} of {first.line}, without a record of the training."
    seeds = sorted({run.facts.seeds.init for run in members if run.facts})
    epochs = facts.tokens_budget / facts.corpus.tokens if facts.corpus.tokens else 0
    passes = f" ({epochs:.3g} passes over the text)" if epochs else ""
    objective = [] if facts.objective == "causal" else [f"objective={facts.objective}"]
    details = ", ".join([f"{facts.parameters['total']:,} parameters", *objective])
    model = f"{facts.model} ({details})"
    saved = [len(run.saved) for run in members]
    checkpoints = f", with {_span(saved)} checkpoints{' each' if len(members) > 1 else ''}" if any(saved) else ""
    return (
        f"{count} of {model} on {format_count(facts.tokens_budget)} tokens of {facts.data}{passes}; "
        f"tokenizer {facts.tokenizer} ({facts.vocabulary:,} tokens); "
        f"seed{'s' if len(seeds) > 1 else ''} {_join(list(map(str, seeds)))}{checkpoints}."
    )


def _describe_accuracies(scored: BenchmarkScores) -> Iterator[str]:
    """Say where accuracies begin and end; nothing where no run has one."""
    table = headline(scored.study)
    rows = table[(table["benchmark"] == scored.benchmark) & table["scorer"].isin(scored.scorers)]
    if rows.empty:
        return
    start = rows["start"].dropna()
    before = f"{format_range(start)} before training and " if len(start) else ""
    runs = f"{len(rows)} runs" if len(rows) > 1 else "1 run"
    yield (
        f"Accuracy on {scored.heading}: {before}{format_range(rows['accuracy'])} at the last scored checkpoint "
        f"({runs}, {_span(rows['n'].astype(int).tolist())} pairs, by {scored.linking}; chance is 50 %)."
    )


def _describe_order(order: Order) -> Iterator[str]:
    """Name the phenomena of each line that were learned first and last, with the tokens, and those without an order.

    What lies above the level from the start need not have been learned: an untrained model may have it.
    """
    lines = list(order.table.groupby("name", sort=False))
    if len(lines) > _MOST_TOLD:
        return
    for line, rows in lines:
        of_line = f" by {line}" if len(lines) > 1 else ""
        yield from _describe_learned(rows.dropna(subset="rank"), of_line)
        for state in (FROM_START, NOT_LEARNED, TOO_FEW):
            if names := sorted(map(readable, rows.loc[rows["state"] == state, "phenomenon"])):
                yield f"{state[:1].upper()}{state[1:]}{of_line}: {_join(_some(names))}."
    if lines:
        yield (
            f"Learned: the accuracy comes above {_LEVEL} to stay, from below it; first and last: in the first and the "
            "last half of the order, with 95 %."
        )


def _describe_learned(ranked: pd.DataFrame, of_line: str) -> Iterator[str]:
    """Name what was learned in the first and in the last half of an order, where the intervals of the ranks say so."""
    middle, rows = (len(ranked) + 1) / 2, ranked[ranked["state"] == LEARNED]
    is_early, is_late = rows["rank_high"] < middle, rows["rank_low"] > middle
    parts = {"First learned": is_early, "Last": is_late, "Learned": ~is_early & ~is_late}
    for what, chosen in parts.items():
        names = [f"{readable(row['phenomenon'])} ({_tell_onset(row)})" for row in rows[chosen].to_dict("records")]
        untold = ", not told apart" if what == "Learned" and len(rows) > 1 else ""
        if names:
            yield f"{what}{of_line}, with tokens: {_join(_some(names))}{untold}."


def _tell_onset(row: Row) -> str:
    """Write an onset; where its interval reaches the first checkpoint, only its upper end is known."""
    if row["onset_censored"] == "left":
        return f"at most {rounded_count(row['onset_high'], 2)}"
    return rounded_count(row["onset"], 2)


def _some(names: Sequence[str]) -> list[str]:
    more = len(names) - _MOST_NAMED
    return [*names[:_MOST_NAMED], f"{more} more"] if more > 0 else list(names)


def _draw_classified(scored: BenchmarkScores, shapes: Shapes) -> Iterator[Drawing]:
    """Draw the tested curves: that of all pairs, and phenomena, those that turn first."""
    if shapes.curves.empty:
        return
    table = classified_curves(shapes)
    overall = table[table["phenomenon"] == "all"]
    look = scored.study.look
    figure = draw_smoothed(overall, [("", overall)], _NOTE, look)
    yield _picture(scored, "overall", f"All pairs of {scored.heading}", overall, figure)
    classes = shapes.classes[shapes.classes["phenomenon"] != "all"]
    ranked = []
    for row in classes.fillna({"onset": math.inf}).to_dict("records"):
        # Curves that turn come first, then those that seem to, the deepest first, then in the order of learning.
        seems = max(row["dip"], row["bump"]) if unproven_turn(row) else 0.0
        ranked.append((row["class"] not in TURNS, -seems, row["onset"], str(row["phenomenon"])))
    order = [name for *_, name in sorted(ranked)]
    drawn = list(dict.fromkeys(name for name in order if name in set(table["phenomenon"])))[:MOST_PICTURED]
    if drawn:
        rows = table[table["phenomenon"].isin(drawn)]
        figure = draw_smoothed(rows, panels_by(rows, "phenomenon", drawn), _NOTE, look, _across(drawn))
        every = classes["phenomenon"].nunique()
        some = "" if every == len(drawn) else f", {len(drawn)} of {every}"
        yield _picture(
            scored,
            "phenomena",
            f"Phenomena{some}: those that turn first, then in the order of learning",
            rows,
            figure,
        )


def _draw_plain(scored: BenchmarkScores) -> Iterator[Drawing]:
    """Draw the accuracies of all lines themselves, where no shapes could be tested or there are several lines."""
    rows = scored.curve_rows()
    if rows.empty:
        return
    table = curve_table(rows, scored.study.runs)
    overall, look = table[table["phenomenon"] == "all"], scored.study.look
    figure = paper.draw(learning_figure(overall, look))
    yield _picture(scored, "overall", f"All pairs of {scored.heading}", overall, figure)
    names = sorted(set(table["phenomenon"].astype(str)) - {"all", ""}, key=str.casefold)[:MOST_PICTURED]
    if names:
        rows = table[table["phenomenon"].isin(names)]
        figure = paper.draw(replace(learning_figure(rows, look), by="phenomenon", across=_across(names)))
        yield _picture(scored, "phenomena", f"Phenomena of {scored.heading}", rows, figure)


def _picture(scored: BenchmarkScores, level: str, title: str, table: pd.DataFrame, figure: Figure) -> Drawing:
    return Drawing(
        f"overview_{scored.file_name}_{level}",
        title,
        f"Accuracy against training tokens, {scored.title}.",
        figure,
        table,
    )


def _across(panels: Sequence[str]) -> int:
    # Either way there are at most three rows of panels.
    return 6 if len(panels) > 15 else 5


def _span(counts: Collection[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
