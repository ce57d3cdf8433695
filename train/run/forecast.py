"""How long a run takes on this machine, and what is scored meanwhile, for a plan that trains nothing (``dry_run``)."""

import functools
import math
import statistics
from dataclasses import dataclass
from pathlib import Path

from ucurve.errors import UcurveError
from ucurve.fields import format_seconds
from ucurve.invocation import command
from ucurve.provenance import processor
from ucurve.storage.facts import read_run_facts
from ucurve.storage.run_folder import METRICS, RECORD, parse_metrics
from ucurve.training.config import RunSettings
from ucurve.training.corpus.parallel import count_processes
from ucurve.training.evaluation import EvalSettings
from ucurve.training.model.precision import may_have_accelerator
from ucurve.training.plan import Plan
from ucurve.training.run_folder.config_file import load_settings

_CORE_FLOPS, _ACCELERATOR_FLOPS = 4e10, 5e13  # a second, where nothing was measured; by 6ND
_LAST_STEPS = 50  # whose rate counts, where there are as many: the first ones compile and fill caches
_SIMILAR = 2.0  # models of up to so many times the parameters take their rate from each other


@dataclass(frozen=True)
class Measured:
    """The rate of a run that was trained on a machine like this one."""

    run: str
    folder: Path
    parameters: int
    tokens_per_second: float


def describe_forecast(plan: Plan) -> list[str]:
    """Return the lines of a plan on the device, the time and the scores, with the source of the numbers."""
    settings = plan.settings
    on_accelerator = settings.engine.device.startswith("cuda") or (
        settings.engine.device == "auto" and may_have_accelerator()
    )
    device = "an accelerator" if on_accelerator else f"processor with {count_processes()} cores"
    seconds, source = _expect_seconds(plan, on_accelerator)
    measure = f"{command('cost')} with the same arguments measures it"
    return [
        f"device         {device} (engine.device={settings.engine.device})",
        f"time           about {format_seconds(seconds)} of training without scoring; {source}; {measure}",
        f"scoring        {_describe_scoring(settings.eval, len(plan.checkpoint_steps))}",
    ]


def _expect_seconds(plan: Plan, on_accelerator: bool) -> tuple[float, str]:
    """Return the seconds of all steps and where they are from: a run's rate on this machine, or an assumption."""
    parameters, tokens = plan.parameters.total, plan.own_steps * plan.settings.batch.tokens
    runs = [] if on_accelerator else _measured_here(Path(plan.settings.paths.runs))
    # By ratio: half the size and twice the size are equally near.
    by_size = sorted(runs, key=lambda run: abs(math.log(run.parameters / parameters)))
    nearest = next((run for run in by_size if _computes_alike(run.folder, plan.settings)), None)
    if nearest is None:
        per_core = f"{_CORE_FLOPS:.0e} FLOPs a second and core"
        flops = _ACCELERATOR_FLOPS if on_accelerator else _CORE_FLOPS * count_processes()
        assumed = f"{flops:.0e} FLOPs a second" if on_accelerator else per_core
        return plan.flops(tokens) / flops, f"assumed at {assumed}, no run like it here, so perhaps 3 times off"
    # By 6ND the time of a token grows in proportion to the parameters.
    seconds = tokens / nearest.tokens_per_second * parameters / nearest.parameters
    apart = max(nearest.parameters / parameters, parameters / nearest.parameters)
    sure = "" if apart <= _SIMILAR else ", of another size, so perhaps 3 times off"
    return seconds, f"by the rate of {nearest.run} here ({nearest.tokens_per_second:,.0f} tokens a second){sure}"


def _computes_alike(run: Path, settings: RunSettings) -> bool:
    """Tell whether a run has the architecture, the objective and the optimizer of others, as far as it can be read."""
    try:
        there = load_settings(run)
    except (UcurveError, OSError):
        return False
    kinds = [(one.model.design.architecture, one.objective.kind, one.optimizer.kind) for one in (there, settings)]
    return kinds[0] == kinds[1]


@functools.cache
def _measured_here(runs: Path) -> list[Measured]:
    """List the rates of the runs in a folder, and in folders of runs in it, that a processor like this trained."""
    found = []
    for record in sorted([*runs.glob(f"*/{RECORD}"), *runs.glob(f"*/*/{RECORD}")]):
        try:
            facts = read_run_facts(record.parent)
        except (UcurveError, OSError):
            continue
        if facts is None or facts.hardware.get("processor") != processor() or facts.hardware.get("accelerators"):
            continue
        if rate := _read_rate(record.parent / METRICS):
            found.append(Measured(facts.name, record.parent, facts.parameters["total"], rate))
    return found


def _read_rate(metrics: Path) -> float | None:
    """Return the median tokens per second of the last steps of a run; None where it has too few."""
    try:
        lines = metrics.read_bytes().splitlines()[-_LAST_STEPS:]
    except OSError:
        return None
    rates = [values["tokens_per_second"] for line in lines if (values := parse_metrics(line))]
    return statistics.median(rates) if len(rates) == _LAST_STEPS else None


def _describe_scoring(settings: EvalSettings, checkpoints: int) -> str:
    """Say what is scored, and when."""
    if settings.when == "never" or not settings.benchmarks:
        return "nothing, as benchmarks= names no benchmark (add one as benchmarks=demo)"
    when = {
        "each": f"at each of {checkpoints} checkpoints",
        "end": f"{checkpoints} checkpoints, at the end",
        "later": f"{checkpoints} checkpoints, by {command('score', 'run=RUN')} later",
    }
    return f"{', '.join(settings.benchmarks)} {when[settings.when]}"
