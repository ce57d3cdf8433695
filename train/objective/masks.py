"""Which tokens of a sequence are masked: a function of data seed, step and the number of the sequence in the run."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ucurve.token_stream.order import Batches, Share, draws
from ucurve.training.model.design import NOT_PREDICTED
from ucurve.training.objective.settings import ObjectiveSettings

_DRAWS = (
    4  # independent numbers for each position: which are chosen, what becomes of one, by which token, how many
)
_LAST = np.uint64(2**64 - 1)
HELD_OUT_RATE = 0.15  # BERT's, whatever the run's rate is
_HELD_OUT = "held-out text"


@dataclass(frozen=True, eq=False)
class Masking:
    """Chooses tokens of sequences and replaces them, as BERT does (Devlin et al. 2019, 3.1).

    ``is_text`` and ``begins_word`` have shape [vocabulary]. Special tokens and the unknown token, which are no text,
    are never chosen and never put in. With ``begins_word`` whole words are chosen. With ``mntp`` the target of a chosen
    token is at the position before it, so that the first token of a sequence is never chosen.
    """

    settings: ObjectiveSettings
    seed: int
    steps: int
    mask_token: int
    is_text: NDArray[np.bool_]
    begins_word: NDArray[np.bool_] | None = None

    def of_windows(self, step: int, first: int, windows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return inputs and targets of windows with their last target, [sequences, length + 1], masked or not.

        Those of a hybrid run without masks are followed by the next token; see ``apply``.
        """
        masked = self.apply(step, first, windows[:, :-1])
        have_masks = self.settings.have_masks(np.arange(first, first + len(windows)))[:, None, None]
        return np.where(have_masks, masked, np.stack([windows[:, :-1], windows[:, 1:]], axis=1))

    def apply(self, step: int, first: int, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return inputs and targets, shape [sequences, 2, length], of the sequences of 1-based ``step``.

        ``first`` is the number of the first one in the run. Targets are ``NOT_PREDICTED`` where nothing was chosen.
        """
        # Each is uint64[sequences, length].
        order, action, other, share = draws(f"masks|{self.seed}", first * ids.shape[1], ids.shape, _DRAWS)
        chosen = self._choose(ids, order, _uniform(share[:, :1]), self.settings.rate_at(step, self.steps))
        actions = np.where(chosen, _uniform(action), 1.0)
        mask, random = self.settings.mask, self.settings.random
        text = np.flatnonzero(self.is_text)
        inputs = np.where(actions < mask, self.mask_token, ids)
        replaced = (actions >= mask) & (actions < mask + random)
        inputs = np.where(replaced, text[(other % np.uint64(len(text))).astype(np.int64)], inputs)
        targets = np.where(chosen, ids, NOT_PREDICTED)
        return np.stack([inputs, _at_position_before(targets) if self._before else targets], axis=1)

    def held_out(self, ids: NDArray[np.int64], length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return inputs and targets of a held-out text, both of shape [tokens], in windows of ``length``.

        The masks are the same for every run: a token is chosen by its place in the text alone, and always becomes the
        mask token.
        """
        chosen = self.is_text[ids] & (_uniform(draws(_HELD_OUT, 0, ids.shape, _DRAWS)[0]) < HELD_OUT_RATE)
        inputs, targets = np.where(chosen, self.mask_token, ids), np.where(chosen, ids, NOT_PREDICTED)
        if self._before:
            targets = _at_position_before(targets)
            targets[length - 1 :: length] = NOT_PREDICTED  # of the next window, which is not in view
        return inputs, targets

    @property
    def _before(self) -> bool:
        return self.settings.predicts_before

    def _choose(
        self, ids: NDArray[np.int64], order: NDArray[np.uint64], rounding: NDArray[np.float64], rate: float
    ) -> NDArray[np.bool_]:
        """Choose this share of the words or tokens of each sequence, bool[S, L], at least one.

        The number is rounded up as often as its fraction says, as fairseq does for RoBERTa (``MaskTokensDataset``), so
        that the share is exact in the mean.
        """
        allowed = self.is_text[ids]
        # No position before the first token could predict it.
        allowed[:, :1] &= not self._before
        begins = allowed.copy()
        if self.begins_word is not None:
            after_text = np.pad(allowed[:, :-1], ((0, 0), (1, 0)))
            begins &= self.begins_word[ids] | ~after_text
        # int64[sequences, length]: where the word of each position begins
        starts = np.maximum.accumulate(np.where(begins, np.arange(ids.shape[1]), 0), axis=1)
        # All tokens of a word have the number of its first one, so that they are chosen together.
        ranks = np.where(allowed, np.take_along_axis(order, starts, axis=1), _LAST)
        words = begins.sum(axis=1, keepdims=True)  # int64[sequences, 1]
        wanted = np.minimum(np.maximum(np.floor(rate * words + rounding).astype(np.int64), 1), words)
        ordered = np.sort(np.where(begins, ranks, _LAST), axis=1)
        last = np.take_along_axis(ordered, np.maximum(wanted - 1, 0), axis=1)
        return np.asarray(allowed & (ranks <= last) & (wanted > 0))


@dataclass(frozen=True)
class MaskedBatches:
    """The global batches of a run with masks."""

    batches: Batches
    masking: Masking

    def of_step(self, step: int, share: Share | None = None) -> NDArray[np.int64]:
        """Return inputs and targets of 1-based ``step``, shape [sequences, 2, length], of the tokens of ``Batches``.

        ``share`` takes some of the sequences, which follow each other.
        """
        sequences = self.batches.at(step).sequences
        numbers = np.arange((step - 1) * sequences, step * sequences)
        first = int(numbers[0] if share is None else share(numbers)[0])
        return self.masking.of_windows(step, first, self.batches.of_step(step, share))


def _at_position_before(targets: NDArray[np.int64]) -> NDArray[np.int64]:
    moved = np.roll(targets, -1, axis=-1)
    moved[..., -1] = NOT_PREDICTED
    return moved


def _uniform(draws: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Turn 64 bits into numbers from 0 to below 1."""
    # A float64 has 53 bits for a number below 1.
    return (draws >> np.uint64(11)).astype(np.float64) * 2.0**-53
