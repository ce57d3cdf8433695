"""Probabilities of n-grams with dictionaries, one token at a time."""

from collections import Counter, defaultdict

import numpy as np


class Plain:
    """Interpolated Witten-Bell with dictionaries, one token at a time (Chen and Goodman 1999, section 2.5)."""

    def __init__(self, sequences, vocabulary, excluded, add_k):
        self.vocabulary, self.excluded, self.add_k = vocabulary, excluded, add_k
        self.after = defaultdict(Counter)
        for sequence in sequences:
            for place in range(1, len(sequence)):
                for length in range(min(place, 4) + 1):
                    context = tuple(sequence[place - length : place])
                    if sequence[place] not in excluded:
                        self.after[context][sequence[place]] += 1

    def single(self, token):
        total = sum(self.after[()].values()) + self.add_k * (self.vocabulary - len(self.excluded))
        return (self.after[()][token] + self.add_k) / total

    def probability(self, token, context):
        if not context:
            return self.single(token)
        lower, seen = self.probability(token, context[1:]), self.after[context]
        if not seen:
            return lower
        return (seen[token] + len(seen) * lower) / (sum(seen.values()) + len(seen))

    def score(self, sentence, start, order):
        read = ((start,) if start is not None else ()) + tuple(sentence)
        first = len(read) - len(sentence)
        ends = range(first, len(read))
        return [np.log(self.probability(read[end], read[max(0, end - order + 1) : end])) for end in ends]
