"""The factors of a run: the choices by which the runs of a grid are told apart, compared and named."""

import json
from collections.abc import Mapping
from pathlib import Path

from ucurve.fields import format_count
from ucurve.storage.facts import Level, RunFacts
from ucurve.training.config import RunRequest
from ucurve.training.identity import flatten, without_seeds
from ucurve.training.run_folder.config_file import load_settings

# Keys that factors of their own stand for; checkpoints are taken from a run and do not change it.
_STOOD_FOR = (
    "model.", "tokens", "words", "name", "schedule.", "objective.", "optimizer.", "rate.", "tokenizer.kind",
    "tokenizer.name", "data.kind", "data.name", "engine.precision",
)  # fmt: skip


def factors_of(settings: RunRequest, parameters: Mapping[str, int]) -> dict[str, Level]:
    """Return the levels of a run: the named factors, choices that are not at their default, then every other key.

    A key of the configuration keeps its name; what has no value is left out. The size is the key of the model file, or
    the number of parameters without the embeddings.
    """
    named = {
        "architecture": settings.model.design.architecture,
        # Three digits tell sizes apart.
        "size": settings.model.size or format_count(int(float(f"{parameters['non_embedding']:.3g}"))),
        "model": settings.model.name,
        "objective": settings.objective.kind,
        "tokenizer": settings.tokenizer.name,
        "budget": settings.budget,
        "corpus": settings.data.run_name,
        "optimizer": settings.optimizer.kind,
        "rate": settings.rate.kind,
        "precision": settings.engine.precision,
        "data.attention": settings.data.attention,
        **{key: value for key, value in settings.choices.items() if "." in key},
        "optimizer.betas": settings.optimizer.betas,
    }
    rest = flatten(without_seeds(settings.identity()) | {"commits": settings.commits})
    others = {key: value for key, value in rest.items() if not key.startswith(_STOOD_FOR)}
    levels = named | others | {"name": settings.name}
    # A level is one value, by which runs can be grouped.
    return {
        key: value if isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)
        for key, value in levels.items()
        if value not in (None, [], ())
    }


def read_factors(run: Path, facts: RunFacts) -> dict[str, Level]:
    """Return the levels of a run that was trained before ``run.json`` had them (``factors_of``)."""
    return factors_of(load_settings(run), facts.parameters)
