"""Presets: how each paper scored its benchmark, so that its numbers can be compared with ours; a YAML file for each."""

import functools
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, ConfigDict
from pydantic.dataclasses import dataclass

from ucurve.eval.metrics.accuracy import TiesRule
from ucurve.eval.models.folder import Bos
from ucurve.eval.pairs import Subset, parse_subset
from ucurve.yaml_files import read_named

FOLDER = Path(__file__).parent


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class Preset:
    """One paper's own choices."""

    name: str  # also the name of its file
    benchmarks: tuple[str, ...]  # meant for these; a family stands for all its languages
    # The pairs that are scored; all where None.
    subset: Annotated[Subset, BeforeValidator(parse_subset)] | None = None
    scorer_causal: str
    scorer_masked: str  # the usual one if the paper scored no masked model, as `protocol` says
    linking: tuple[str, ...]  # linking functions; the first is the one the paper reports
    ties_rule: TiesRule
    # `paradigm` of the row of `accuracy.csv` (`phenomenon=all`) that is the paper's overall number.
    aggregate: str
    bos: Bos  # the token before every sentence
    protocol: str  # the choices in words, and where we depart from the paper
    sources: tuple[str, ...]  # paper and section, or the published code, of each choice


@functools.cache
def find_preset(name: str) -> Preset:
    """Return a preset by name."""
    return read_named(FOLDER, name, Preset, "preset")
