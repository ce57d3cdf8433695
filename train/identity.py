"""The part of a configuration that decides the outcome of a run: what is compared, hashed and shared by its seeds."""

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
    "data": ("path", "max_epochs", "benchmarks", "commit"),
    "tokenizer": ("commit",),
    "engine": ("kind", "micro_batch", "device", "compile", "zero_stage", "config"),
}

_AT_0 = ("hidden_dropout", "attention_dropout")  # keys of a model that mean nothing at 0
_LISTS_OF_DATA = ("interventions", "parts")

PARTLY_IDENTITY = tuple(_NOT_IDENTITY_OF)  # groups that every configuration of a run has

Configuration = dict[str, Any]  # as YAML has it


def pick_identity(values: Configuration) -> Configuration:
    """Return the keys of a configuration that determine the outcome of a run."""
    kept = {key: value for key, value in values.items() if key not in _NOT_IDENTITY}
    for group, left_out in _NOT_IDENTITY_OF.items():
        kept[group] = {key: value for key, value in kept[group].items() if key not in left_out}
    if kept.get("started_from") is None:
        kept.pop("started_from", None)
    if kept["tokenizer"].get("document_token") is None:  # as if the key did not exist
        kept["tokenizer"].pop("document_token", None)
    kept["data"] = _pick_data(values["data"])
    if kept["engine"].get("reduction") == "float32":  # which runs from before there was a choice have
        kept["engine"].pop("reduction")
    if not kept["batch"].get("shorter"):
        kept["batch"] = {key: value for key, value in kept["batch"].items() if key != "shorter"}
    kept["optimizer"] = _pick_optimizer(values["optimizer"])
    rate = {key: value for key, value in kept.pop("rate", {}).items() if value not in (None, (), [], "sqrt")}
    if rate.get("kind", "cosine") != "cosine":  # the default is as if the key did not exist
        kept["rate"] = rate
    kept["model"] = _pick_model(values["model"])
    if (kept.get("objective") or {}).get("kind", "causal") == "causal":  # as if the key did not exist
        kept.pop("objective", None)
    elif kept["objective"]["kind"] != "hybrid":  # where all sequences have masks
        kept["objective"] = {key: value for key, value in kept["objective"].items() if key != "share"}
    if kept.get("words") is None:  # then it does not matter what would count them
        kept["data"].pop("words", None)
    return kept


def _pick_optimizer(optimizer: Configuration) -> Configuration:
    """Return the keys of the optimizer without those that are as before there was a choice."""
    kept = {key: value for key, value in optimizer.items() if key != "scale" and (key, value) != ("kind", "adamw")}
    scale = {group: value for group, value in (optimizer.get("scale") or {}).items() if value != 1}
    return kept | ({"scale": scale} if scale else {})


def _pick_model(model: Configuration) -> Configuration:
    """Return the keys of a model but its objective, as a run has one of its own, and size, which is a label."""
    kept = {key: value for key, value in model.items() if key not in ("objective", "size")}
    return {key: value for key, value in kept.items() if value != 0 or key not in _AT_0}  # as if it did not exist


def _pick_data(data: Configuration) -> Configuration:
    """Return the keys of a corpus that determine the outcome; those that name nothing are as if they did not exist."""
    kept = {key: value for key, value in data.items() if key not in (*_NOT_IDENTITY_OF["data"], *_LISTS_OF_DATA)}
    steps = [
        {key: value for key, value in step.items() if value is not None and key != "file"}  # its content is in the data
        for step in data.get("interventions") or ()
    ]
    parts = [part | {"data": _pick_data(part["data"])} for part in data.get("parts") or ()]
    for part in parts:
        part["data"].pop("words", None)  # which count no budget of several corpora
    if kept.get("attention") == "stream":  # as if the key did not exist
        kept.pop("attention")
    return kept | ({"interventions": steps} if steps else {}) | ({"parts": parts} if parts else {})


def without_seeds(identity: Configuration) -> Configuration:
    """Return an identity without the seeds; runs that have it in common are one curve with a band."""
    return {key: value for key, value in identity.items() if key != "seeds"}


def config_sha256(identity: Configuration) -> str:
    """Hash what decides the outcome of a run; manifests carry it."""
    return sha256_json(identity)


def differing_keys(before: Configuration, after: Configuration) -> list[str]:
    """Describe, as ``key: old -> new``, the keys in which two identities differ."""
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
