"""The training tokens of a run, for scorers that count them; ``score.py`` starts here."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eval.run import score_command as score_with
from eval.scoring.ngram.training_tokens import provide_training_tokens
from ucurve.errors import UserError

if TYPE_CHECKING:
    from ucurve.tokens.order import Batches


def score_command(values: dict[str, Any]) -> None:
    """Score what a composed configuration asks for, by n-grams of the training tokens too.

    Raises:
        UserError: as ``eval.run.score_command``.
        RunError: likewise.
    """
    enable_ngrams()
    score_with(values)


def enable_ngrams() -> None:
    """Let this process score runs by n-grams of their training tokens."""
    provide_training_tokens(RunTokens)


class RunTokens:
    """The training sequences of a run folder (``eval.scoring.ngram.training_tokens.TrainingTokens``).

    What knows the settings of training is imported when it is needed, so that other commands to score start as fast.
    """

    def __init__(self, run: Path) -> None:
        self._run = run

    def key(self) -> dict[str, Any]:
        """Return what tokens and order depend on: the token stream, the data seed and the sizes of a batch.

        Raises:
            UserError: when the folder does not say.
        """
        return self._key

    def check(self) -> None:
        """Open the token stream; where it is gone, it is built again from the corpus.

        Raises:
            UserError: when it cannot be built.
        """
        assert self._batches

    def blocks(self, after: int, to: int, tokens: int) -> Iterator[NDArray[np.int64]]:
        """Yield the sequences of the steps ``after + 1`` to ``to``, int64[sequences, length + 1], many at once.

        Raises:
            UserError: as ``check``.
        """
        return self._batches.between(after, to, tokens)

    @cached_property
    def _key(self) -> dict[str, Any]:
        from ucurve.tokens.run import RunTokens as Said

        return Said.of(self._run).key()

    @cached_property
    def _batches(self) -> "Batches":
        from train.replay import open_batches
        from ucurve.tokens.order import Batches

        try:
            opened = open_batches(self._run)
        except UserError as error:
            raise UserError(
                f"scorer=ngram: {error}\n"
                f"  python -m train.batches run={self._run} from=0 to=1 data_path=PATH builds it again for the scorer"
            ) from error
        return Batches(opened.store, opened.order, opened.sequences)
