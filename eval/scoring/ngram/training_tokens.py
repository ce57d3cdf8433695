"""The tokens that a run is trained on, as scoring asks for them; the package ``train`` provides them.

Scoring knows nothing of token shards and their order. A command that knows both calls ``provide_training_tokens``.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from eval.scoring.text.sentences import Ids
from ucurve.errors import UserError


class TrainingTokens(Protocol):
    """The training sequences of a run, in the order in which they are trained on."""

    def key(self) -> dict[str, Any]:
        """Return what tokens and order depend on, as a JSON object, without reading a token."""

    def check(self) -> None:
        """Make sure that the tokens can be read.

        Raises:
            UserError: when they are gone and cannot be made again.
        """

    def blocks(self, after: int, to: int, tokens: int) -> Iterator[Ids]:
        """Yield the sequences of the steps ``after + 1`` to ``to``, many at once.

        Args:
            tokens: about how many tokens a block has; at least one sequence.

        Yields:
            int64[sequences, length + 1], the inputs and their last target.

        Raises:
            UserError: as ``check``.
        """


OpenTrainingTokens = Callable[[Path], TrainingTokens]
_provided: list[OpenTrainingTokens] = []


def provide_training_tokens(opened_by: OpenTrainingTokens) -> None:
    """Let ``opened_by`` open the training tokens of run folders from now on, in this process."""
    _provided[:] = [opened_by]


def open_training_tokens(run: Path) -> TrainingTokens:
    """Open the training tokens of a run folder.

    Raises:
        UserError: when the folder does not say what they are, or nothing in this process knows training.
    """
    if not _provided:
        raise UserError(
            "scorer=ngram reads the training tokens of a run, which scoring alone cannot: use "
            f"python score.py run={run} scorer=ngram, or call train.training_tokens.enable_ngrams() first"
        )
    return _provided[0](run)
