"""The ways to score, by name: for which models, on which part of a sentence, by which engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.models.folder import Kind, StartToken
from eval.scoring.text.sentences import Advance, Ids, Scores, Sentences
from eval.scoring.text.spans import Part
from ucurve.errors import UserError, unknown_name

MIN_K = (30, 40, 50, 60)  # percent of a sentence's tokens, as in RuBLiMP's ablation (section 4, figure 3)


@dataclass(frozen=True)
class Scorer:
    """A way to score.

    Attributes:
        name: in configurations, run folders and ``accuracy.csv``.
        kind: the kind of model it is for.
        part: what of a sentence counts.
        summary: one line for messages and documents.
        linking: linking functions of its own, used beside the default ones.
        within_word: masked models: whether the later pieces of a word are masked with the one that is scored.
        chat: whether the model is asked in words, instead of read for its probabilities.
        revision: of the way it scores; part of every key.
    """

    name: str
    kind: Kind
    part: Part
    summary: str
    linking: tuple[str, ...] = ()
    within_word: bool = False
    chat: bool = False
    revision: int = 2


_ALL = (
    Scorer("sentence", "causal", "whole", "log probability of the whole sentence"),
    Scorer("conditional", "causal", "target", "log probability of the target given the condition"),
    Scorer("region", "causal", "region", "log probability of a span of characters, given what precedes it"),
    Scorer("mink", "causal", "whole", "the whole sentence, and the mean of its least probable tokens", ("mink",)),
    Scorer("pll", "masked", "whole", "pseudo-log-likelihood, one token masked at a time"),
    Scorer("pll_l2r", "masked", "whole", "pseudo-log-likelihood, left to right within words", within_word=True),
    Scorer("pll_conditional", "masked", "target", "pll_l2r of the target, the condition in view", within_word=True),
    Scorer(
        "prompt",
        "causal",
        "whole",
        "the answer to a question put to a chat model",
        ("grammaticality", "acceptability", "grammaticality_p", "acceptability_p"),
        chat=True,
    ),
)
SCORERS = {scorer.name: scorer for scorer in _ALL}


def find_scorer(name: str) -> Scorer:
    """Return a way to score.

    Raises:
        UserError: when there is none of the name.
    """
    if name not in SCORERS:
        raise unknown_name("scorer", name, SCORERS)
    return SCORERS[name]


def check_kind(scorer: Scorer, kind: Kind, folder: Path) -> None:
    """Refuse a way to score that is not for a model's kind.

    Raises:
        UserError: naming the model and the ways that fit it.
    """
    if scorer.kind != kind:
        fit = ", ".join(other.name for other in _ALL if other.kind == kind)
        raise UserError(
            f"{folder}: a {kind} model by its config.json; the scorer {scorer.name!r} is for {scorer.kind} ones; "
            f"allowed here: {fit}"
        )


def token_scores(
    scorer: Scorer,
    model: Any,
    tokenizer: Any,
    sentences: Sentences,
    words: Ids | None,
    start: StartToken,
    batch_tokens: int,
    advance: Advance | None = None,
) -> Scores:
    """Compute the log probability of every token that counts, by the scorer's engine.

    Args:
        scorer: the way to score; not by chat.
        words: int64[tokens], the word of each token, for a scorer that masks within words.
        start: what sentences are read after by a causal model.
        batch_tokens: most tokens of one forward pass.
        advance: called after each batch with the number of sentences done.

    Returns:
        float64[tokens], aligned with ``sentences.tokens``; NaN where a token does not count and was not scored.

    Raises:
        NotFiniteError: when one that counts is not finite.
    """
    if scorer.kind == "causal":
        from eval.scoring.causal import causal

        return causal.token_log_probabilities(model, sentences, start.id, batch_tokens, advance)
    from eval.scoring.masked import masked

    frame = masked.frame_of(tokenizer)
    return masked.token_log_probabilities(model, sentences, frame, words, batch_tokens, advance)
