"""Whether the weights of checkpoints can be those of their steps: the first drawn anew, no two without reason equal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from train.checkpoint import holds_weights
from train.learning_rate import learning_rate
from train.plan import Plan
from ucurve.provenance import versions
from ucurve.run_folder import read_manifest


def first_weights_faults(whole: Sequence[Path], plan: Plan, record: dict[str, Any]) -> list[str]:
    """Draw the initial weights anew from the seed and compare the checkpoint of step 0 with them, bit for bit.

    Args:
        whole: checkpoints that are what their manifests say.
        plan: of the run.
        record: ``run.json``.

    Returns:
        The fault, naming the versions of torch that drew the weights then and now; empty when there is none.
    """
    first = next((folder for folder in whole if read_manifest(folder)["step"] == 0), None)
    if first is None:
        return []
    from train.model import build_model  # imports torch, which nothing before this check needs

    settings = plan.settings
    no_token = 0  # the token that precedes documents stands in the configuration only
    model = build_model(settings.model.shape, plan.vocabulary, settings.batch.length, no_token, settings.seeds.init)
    if holds_weights(first, model):
        return []
    then, now = record.get("versions", {}).get("torch"), versions()["torch"]
    return [f"{first}: not the weights that seeds.init={settings.seeds.init} gives (torch {then} then, {now} now)"]


def twin_faults(whole: Sequence[Path], plan: Plan) -> list[str]:
    """Name checkpoints with equal weights; those are right only where every learning rate between them is 0.

    Args:
        whole: checkpoints that are what their manifests say, in the order of their steps.
        plan: of the run.
    """
    found: dict[str, Path] = {}
    twins = [(folder, found.setdefault(read_manifest(folder)["weights_sha256"], folder)) for folder in whole]
    return [
        f"{folder}: the same weights as {twin.name}"
        for folder, twin in twins
        if folder != twin and _moves(plan, read_manifest(twin)["step"], read_manifest(folder)["step"])
    ]


def _moves(plan: Plan, after: int, to: int) -> bool:
    optimizer = plan.settings.optimizer
    return any(learning_rate(optimizer, step, plan.steps) > 0 for step in range(after + 1, to + 1))
