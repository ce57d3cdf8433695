"""The optimizers of a run over groups of its parameters, and the full state of model and optimizers."""

from collections.abc import Sequence
from typing import TypedDict

import torch
from torch import nn

from ucurve.errors import RunError
from ucurve.training.model.design import decays, kinds_of_parameters
from ucurve.training.optim import MUON_ITERATIONS, OptimizerKind, OptimizerSettings

GENERATOR = "generator"  # of torch, the only one that training may draw from
MOMENTS = ("exp_avg", "exp_avg_sq")
# What an optimizer keeps of each parameter, in the order of ``make_optimizers``.
_STATE_KEYS: dict[OptimizerKind, tuple[str, ...]] = {"adamw": ("step", *MOMENTS), "muon": ("momentum_buffer",)}

Optimizers = Sequence[torch.optim.Optimizer]


class Group(TypedDict):
    """Parameters of one optimizer with one weight decay and one multiplier of the learning rate."""

    params: list[nn.Parameter]
    weight_decay: float
    scale: float


def make_optimizers(model: nn.Module, settings: OptimizerSettings) -> list[torch.optim.Optimizer]:
    """Return AdamW over a model's parameters, or with ``muon`` AdamW and then Muon over the matrices between layers."""
    adamw, muon = parameter_groups(model, settings)
    optimizers: list[torch.optim.Optimizer] = [
        torch.optim.AdamW(
            list(map(dict, adamw)), lr=settings.learning_rate, betas=settings.betas, eps=settings.eps, fused=True
        )
    ]
    if muon:
        # Updates have the size of AdamW's, so that its learning rate and weight decay fit (Liu et al. 2025, "Muon is
        # Scalable for LLM Training", section 2.2).
        rate = settings.learning_rate
        optimizers.append(
            torch.optim.Muon(
                list(map(dict, muon)), lr=rate, ns_steps=MUON_ITERATIONS, adjust_lr_fn="match_rms_adamw"
            )
        )
    return optimizers


def take_step(optimizers: Optimizers, learning_rate: float) -> None:
    """Change the parameters by their gradients, and forget these."""
    set_rate(optimizers, learning_rate)
    for optimizer in optimizers:
        optimizer.step()
    forget_gradients(optimizers)


def set_rate(optimizers: Optimizers, learning_rate: float) -> None:
    """Set the learning rate of each group, which is multiplied by its own ``scale``."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * group["scale"]


def forget_gradients(optimizers: Optimizers) -> None:
    """Forget the gradients of all parameters."""
    for optimizer in optimizers:
        optimizer.zero_grad()


def parameter_groups(model: nn.Module, settings: OptimizerSettings) -> tuple[list[Group], list[Group]]:
    """Return the groups of AdamW and those of Muon; matrices decay, and biases, norms and what a model marks do not."""
    groups: dict[tuple[bool, float, float], Group] = {}
    kinds = kinds_of_parameters(model)
    for parameter, kind in kinds.items():
        by_muon = settings.kind == "muon" and kind == "hidden"
        decay, scale = settings.weight_decay if decays(parameter) else 0.0, getattr(settings.scale, kind)
        group = groups.setdefault((by_muon, decay, scale), Group(params=[], weight_decay=decay, scale=scale))
        group["params"].append(parameter)
    # Those that decay first, whatever the first parameter of a model is.
    ordered = sorted(groups.items(), key=lambda one: -one[0][1])
    adamw, muon = ([group for (of_muon, _, _), group in ordered if of_muon == wanted] for wanted in (False, True))
    return adamw, muon


def reserved_bytes(model: nn.Module, optimizers: Optimizers) -> int:
    """Return what a step needs beside its passes: gradients that are added up, and moments that are not made yet."""
    # AdamW keeps two moments of each parameter beside its gradient.
    copies = 1 if any(optimizer.state for optimizer in optimizers) else 3
    return copies * sum(one.numel() * one.element_size() for one in model.parameters())


def plain_state(model: nn.Module, optimizers: Optimizers) -> dict[str, torch.Tensor]:
    """Return the weights of a model, the state of optimizers over its own parameters, and torch's generator."""
    names: dict[torch.Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}
    state = {f"weights/{name}": parameter.detach() for parameter, name in names.items()}
    for optimizer in optimizers:
        for parameter, moments in optimizer.state.items():
            state |= {f"optimizer/{key}/{names[parameter]}": value for key, value in moments.items()}
    return state | {GENERATOR: torch.get_rng_state()}


def restore_plain(model: nn.Module, optimizers: Optimizers, state: dict[str, torch.Tensor]) -> None:
    """Load a state that ``plain_state`` returned."""
    names = {parameter: name for name, parameter in model.named_parameters()}
    with torch.no_grad():
        for parameter, name in names.items():
            parameter.copy_(state[f"weights/{name}"])
    for optimizer, keys in zip(optimizers, _STATE_KEYS.values(), strict=False):  # without Muon there is one
        for parameter in (one for group in optimizer.param_groups for one in group["params"]):
            for key in keys:
                moment = state.get(f"optimizer/{key}/{names[parameter]}")
                if moment is not None:
                    optimizer.state[parameter][key] = moment.to(parameter.device)
    torch.set_rng_state(state[GENERATOR])


def check_state_complete(
    state: dict[str, torch.Tensor], model: nn.Module, settings: OptimizerSettings, step: int
) -> None:
    """Check that a resume state has every weight and every moment; training without one would not be the same run.

    Raises:
        RunError: naming one of the parts that are missing.
    """
    kinds = kinds_of_parameters(model)
    wanted = {GENERATOR, *(f"weights/{name}" for name, _ in model.named_parameters())}
    # Before the first step an optimizer has no moments.
    if step > 0 or any(name.startswith("optimizer/") for name in state):
        for name, parameter in model.named_parameters():
            keys = _STATE_KEYS[settings.kind if kinds[parameter] == "hidden" else "adamw"]
            wanted |= {f"optimizer/{key}/{name}" for key in keys}
    missing = sorted(wanted - set(state))
    if missing:
        raise RunError(
            f"the state after step {step} lacks {len(missing)} of {len(wanted)} parts, as {missing[0]}; "
            "continuing from it would reset the optimizer"
        )
