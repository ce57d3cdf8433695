"""Pairs of a template, chosen as the source ``templates`` does."""

from functools import partial

from ucurve.generation.maker import Chooser, Drawn, Outcome
from ucurve.templates.engine import draw_pair
from ucurve.templates.grammar import TiedTemplate


def generate(tied: TiedTemplate, pairs: int, seed: int) -> Outcome:
    """Draw pairs until there are enough or the draws run out."""
    paradigm = Drawn(name=tied.template.uid, phenomenon=tied.template.phenomenon, draw=partial(draw_pair, tied))
    return Chooser(pairs, seed).choose(paradigm)
