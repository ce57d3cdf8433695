"""How the sequences of several token streams follow each other in one run: mixed by weights, or in stages."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_LONGEST_PATTERN = 100_000  # sequences after which a mixture repeats itself


@dataclass(frozen=True)
class Mixture:
    """Every next sequence is of the part that is furthest behind its share; of equals, the first one."""

    weights: tuple[float, ...]

    def locate(self, positions: NDArray[np.uint64], length: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:  # noqa: ARG002
        """Return, for sequences of the run, the part that each is of and its number there; all have shape [n]."""
        rounds, places = np.divmod(positions, np.uint64(len(self._owners)))
        owners = self._owners[places]
        return owners, rounds * np.array(self.shares, dtype=np.uint64)[owners] + self._numbers[places]

    def count(self, sequences: int, length: int) -> tuple[int, ...]:  # noqa: ARG002
        """Return how many of the first sequences of a run are of each part."""
        rounds, rest = divmod(sequences, len(self._owners))
        begun = np.bincount(self._owners[:rest], minlength=len(self.weights))
        return tuple(rounds * share + int(more) for share, more in zip(self.shares, begun, strict=True))

    @functools.cached_property
    def shares(self) -> tuple[int, ...]:
        """The weights as the smallest whole numbers, whose sum is the length of the pattern."""
        # By its text, because the float 0.1 is not exactly a tenth.
        exact = [Fraction(str(weight)) for weight in self.weights]
        common = math.lcm(*(one.denominator for one in exact))
        whole = [int(one * common) for one in exact]
        shares = tuple(one // math.gcd(*whole) for one in whole)
        if sum(shares) > _LONGEST_PATTERN:
            raise ValueError(
                f"the weights {', '.join(map(str, self.weights))} repeat only after {sum(shares):,} sequences, allowed "
                f"are {_LONGEST_PATTERN:,}; give fewer digits"
            )
        return shares

    @functools.cached_property
    def _owners(self) -> NDArray[np.int64]:
        """The parts of the sequences of one round of the pattern."""
        shares, total = self.shares, sum(self.shares)
        behind = [0] * len(shares)
        owners = np.empty(total, dtype=np.int64)  # the part of each place of the pattern
        for place in range(total):
            behind = [before + share for before, share in zip(behind, shares, strict=True)]
            owners[place] = owner = behind.index(max(behind))
            behind[owner] -= total
        return owners

    @functools.cached_property
    def _numbers(self) -> NDArray[np.uint64]:
        """How many sequences of the same part the round has before each of its sequences."""
        # uint64[length of the pattern]
        numbers = np.empty(len(self._owners), dtype=np.uint64)
        for part in range(len(self.weights)):
            chosen = self._owners == part
            numbers[chosen] = np.arange(chosen.sum())
        return numbers


@dataclass(frozen=True)
class Stages:
    """The parts follow each other: each but the last for so many tokens, in whole sequences."""

    tokens: tuple[int, ...]

    def locate(self, positions: NDArray[np.uint64], length: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return, for sequences of the run, the part that each is of and its number there; all have shape [n]."""
        ends = np.cumsum([tokens // length for tokens in self.tokens]).astype(np.uint64)
        owners = np.searchsorted(ends, positions, side="right")  # one that begins at an end is of the next stage
        return owners, positions - np.concatenate([[np.uint64(0)], ends])[owners]

    def count(self, sequences: int, length: int) -> tuple[int, ...]:
        """Return how many of the first sequences of a run are of each part."""
        counts, left = [], sequences
        for tokens in self.tokens:
            counts.append(min(left, tokens // length))
            left -= counts[-1]
        return (*counts, left)


Joining = Mixture | Stages


def describe_joining(joining: Joining) -> dict[str, Sequence[float]]:
    """Return a rule as a JSON object, which ``read_joining`` reads."""
    return {"weights": joining.weights} if isinstance(joining, Mixture) else {"tokens": joining.tokens}


def read_joining(facts: dict[str, list[float]]) -> Joining:
    """Read a rule from a JSON object."""
    if "weights" in facts:
        return Mixture(tuple(facts["weights"]))
    return Stages(tuple(int(tokens) for tokens in facts["tokens"]))
