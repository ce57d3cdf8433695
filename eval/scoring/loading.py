"""Loads models from local Hugging Face folders for scoring, and checks them before they are used."""

import functools
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Concatenate, Literal, ParamSpec, TypeVar, cast

from pydantic import AfterValidator

from ucurve.errors import UserError
from ucurve.eval.models.folder import Kind
from ucurve.eval.scoring.text.sentences import Sentences
from ucurve.huggingface import pretrained
from ucurve.huggingface.foreign_code import Weights
from ucurve.huggingface.products import use_fast_products

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

Held = TypeVar("Held")
Given = ParamSpec("Given")
Result = TypeVar("Result")
Dtype = Literal["auto", "float32", "bfloat16", "float16", "int8"]  # a sweep chooses what auto is
_SHOWN = 6  # names that are written out
# Tables that older versions of transformers saved with the weights; a model computes them from its configuration.
_TABLES = (
    r".*\b(attn|attention|self_attn|self_attention)\.(bias|masked_bias|causal_mask)",
    r".*\b(rotary|rotary_emb|rotary_embedding)\.(inv_freq|cos_cached|sin_cached)",
    r".*\b(position_ids|token_type_ids)",
    r".*\bembed_positions\.(weights|_float_tensor)",
    r".*\b(encoder|decoder)\.version",
)
# What stands on a language model beside the head that predicts tokens, and changes nothing of what that one predicts.
_HEADS = (
    "pooler", "seq_relationship", "sop_classifier", "classifier", "score", "qa_outputs", "multiple_choice_head",
    "v_head", "discriminator_predictions", "mask_predictions", r"mtp\w*",
)  # fmt: skip
_ALLOWED = re.compile("|".join([*_TABLES, rf"(\w+\.)?({'|'.join(_HEADS)})(\..*)?"]))
_LAYER = re.compile(r".*\blayers\.(\d+)\..*")


def refuse_left_over(folder: Path, unused: Iterable[str], config: "PretrainedConfig") -> None:
    """Refuse weights that a model leaves out: what it computes is not what was trained."""
    names = sorted(name for name in unused if not _ALLOWED.fullmatch(name) and not _predicts_ahead(name, config))
    if names:
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        raise UserError(
            f"{folder}: {len(names)} of the file's weights are not used by the model that config.json describes, so "
            f"that it would compute something else than the model that was trained: {shown}. Does config.json belong "
            "to these weights (number of layers, attention_bias, architecture)?"
        )


def _predicts_ahead(name: str, config: "PretrainedConfig") -> bool:
    """Tell whether a layer behind the last one predicts tokens further ahead, as the configuration may say."""
    ahead, found = getattr(config, "num_nextn_predict_layers", None) or 0, _LAYER.fullmatch(name)
    return found is not None and 0 <= int(found[1]) - int(config.num_hidden_layers) < ahead


def _known_device(name: str) -> str:
    if not re.fullmatch(r"auto|spread|cpu|cuda(:\d+)?", name):
        raise ValueError(f"got {name!r}; allowed: auto, spread, cpu, cuda, or one device as cuda:1")
    return name


Device = Annotated[str, AfterValidator(_known_device)]
_CLASSES: dict[Kind, pretrained.ModelClass] = {
    "causal": "AutoModelForCausalLM",
    "masked": "AutoModelForMaskedLM",
    "hybrid": "AutoModelForCausalLM",
}


class Workspace:
    """What scorers have loaded: of each kind, such as models, one thing at a time; ``made`` counts loads by name."""

    def __init__(self, made: Counter[str]) -> None:
        self._made = made
        self._held: dict[str, tuple[Hashable, object]] = {}

    def get(self, kind: str, key: Hashable, load: Callable[[], Held], name: str | None = None) -> Held:
        """Return the held thing of a kind if it has the key, else load it in its place."""
        if kind not in self._held or self._held[kind][0] != key:
            self.drop(kind)
            self._made[name or kind] += 1
            self._held[kind] = (key, load())
        return cast(Held, self._held[kind][1])

    def drop(self, kind: str) -> None:
        """Free the memory of the held thing of a kind."""
        self._held.pop(kind, None)


def check_vocabulary(
    folder: Path, config: Mapping[str, object], tokenizer: "PreTrainedTokenizerBase", sentences: Sentences
) -> None:
    """Refuse a tokenizer whose ids the model's embedding does not have."""
    size = config.get("vocab_size")
    largest = max(len(tokenizer) - 1, int(sentences.tokens.max()))
    if isinstance(size, int) and largest >= size:
        raise UserError(
            f"{folder}: the tokenizer does not fit the model; its ids go up to {largest}, the embedding's to {size - 1}"
        )


def load_model(
    folder: Path,
    kind: Kind = "causal",
    dtype: Dtype = "float32",
    device: Device = "auto",
    weights: Weights = "safetensors",
) -> "PreTrainedModel":
    """Load a model from a local folder, in the given dtype regardless of the saved one, without dropout.

    ``int8`` quantizes the linear layers: by torch's dynamic quantization, or on an accelerator by LLM.int8.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()
    use_fast_products()
    place = _device(device)
    model, report = pretrained.load_model(folder, _CLASSES[kind], weights, **_options(dtype, device, place))
    if report["missing_keys"]:
        raise UserError(f"{folder}: weights are missing: {', '.join(sorted(report['missing_keys'])[:5])}")
    refuse_left_over(folder, report["unexpected_keys"], model.config)
    if device == "spread" and any(weights.is_meta for weights in model.parameters()):
        # Weights outside the accelerators would be copied there for every batch.
        raise UserError(f"{folder}: device=spread: the memory of all accelerators does not hold the model")
    on_device = dtype == "int8" and place != "cpu"  # bitsandbytes has quantized and placed it
    ready: PreTrainedModel = model.eval() if on_device or device == "spread" else model.eval().to(place)
    if kind != "masked" and not on_device:
        _check_causal(folder, ready)
    return _quantize(ready) if dtype == "int8" and not on_device else ready


def _check_causal(folder: Path, model: "PreTrainedModel") -> None:
    """Refuse a model whose predictions change with what follows, such as an encoder that is saved as a decoder."""
    import torch

    from ucurve.eval.scoring.output import compute_logits

    ids = torch.tensor([[1, 2, 3], [1, 2, 4]], device=model.device) % int(
        model.config.get_text_config().vocab_size
    )
    with torch.inference_mode():
        one, other = compute_logits(model, ids)[:, :2].float()
    known = one.isfinite() & other.isfinite()  # what is not a number is for scoring to name
    if not torch.allclose(one[known], other[known], rtol=1e-2, atol=1e-2):
        raise UserError(
            f"{folder}: its predictions change with the tokens that follow, so that it is not a causal model, as its "
            "config.json says; a model that reads both sides is scored when its architecture is named ...ForMaskedLM"
        )


def int8_method(device: Device) -> str:
    """Name how int8 quantizes: the ways of the processor and of an accelerator give other scores."""
    return "LLM.int8" if on_accelerator(device) else "dynamic"


def on_accelerator(device: Device) -> bool:
    """Tell whether a model would be on an accelerator."""
    return _device(device) != "cpu"


def _device(device: Device) -> str:
    """Choose the device: without a number the one of this process's LOCAL_RANK, as launchers set it."""
    import torch

    count = torch.cuda.device_count()
    if device == "cpu" or (device in ("auto", "spread") and count == 0):
        return "cpu"
    number = device.partition(":")[2]
    if count == 0:
        raise UserError(f"device={device}: torch sees no accelerator here; device=auto or device=cpu")
    if number and int(number) >= count:
        raise UserError(f"device={device}: torch sees {count} devices here, cuda:0 to cuda:{count - 1}")
    rank = os.environ.get("LOCAL_RANK", "")
    return device if number else f"cuda:{int(rank) % count if rank.isdecimal() else torch.cuda.current_device()}"


def _options(dtype: Dtype, device: Device, place: str) -> dict[str, object]:
    """Return the type in which transformers loads weights, and where it puts them; else they are moved afterwards."""
    import torch

    # On a processor, int8 is made of float32 when the model is there.
    options: dict[str, object] = {"dtype": torch.float32 if dtype == "int8" else getattr(torch, dtype)}
    if dtype == "int8" and place != "cpu":
        from transformers import BitsAndBytesConfig

        options = {"quantization_config": BitsAndBytesConfig(load_in_8bit=True), "device_map": {"": place}}
    if device == "spread":
        if find_spec("accelerate") is None:
            raise UserError(
                "device=spread needs accelerate, which is not installed: pip install 'ucurve[spread]'"
            )
        options["device_map"] = "auto"
    return options


def _quantize(model: "PreTrainedModel") -> "PreTrainedModel":
    """Quantize the linear layers of a model on a processor."""
    import torch

    with warnings.catch_warnings():  # torch calls its own quantization old; a user can do nothing about that
        warnings.filterwarnings("ignore", "torch.ao.quantization is deprecated", DeprecationWarning)
        warnings.filterwarnings("ignore", "torch.quantize_per_tensor", UserWarning)
        quantized: PreTrainedModel = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, torch.qint8)
        return quantized


def evaluating(
    score: "Callable[Concatenate[PreTrainedModel, Given], Result]",
) -> "Callable[Concatenate[PreTrainedModel, Given], Result]":
    """Let a function compute with a model without gradients and dropout, and put the model back into its mode."""

    @functools.wraps(score)
    def compute(model: "PreTrainedModel", /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        import torch

        training = model.training
        model.eval()
        try:
            with torch.inference_mode():
                return score(model, *args, **kwargs)
        finally:
            model.train(training)

    return compute
