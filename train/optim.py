"""The settings of the optimizer, and the learning rate of each step: linear warm-up, then one of several forms."""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, NonNegativeFloat, PositiveFloat, model_validator
from pydantic.dataclasses import dataclass

from ucurve.config import check
from ucurve.config_files import load
from ucurve.fields import STRICT, Decay, Share, format_count, parse_count

RateKind = Literal["cosine", "cosine_floor", "linear", "constant", "wsd", "wsd_s"]
DecayForm = Literal["sqrt", "linear", "exponential"]
OptimizerKind = Literal["adamw", "muon"]

MUON_ITERATIONS = 5  # of Newton and Schulz in each step; torch's default

_LEFT: dict[str, Callable[[float], float]] = {  # share of the way from peak to minimum that is left
    "cosine": lambda done: 0.5 * (1 + math.cos(math.pi * done)),
    "linear": lambda done: 1 - done,
    "sqrt": lambda done: 1 - math.sqrt(done),
}


def _read_warmup(value: object) -> float | int:
    if not isinstance(value, bool) and isinstance(value, int | float):
        if 0 <= value <= 1:
            return float(value)
        # 1 means all steps, so that a number of steps begins with 2.
        if value >= 2 and value == int(value):
            return int(value)
    raise ValueError(f"got {value!r}; allowed: a share of the steps from 0 to 1, or a number of steps from 2")


@dataclass(frozen=True, config=STRICT)
class RateScales:
    """By what the learning rate is multiplied for each group of parameters."""

    embedding: PositiveFloat  # positions too, and an output layer that is tied to it
    output: PositiveFloat
    hidden: PositiveFloat  # matrices between the two
    rest: PositiveFloat  # biases, norms, convolutions and Mamba's state matrix


@dataclass(frozen=True, config=STRICT)
class OptimizerSettings:
    """The optimizer, and the learning rate at its peak, before it and at the end; see ``RateSettings`` for the rest."""

    learning_rate: PositiveFloat
    minimum: Share  # final learning rate as a share of the peak
    # It is a share of the steps, or from 2 on their number.
    warmup: Annotated[float | int, BeforeValidator(_read_warmup)]
    betas: tuple[Decay, Decay]
    eps: PositiveFloat
    weight_decay: NonNegativeFloat
    clip: PositiveFloat  # largest norm of the gradient
    kind: OptimizerKind  # ``muon`` for the hidden matrices, and then AdamW for all others
    scale: RateScales

    def warmup_steps(self, total_steps: int) -> int:
        """Return the steps of the warm-up, the last of which has the peak."""
        return int(self.warmup) if self.warmup > 1 else max(1, round(self.warmup * total_steps))


@dataclass(frozen=True, config=STRICT)
class RateSettings:
    """How the learning rate goes on after the warm-up."""

    kind: RateKind
    decay: Annotated[float, Field(gt=0, lt=1)] | None  # the share of a budget's steps in which wsd, wsd_s fall
    at: tuple[Annotated[int, BeforeValidator(parse_count)], ...]  # tokens at which earlier decays of wsd_s end
    form: DecayForm  # how the rate of wsd falls

    @model_validator(mode="after")
    def _decay_is_of_wsd(self) -> "RateSettings":
        falls = self.kind in ("wsd", "wsd_s")
        if falls and self.decay is None:
            raise ValueError(
                f"decay: no value given; rate={self.kind} wants the share of the steps in which it falls"
            )
        if not falls and self.decay is not None:
            raise ValueError(f"decay is for rate=wsd and rate=wsd_s; this is rate={self.kind}")
        if self.at and self.kind != "wsd_s":
            raise ValueError(f"at is for rate=wsd_s; this is rate={self.kind}")
        if self.form != "sqrt" and self.kind != "wsd":
            raise ValueError(f"form={self.form} is for rate=wsd; this is rate={self.kind}")
        if list(self.at) != sorted(set(self.at)):
            raise ValueError(f"at: got {', '.join(map(format_count, self.at))}; budgets must ascend")
        return self

    def steps_before_decay(self, end: int) -> int:
        """Return the last step that has the peak before the decay to step ``end``."""
        assert self.decay is not None, "this is rate=wsd or rate=wsd_s"
        return end - max(1, round(self.decay * end))


def muon_flops(matrices: Iterable[tuple[int, ...]]) -> float:
    """Count the FLOPs of the products in a step of Muon on matrices of these shapes, two for each multiply-add.

    An iteration takes X, turned so that its m rows are not more than its n columns, to ``aX + (bA + cAA) X`` with
    ``A = XX'`` (Jordan et al. 2024, as ``torch.optim.Muon``): ``2 m^2 n``, ``2 m^3`` and ``2 m^2 n`` FLOPs.
    """
    sides = (sorted(shape) for shape in matrices)
    return MUON_ITERATIONS * float(sum(4 * m * m * n + 2 * m**3 for m, n in sides))


@functools.cache
def usual_rate(kind: RateKind) -> RateSettings:
    """Return a form of the rate as conf/rate/ has it."""
    values = load(f"rate/{kind}.yaml")
    return check(RateSettings, values.get("rate", values))  # some of the files change the optimizer too


@functools.cache
def usual_optimizer(rate: RateKind, learning_rate: float) -> OptimizerSettings:
    """Return the optimizer as conf/ has it with a form of the rate; what differs from it is in the names of runs."""
    with_rate = load(f"rate/{rate}.yaml").get("optimizer", {})
    values = load("train.yaml")["optimizer"] | load("optimizer/adamw.yaml") | with_rate
    return check(OptimizerSettings, values | {"learning_rate": learning_rate})


def learning_rate(
    settings: OptimizerSettings, step: int, total_steps: int, rate: RateSettings, ends: Sequence[int] = ()
) -> float:
    """Return the learning rate of 1-based ``step``; ``ends`` has the steps at which earlier decays of ``wsd_s`` end.

    It is above 0 from the first step on, so that step 1 differs from step 0, and ``minimum * peak`` at the last step
    (of ``cosine_floor`` unless the minimum is so small that its cosine ends above it).
    With W steps of warm-up, N steps, peak p and lowest rate m, step n has ``p n / W`` up to W, and from there on

    - ``cosine``: ``m + (p - m) (1 + cos(pi d)) / 2`` with ``d = (n - W) / (N - W)`` (Pythia, Biderman et al. 2023)
    - ``cosine_floor``: ``max(m, p (1 + cos(pi c)) / 2)`` with ``c = (min(n, N - W) - W) / N``, as GPT-NeoX had it when
      Pythia was trained (``AnnealingLR`` in ``megatron/learning_rates.py`` before its pull request 1008 of 2023)
    - ``linear``: ``m + (p - m) (1 - d)`` with the same d
    - ``constant``: ``p``
    - ``wsd``: ``p`` up to step N - D, then with ``d = (n - (N - D)) / D``, where D is the share ``decay`` of all steps,
      by its ``form``: ``m + (p - m) (1 - sqrt(d))`` and ``m + (p - m) (1 - d)`` (Hägele et
      al. 2024, section 3, who have m = 0), or ``p (m / p)^d``, which is ``0.5^((n - (N - D)) / T)`` of MiniCPM (Hu et
      al. 2024, section 4) with ``T = D / log2(p / m)``
    - ``wsd_s``: ``p``, and to each end E, of which N is the last, ``1 / ((1 - d) / p + d / m)`` with
      ``d = (n - (E - D)) / D``, where D is the share ``decay`` of E (WSD-S, Wen et al. 2024; the form is
      ``_inv_decay_schedule`` in the code of the first author, WhenWen/levanter, ``optim/config.py``)
    """
    peak = settings.learning_rate
    warmup = settings.warmup_steps(total_steps)
    if step <= warmup:
        return peak * step / warmup
    end = next(one for one in (*ends, total_steps) if step <= one)
    before = warmup if rate.decay is None else rate.steps_before_decay(end)
    if step <= before or rate.kind == "constant":
        return peak  # exactly, so that these steps are those of any other budget
    done = (step - before) / max(1, end - before)
    lowest = settings.minimum * peak
    if rate.kind == "wsd_s":
        return 1 / ((1 - done) / peak + done / lowest)
    if rate.kind == "cosine_floor":
        return max(lowest, peak * _LEFT["cosine"](max(0, min(step, end - warmup) - warmup) / end))
    if rate.form == "exponential":
        return peak * math.pow(settings.minimum, done)
    return lowest + (peak - lowest) * _LEFT[rate.form if rate.kind == "wsd" else rate.kind](done)
