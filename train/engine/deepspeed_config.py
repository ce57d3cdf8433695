"""Builds the configuration of DeepSpeed from the run's settings and the file of ``engine.config``."""

import json
from pathlib import Path

from ucurve.config_files import merged
from ucurve.errors import UserError, unknown_name
from ucurve.training.config import EngineSettings
from ucurve.yaml_files import read_yaml

Config = dict[str, object]

# Keys of DeepSpeed that follow from the run's settings or are not supported, because outcome and resuming depend on it.
_SET_BY_THE_RUN = {
    "train_batch_size": "batch.sequences sets it",
    "train_micro_batch_size_per_gpu": "engine.micro_batch sets it",
    "bf16": "engine.precision sets it, in the model itself, which both engines share; DeepSpeed's own would keep the "
    "weights in bfloat16 as well",
    "gradient_accumulation_steps": "it follows from batch.sequences, engine.micro_batch and the number of processes",
    "gradient_clipping": "optimizer.clip sets it",
    "optimizer": "the keys of optimizer set it, and torch's AdamW is used",
    "scheduler": "optimizer.warmup and optimizer.minimum set it",
    "fp16": "its loss scaling skips steps; engine.precision=bfloat16 needs none",
    "zero_optimization.stage": "engine.zero_stage sets it",
    "zero_optimization.offload_optimizer": "offloading is not supported: the state that a run resumes from is gathered "
    "from the device's own partitions",
    "zero_optimization.offload_param": "offloading belongs to ZeRO 3, which is not supported",
}
# Other keys are refused, so that a misspelled one is an error and not without effect.
_ALLOWED = (
    "comms_logger",
    "communication_data_type",
    "data_types",
    "dump_state",
    "flops_profiler",
    "gradient_predivide_factor",
    "memory_breakdown",
    "prescale_gradients",
    "steps_per_print",
    "wall_clock_breakdown",
    "zero_optimization",
)


def read_override(path: str | None) -> Config:
    """Read the file of ``engine.config``, JSON or YAML; None is an empty one.

    Raises:
        UserError: when it cannot be read, or sets a key that it may not set.
    """
    if path is None:
        return {}
    where = f"engine.config={path}"
    try:
        values = read_yaml(Path(path), object)  # JSON is YAML
    except UserError as error:
        raise UserError(f"{where}: no readable configuration of DeepSpeed ({error})") from error
    zero = values.get("zero_optimization", {}) if isinstance(values, dict) else None
    if not isinstance(values, dict) or not isinstance(zero, dict):
        raise UserError(f"{where}: a mapping is expected, as {json.dumps({'zero_optimization': {}})}")
    given = [*values, *(f"zero_optimization.{key}" for key in zero)]
    taken = [f"{key}: {_SET_BY_THE_RUN[key]}" for key in given if key in _SET_BY_THE_RUN]
    if taken:
        raise UserError(f"{where}: these keys cannot be set there: {'; '.join(taken)}")
    for key in values:
        if key not in _ALLOWED:
            raise unknown_name("key", str(key), _ALLOWED, where)
    return values


def build_config(settings: EngineSettings, clip: float) -> Config:
    """Build DeepSpeed's configuration.

    It counts one micro batch in a step, because the engine marks the last one itself and may change their number.
    """
    base: Config = {
        "train_micro_batch_size_per_gpu": 1,  # the engine marks the last micro batch itself and may change their number
        "gradient_accumulation_steps": 1,
        "gradient_clipping": clip,
        "zero_optimization": {"stage": settings.zero_stage},
        "steps_per_print": 10**12,
    }
    if settings.reduction == "bfloat16":
        base["communication_data_type"] = "bf16"
    return merged(base, read_override(settings.config))
