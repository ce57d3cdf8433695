"""What is checked of pairs that templates made."""

from collections.abc import Mapping
from pathlib import Path

from ucurve.generation.differences import Lemmas
from ucurve.generation.maker import CheckOf
from ucurve.templates.vocabulary import read_vocabulary

CHECKS: Mapping[str, CheckOf] = {}


def lemmas(keys: Mapping[str, object]) -> Lemmas | None:
    """Return the lemmas of a vocabulary; None where the command names none, or it has no such column."""
    vocabulary = keys.get("vocabulary")
    return None if vocabulary is None else read_vocabulary(Path(str(vocabulary))).lemmas()
