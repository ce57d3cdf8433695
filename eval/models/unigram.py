"""Unigram log probabilities of tokens, from the counts of the training tokens or from a published table."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, StringConstraints
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.storage.files import read_json_object

_SUM_TOLERANCE = 1e-3  # how far the published probabilities may be from summing to 1


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class UnigramSettings:
    """A published table of unigram probabilities."""

    path: Path  # JSON, an object from token id to probability, as ZhoBLiMP publishes
    # Hash of the tokenizer of the table's ids, as `manifest.json` and the key of every score give it. The largest id is
    # always checked; two vocabularies of one size can be told apart by this hash alone.
    tokenizer_sha256: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")] | None


def log_unigrams(
    counts: npt.NDArray[np.int64], excluded: Collection[int], add_k: float = 1.0
) -> npt.NDArray[np.float64]:
    """Turn counts, with ``add_k`` > 0 added to each, into natural log probabilities, float64[V].

    They sum to 1 over the tokens that are not ``excluded`` (separator, padding), which count as never seen.
    """
    scorable = np.ones(len(counts), dtype=bool)
    scorable[list(excluded)] = False
    raised = np.where(scorable, counts, 0).astype(np.float64) + add_k
    return np.asarray(np.log(raised) - np.log(raised[scorable].sum()))


def read_counts(path: Path, vocabulary: int, ids: int | None = None) -> npt.NDArray[np.int64] | None:
    """Read counts of ``vocabulary`` tokens, padded to ``ids``, one more than the largest; None without a file."""
    if not path.exists():
        return None
    try:
        counts = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise UserError(f"{path}: not an array of counts ({error})") from error
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or len(counts) < vocabulary or (counts < 0).any():
        raise UserError(
            f"{path}: {vocabulary} counts are expected, one for each token id; "
            f"this is {counts.dtype} of shape {counts.shape}"
        )
    return np.pad(counts.astype(np.int64), (0, max(0, (ids or vocabulary) - len(counts))))


def published_probabilities(
    settings: UnigramSettings, vocabulary: int, tokenizer_sha256: str
) -> npt.NDArray[np.float64]:
    """Read a published table as it is, float64[vocabulary]; 0 for an id that is not in the table."""
    path = settings.path
    if settings.tokenizer_sha256 not in (None, tokenizer_sha256):
        raise UserError(
            f"unigrams: {path} is for the tokenizer {settings.tokenizer_sha256} (unigrams.tokenizer_sha256), and this "
            f"model's is {tokenizer_sha256}; a table of unigram probabilities is of no use with another tokenizer"
        )
    table = read_probabilities(path)
    if max(table, default=-1) != vocabulary - 1:
        raise UserError(
            f"unigrams: {path} is not keyed by the ids of this model's tokenizer: its largest id is "
            f"{max(table, default=None)}, and the tokenizer's is {vocabulary - 1}"
        )
    if abs(sum(table.values()) - 1) > _SUM_TOLERANCE:
        raise UserError(f"unigrams: {path}: the probabilities sum to {sum(table.values()):g}; they must sum to 1")
    probabilities = np.zeros(vocabulary)
    probabilities[list(table)] = list(table.values())
    return probabilities


def smooth(
    probabilities: npt.NDArray[np.float64], excluded: Collection[int], path: Path
) -> npt.NDArray[np.float64]:
    """Turn published probabilities into natural logs, float64[V], that sum to 1 over tokens not ``excluded``.

    Such a token that was never seen gets half the probability of the rarest one that was; then all are divided by their
    sum. (ZhoBLiMP's published code gives tokens that its tables lack 1/3e9, which is more than the rarest token that
    was seen has, and divides by nothing; one table gives half of all probability to the start token.)
    """
    scorable = np.ones(len(probabilities), dtype=bool)
    scorable[list(excluded)] = False
    seen = scorable & (probabilities > 0)
    if not seen.any():
        raise UserError(f"unigrams: {path}: no token that a sentence can hold has a probability above 0")
    filled = np.where(seen, probabilities, probabilities[seen].min() / 2)
    return np.asarray(np.log(filled) - np.log(filled[scorable].sum()))


def unseen(counts: npt.NDArray[np.int64 | np.float64], tokens: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Count the tokens, and the distinct ids among them, whose count or published probability, [V], is 0."""
    never = tokens[counts[tokens] == 0]
    return len(never), len(np.unique(never))


def read_probabilities(path: Path) -> dict[int, float]:
    """Read a published table of probabilities by token id, checked as far as is possible without its tokenizer."""
    try:
        table = read_json_object(path, "an object from token id to probability")
    except UserError as error:
        raise UserError(f"unigrams: {error}") from error
    probabilities: dict[int, float] = {}
    for key, value in table.items():
        if not (key.isascii() and key.isdigit()) or str(int(key)) != key:
            raise UserError(f"unigrams: {path}: the key {key!r} is not a token id; ids are whole numbers from 0")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise UserError(f"unigrams: {path}: token {key} has {value!r}; a probability from 0 to 1 is expected")
        probabilities[int(key)] = float(value)
    return probabilities
