"""Resources."""

import csv
import gzip
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Resources:
    aspect_pairs: Mapping[str, str] = field(default_factory=dict)
    frequencies: Mapping[tuple[str, str], float] = field(default_factory=dict)
    past_markers: Mapping[str, list[str]] = field(default_factory=dict)
    future_markers: Mapping[str, list[str]] = field(default_factory=dict)
    words_per_place: int | None = None
