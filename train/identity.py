"""The part of a configuration that decides the outcome of a run: what is compared, hashed and shared by its seeds."""

from collections.abc import Collection
from typing import Any

from ucurve.storage.files import sha256_json

# Keys that change how or where a run is computed, but not its outcome.
_NOT_IDENTITY = (
    "eval",
    "tracker",
    "resume",
    "paths",
    "benchmark_root",
    "dry_run",
    "grid",
    "seed",
    "start",
    "start_with",
)
_NOT_IDENTITY_OF = {
    # The text is compared by its hash (``check_same_data``), wherever it lies.
    "data": ("path", "max_epochs", "benchmarks", "commit"),
    "tokenizer": ("commit",),
    "engine": ("kind", "micro_batch", "device", "compile", "zero_stage", "config"),
    "model": ("objective", "size"),  # the run has an objective of its own, and size is a label
}

# Groups that every configuration of a run has.
PARTLY_IDENTITY = (
    "data",
    "tokenizer",
    "engine",
    "model",
    "objective",
)

Configuration = dict[str, Any]  # as YAML has it


def pick_identity(values: Configuration) -> Configuration:
    """Return the keys of a configuration that determine the outcome of a run.

    ``values`` may be a file that somebody changed, so a key may be missing below its groups.
    """
    kept = _without(values, _NOT_IDENTITY)
    for group, left_out in _NOT_IDENTITY_OF.items():
        kept[group] = _without(kept[group], left_out)
    kept["data"] = _pick_data(values["data"])
    if kept["objective"].get("kind") != "hybrid":  # then all sequences are of one kind
        kept["objective"] = _without(kept["objective"], ("share",))
    if kept.get("words") is None:  # then it does not matter what would count them
        kept["data"].pop("words", None)
    return kept


def _pick_data(data: Configuration) -> Configuration:
    """Return the keys of a corpus that determine the outcome."""
    kept = _without(data, _NOT_IDENTITY_OF["data"])
    steps = [_without(step, ("file",)) for step in data.get("interventions") or ()]  # its content is in the data
    # Words count no budget of several corpora.
    parts = [part | {"data": _without(_pick_data(part["data"]), ("words",))} for part in data.get("parts") or ()]
    return kept | {"interventions": steps, "parts": parts}


def _without(values: Configuration, left_out: Collection[str]) -> Configuration:
    return {key: value for key, value in values.items() if key not in left_out}


def without_seeds(identity: Configuration) -> Configuration:
    """Return an identity without the seeds; runs that have it in common are one curve with a band."""
    return {key: value for key, value in identity.items() if key != "seeds"}


def config_sha256(identity: Configuration) -> str:
    """Hash what decides the outcome of a run; manifests carry it."""
    return sha256_json(identity)


def differing_keys(before: Configuration, after: Configuration) -> list[str]:
    """Describe, as ``key: old -> new``, the keys in which two identities differ."""
    # A key that one of them lacks counts as null.
    old, new = flatten(before), flatten(after)
    keys = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
    return [f"{key}: {old.get(key)!r} -> {new.get(key)!r}" for key in keys]


def flatten(values: Configuration, prefix: str = "") -> dict[str, object]:
    """Return nested keys as one level of keys with dots."""
    flat: dict[str, object] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = list(value) if isinstance(value, tuple) else value
    return flat
