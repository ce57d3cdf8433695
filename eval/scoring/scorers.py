"""The ways to score, by name."""

from pathlib import Path

from ucurve.errors import UserError, unknown_name
from ucurve.eval.models.folder import Kind
from ucurve.eval.scoring.base import Scorer
from ucurve.eval.scoring.causal.scorers import Conditional, MinK, Region, WholeSentence
from ucurve.eval.scoring.masked.scorers import ConditionalWithinWords, PseudoLogLikelihood, PseudoMinK, WithinWords
from ucurve.eval.scoring.ngram.scorers import NGRAMS
from ucurve.eval.scoring.prompt.scorer import Prompt

_ALL: tuple[type[Scorer], ...] = (
    WholeSentence, Conditional, Region, MinK,
    PseudoLogLikelihood, WithinWords, ConditionalWithinWords, PseudoMinK,
    Prompt, *NGRAMS,
)  # fmt: skip
SCORERS = {scorer.name: scorer for scorer in _ALL}
GROUPS = {"ngram": tuple(scorer.name for scorer in NGRAMS)}  # names that stand for several ways


def expand_scorers(names: object) -> object:
    """Expand group names: ``ngram`` becomes ``ngram-1`` to ``ngram-5``. What is not a list is returned unchanged."""
    if not isinstance(names, list | tuple):
        return names
    return tuple(one for name in names for one in (GROUPS.get(name, (name,)) if isinstance(name, str) else (name,)))


def find_scorer(name: str) -> type[Scorer]:
    """Return the way to score of a name."""
    if name not in SCORERS:
        raise unknown_name("scorer", name, (*SCORERS, *GROUPS))
    return SCORERS[name]


def check_kind(scorer: type[Scorer], kind: Kind, folder: Path) -> None:
    """Check that a way to score is for a model's kind."""
    if kind not in (scorer.kind, "hybrid"):
        fit = ", ".join(name for name, other in SCORERS.items() if other.kind == kind and other.loads == "model")
        raise UserError(
            f"{folder}: a {kind} model by its config.json; the scorer {scorer.name!r} is for {scorer.kind} ones; "
            f"allowed here: {fit}"
        )
