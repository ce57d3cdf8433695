"""How many published Russian pairs the rules make: the share whose bad member is among our candidates.

``python -m measurements.pairs.russian_recovery PUBLISHED RESOURCES [--paradigms A,B] [--sample N] [--misses M]``

PUBLISHED is the folder of the published CSV files; their good sentences are parsed as plain text.
"""

import argparse
import csv
import random
from pathlib import Path

from ucurve.generation.rublimp.make import RULES
from ucurve.generation.rublimp.resources import Resources, read_resources
from ucurve.generation.rublimp.rule import Rule
from ucurve.generation.rublimp.text import parse_sentences
from ucurve.generation.treebank import Sentence
from ucurve.templates.pair import Pair


def main() -> None:
    """Print a line for each paradigm and the mean over them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("published", type=Path)
    parser.add_argument("resources", type=Path)
    parser.add_argument("--paradigms", default="")
    parser.add_argument("--sample", type=int, default=1000)
    parser.add_argument("--misses", type=int, default=0)
    given = parser.parse_args()
    resources = read_resources(given.resources)
    shares = []
    for rule in RULES:
        if given.paradigms and rule.paradigm not in given.paradigms.split(","):
            continue
        found, frame, total = measure(rule, resources, given.published, given.sample, given.misses)
        shares.append(found / total)
        print(f"{rule.paradigm:45} {total:5} {found / total:7.1%} {frame / total:7.1%}", flush=True)
    print(f"mean over {len(shares)} paradigms: {sum(shares) / len(shares):.1%}")


def measure(rule: Rule, resources: Resources, published: Path, sample: int, misses: int) -> tuple[int, int, int]:
    """Return how many bad sentences are found, for how many the same word is changed, and how many there are."""
    with (published / f"{rule.paradigm}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows = random.Random(0).sample(rows, min(sample, len(rows)))  # noqa: S311 - a sample to look at
    texts = [row["source_sentence"] for row in rows]
    parsed = zip(texts, parse_sentences(texts), strict=True)
    sentences = [Sentence(text, rule.paradigm, text, words, rule.paradigm) for text, words in parsed]
    found = frame = 0
    for row, sentence in zip(rows, sentences, strict=True):
        candidates = [made for made in rule.find(sentence, resources) if isinstance(made, Pair)]
        hit = any(made.bad == row["target_sentence"] for made in candidates)
        found += hit
        frame += hit or any(made.columns["source_word"] == row["source_word"] for made in candidates)
        if not hit and misses:
            misses -= 1
            words = [made.columns["target_word"] for made in candidates][:8]
            tree = " ".join(f"{word.form}/{word.upos}/{word.deprel}:{word.head}" for word in sentence.words)
            print(f"   {row['source_word']} -> {row['target_word']} | {words}\n      {tree}")
    return found, frame, len(rows)


if __name__ == "__main__":
    main()
