"""Parse the good sentences of a Russian benchmark by slovnet, for ``ucurve generate check=FOLDER parses=OUT``.

``python -m measurements.pairs.russian_parses FOLDER OUT.conllu [--sample N]``

FOLDER has a card, or the name of a published benchmark. N sentences of each paradigm are taken, all unless given.
"""

import argparse
from pathlib import Path

import pandas as pd

from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import find_in_folder
from ucurve.generation.rublimp.text import parse_sentences
from ucurve.generation.treebank import Word


def main() -> None:
    """Write each sentence once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sample", type=int)
    given = parser.parse_args()
    cards, root = find_in_folder(given.folder)
    pairs = pd.concat([load_benchmark(card, root) for card in cards])
    if given.sample:
        pairs = pairs.groupby("paradigm").head(given.sample)
    texts = list(dict.fromkeys(pairs["good"]))
    with given.out.open("w", encoding="utf-8") as file:
        for text, words in zip(texts, parse_sentences(texts), strict=True):
            file.write("\n".join([f"# text = {text}", *map(line, words), "", ""]))


def line(word: Word) -> str:
    """Return the line of a word."""
    feats = "|".join(f"{name}={value}" for name, value in sorted(word.feats.items())) or "_"
    return "\t".join([str(word.id), word.form, "_", word.upos, "_", feats, str(word.head), word.deprel, "_", "_"])


if __name__ == "__main__":
    main()
