"""The embedded demo: a small Chinese grammar that yields a benchmark and the text to train on.

The grammar lies beside this file in ``demo_grammar``: vocabulary, phrases, the templates of the benchmark, and further
sentence patterns, all in the template language and written for this project.
"""

import random
from collections.abc import Iterable, Iterator
from functools import cache, partial
from importlib.resources import as_file, files
from typing import Final

from ucurve.templates.engine import draw_pair, fill, sentence
from ucurve.templates.grammar import Alternatives, Grammar, TiedTemplate
from ucurve.templates.pair import DrawFailed, Pair, Value, draw_pairs, seeded
from ucurve.templates.template import read_patterns, read_phrases, read_templates
from ucurve.templates.vocabulary import read_vocabulary

PAIRS_PER_PARADIGM: Final = 100
SENTENCES: Final = 72_000
HELD_OUT_SENTENCES: Final = 2_000
_SEED: Final = 0
_HELD_OUT_SEED: Final = 1
_MAX_MISSES: Final = 200


def demo_pairs() -> list[dict[str, Value]]:
    """Return the demo benchmark, always the same: ``PAIRS_PER_PARADIGM`` pairs for each paradigm, as in files."""
    return [
        pair.record(tied.template.uid, tied.template.phenomenon, number)
        for tied, pairs in _benchmark()
        for number, pair in enumerate(pairs)
    ]


def training_text(sentences: int | None = None) -> Iterator[str]:
    """Yield grammatical sentences to train on, one a document, all different, in an order that mixes all patterns.

    They come from the good rules of the benchmark's templates and from the further patterns. No sentence of the
    benchmark, good or bad, is one of them or within one. The first n do not depend on the number asked for, and there
    are fewer once the grammar is exhausted.
    """
    return _draw_sentences(SENTENCES if sentences is None else sentences, _SEED, set())


def held_out_text(training: Iterable[str]) -> Iterator[str]:
    """Yield ``HELD_OUT_SENTENCES`` further sentences of the same patterns, none of them in the training text."""
    return _draw_sentences(HELD_OUT_SENTENCES, _HELD_OUT_SEED, set(training))


def _draw_sentences(wanted: int, seed: int, seen: set[str]) -> Iterator[str]:
    """Draw sentences that are not among those seen, from every source in turn."""
    benchmark = frozenset(text for _, pairs in _benchmark() for pair in pairs for text in (pair.good, pair.bad))
    rng = random.Random(seed)  # noqa: S311 - reproducible sampling, no secret
    sources, most = [tied.good for part in _grammar() for tied in part], len(seen) + wanted
    while sources and len(seen) < most:
        open_sources = []
        for source in sources:
            text = _draw_new(source, seen, benchmark, rng)
            if text is not None:
                seen.add(text)
                open_sources.append(source)
                yield text
            if len(seen) == most:
                return
        sources = open_sources


def _draw_new(
    source: tuple[Alternatives, ...], seen: set[str], benchmark: frozenset[str], rng: random.Random
) -> str | None:
    """Draw a new sentence that does not end in one of the benchmark; None when the source seems exhausted."""
    empty = [None] * len(source)
    for _ in range(_MAX_MISSES):
        try:
            text = sentence(fill(source, empty, rng), "")
        except DrawFailed:
            continue
        if text not in seen and not any(text[start:] in benchmark for start in range(len(text))):
            return text
    return None


@cache
def _benchmark() -> tuple[tuple[TiedTemplate, tuple[Pair, ...]], ...]:
    """Draw the pairs of the demo's benchmark, once for each process."""
    benchmark = []
    for tied in _grammar()[0]:
        pairs: dict[str, Pair] = {}
        for drawn in draw_pairs(
            partial(draw_pair, tied), PAIRS_PER_PARADIGM, seeded(tied.template.uid, _SEED), pairs
        ):
            if isinstance(drawn, Pair):
                pairs[drawn.good] = drawn
        benchmark.append((tied, tuple(pairs.values())))
    return tuple(benchmark)


@cache
def _grammar() -> tuple[list[TiedTemplate], list[TiedTemplate]]:
    """Return the templates of the benchmark, and the further sentence patterns."""
    with as_file(files("ucurve.templates") / "demo_grammar") as folder:
        grammar = Grammar(read_vocabulary(folder / "vocabulary.tsv"), read_phrases(folder / "phrases.json"))
        templates = [grammar.tie(template) for template in read_templates(folder / "templates")]
        return templates, [grammar.tie(pattern) for pattern in read_patterns(folder / "patterns.json")]
