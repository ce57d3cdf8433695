"""What differs in the sentences of pairs, and how often it stood in the text that a run was trained on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from ucurve.eval.metrics.clusters import common_length
from ucurve.eval.scoring.text.layout import delimits_words
from ucurve.token_stream.seen_text import read_seen_counts, split_words

FREQUENCIES = (
    "log_frequency_word_good", "log_frequency_word_bad", "log_frequency_bigram_good", "log_frequency_bigram_bad"
)  # fmt: skip
_PER = 1e6  # words of the training text


@dataclass(frozen=True, eq=False)
class Edits:
    """What differs in each pair of a table, by the column that tells the rarest of it."""

    spaced: bool
    ngrams: dict[str, list[list[str]]]  # of word_good, word_bad, bigram_good, bigram_bad, those of each pair

    def rarest(self, run: Path, step: int) -> pd.DataFrame:
        """Look up the rarest word and bigram of each pair in what a run had seen at a step.

        A row for each pair, with each of ``ngrams`` and ``FREQUENCIES``; see ``frequency_table``.
        """
        wanted = {ngram for of_pairs in self.ngrams.values() for ngrams in of_pairs for ngram in ngrams}
        seen = read_seen_counts(run, step, wanted, self.spaced)
        columns, logs = pd.DataFrame(), pd.DataFrame()
        for name, of_pairs in self.ngrams.items():
            counts = [[seen.counts.get(ngram, 0) for ngram in ngrams] for ngrams in of_pairs]
            least = [int(np.argmin(own)) if own else -1 for own in counts]
            columns[name] = [
                ngrams[place] if ngrams else None for ngrams, place in zip(of_pairs, least, strict=True)
            ]
            rarest = [own[place] if own else np.nan for own, place in zip(counts, least, strict=True)]
            # One more than was counted, so that what was never seen has a frequency.
            logs[f"log_frequency_{name}"] = np.log10(_PER * (np.array(rarest) + 1) / seen.words)
        return columns.join(logs)


def edited_ngrams(words: Sequence[str], others: Sequence[str], longest: int = 2) -> list[list[str]]:
    """Return the words of a sentence between what it begins and ends with like another one, and the n-grams there.

    The n-grams are of 1 word, of 2 and so on, each with at least one such word; where the sentence only lacks words of
    the other, those across the gap.
    """
    start = common_length(words, others)
    end = len(words) - common_length(words[start:][::-1], others[start:][::-1])
    return [
        [
            " ".join(words[place : place + size])
            for place in range(max(0, start - size + 1), min(end, len(words) - size + 1))
        ]
        for size in range(1, longest + 1)
    ]


def find_edits(pairs: pd.DataFrame) -> Edits:
    """Find the words and bigrams in which the sentences of each pair of a table differ."""
    spaced = delimits_words(pairs["good"].tolist())
    sides = [[split_words(text, spaced) for text in pairs[side]] for side in ("good", "bad")]
    found = {}
    for side, words, others in (("good", *sides), ("bad", *reversed(sides))):
        ngrams = [edited_ngrams(one, other) for one, other in zip(words, others, strict=True)]
        found[f"word_{side}"], found[f"bigram_{side}"] = ([each[kind] for each in ngrams] for kind in (0, 1))
    return Edits(spaced, {name: found[name] for name in ("word_good", "word_bad", "bigram_good", "bigram_bad")})
