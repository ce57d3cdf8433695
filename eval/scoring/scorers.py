"""The ways to score, by name."""

from pathlib import Path
from typing import Any

from eval.models.folder import Kind
from eval.scoring.base import Scorer
from eval.scoring.causal.scorers import Conditional, MinK, Region, Sentence
from eval.scoring.masked.scorers import ConditionalWithinWords, PseudoLogLikelihood, PseudoMinK, WithinWords
from eval.scoring.ngram.scorers import NGRAMS
from eval.scoring.prompt.scorer import Prompt
from ucurve.errors import UserError, unknown_name

SCORERS: dict[str, type[Scorer]] = {
    scorer.name: scorer
    for scorer in (
        Sentence,
        Conditional,
        Region,
        MinK,
        PseudoLogLikelihood,
        WithinWords,
        ConditionalWithinWords,
        PseudoMinK,
        Prompt,
        *NGRAMS,
    )
}
SEVERAL = {"ngram": tuple(scorer.name for scorer in NGRAMS)}  # names that stand for several ways


def expand_scorers(names: Any) -> Any:
    """Put the names of all that it stands for in the place of a name such as ``ngram``; what is no list stays."""
    if not isinstance(names, list | tuple):
        return names
    return tuple(one for name in names for one in (SEVERAL.get(name, (name,)) if isinstance(name, str) else (name,)))


def find_scorer(name: str) -> type[Scorer]:
    """Return a way to score.

    Raises:
        UserError: when there is none of the name.
    """
    if name not in SCORERS:
        raise unknown_name("scorer", name, (*SCORERS, *SEVERAL))
    return SCORERS[name]


def check_kind(scorer: type[Scorer], kind: Kind, folder: Path) -> None:
    """Check that a way to score is for a model's kind.

    Raises:
        UserError: naming the model and the ways that fit it.
    """
    if scorer.kind != kind:
        fit = ", ".join(name for name, other in SCORERS.items() if other.kind == kind and other not in NGRAMS)
        raise UserError(
            f"{folder}: a {kind} model by its config.json; the scorer {scorer.name!r} is for {scorer.kind} ones; "
            f"allowed here: {fit}"
        )
