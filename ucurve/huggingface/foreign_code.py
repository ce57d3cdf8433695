"""Refuses folders that can only be loaded by running code, or by unpickling files, that somebody put into them.

What is read here is read by transformers' own readers, so that it is what loading will read.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from ucurve.errors import UserError
from ucurve.huggingface.model_files import refuse_adapter, refuse_more_layers, refuse_pointers
from ucurve.huggingface.tokenizer_files import TOKENIZER_FILES
from ucurve.storage.files import read_json_or_empty

Weights = Literal["safetensors", "bin"]
WEIGHT_FILES: dict[Weights, str] = {"safetensors": "*.safetensors", "bin": "pytorch_model*.bin"}
_WHOLE: dict[Weights, str] = {"safetensors": "model.safetensors", "bin": "pytorch_model.bin"}
_NEVER = "such code is never run here"
_KERNELS = re.compile(r".*(attn|experts)_implementation(_internal)?")
# A name with a separator would lead out of the folder.
_WEIGHTS: dict[Weights, re.Pattern[str]] = {
    "safetensors": re.compile(r"[^/\\]+\.safetensors"),
    "bin": re.compile(r"pytorch_model[^/\\]*\.bin"),
}
_A_FILE: dict[Weights, str] = {"safetensors": "a safetensors file", "bin": "a file pytorch_model*.bin"}
_WEIGHTS_OR_INDEX = re.compile(r"[^/\\]+\.safetensors(\.index\.json)?")


def check_tokenizer(folder: Path) -> None:
    """Refuse a tokenizer that transformers does not have, or a class that would load the rest of the folder."""
    from transformers import PreTrainedTokenizerBase
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

    refuse_pointers(folder, TOKENIZER_FILES)
    settings, of_model = tokenizer_settings(folder), configuration(folder)
    for file, values in (("tokenizer_config.json", settings), ("config.json", of_model)):
        found = tokenizer_class(name := values.get("tokenizer_class"))
        a_class = found if isinstance(found, type) else type(found)
        # In place of a class that needs a missing library, transformers has a dummy that is no tokenizer.
        is_tokenizer = issubclass(a_class, PreTrainedTokenizerBase) or hasattr(a_class, "is_dummy")
        if found is not None and not is_tokenizer:
            raise UserError(
                f"{folder / file}: tokenizer_class is {name!r}, which is not a tokenizer of transformers"
            )
    # Files of older versions have the names themselves there, and no mapping to them.
    auto_map = settings.get("auto_map")
    own = auto_map.get("AutoTokenizer") if isinstance(auto_map, dict) else auto_map
    asked = settings.get("tokenizer_class") or of_model.get("tokenizer_class")
    known = tokenizer_class(asked) is not None if asked else of_model.get("model_type") in TOKENIZER_MAPPING_NAMES
    if own and not known:
        path, lacking = folder / "tokenizer_config.json", f"tokenizer {asked!r}" if asked else "tokenizer for it"
        raise UserError(
            f"{path}: auto_map asks for code that comes with the tokenizer ({_names(own)}); {_NEVER}, and transformers "
            f"has no {lacking}. A tokenizer that is saved as tokenizer.json, with tokenizer_class "
            "PreTrainedTokenizerFast, needs no code"
        )


def check_model(folder: Path, auto_class: str, weights: Weights = "safetensors") -> None:
    """Refuse a model that transformers lacks, and weights of another form than asked for or with fewer layers."""
    config = configuration(folder)
    _check_weights(folder, config, weights)
    refuse_more_layers(folder, config, folder.glob(WEIGHT_FILES[weights]))
    path = folder / "config.json"
    for key, value in _kernels(config):
        raise UserError(
            f"{path}: {key} is {value!r}, a compiled kernel of the hub; {_NEVER}. Without the key, transformers "
            "computes the model by itself"
        )
    lacking = _lacking(config, auto_class) if config.get("auto_map") else None
    if lacking is not None:
        raise UserError(
            f"{path}: auto_map asks for code that comes with the model ({_names(config['auto_map'])}); {_NEVER}, and "
            f"transformers has no {lacking}. A model of an architecture that transformers has can be loaded; perhaps "
            "this one has been converted to such an architecture, as some on the hub have"
        )


def tokenizer_class(name: object) -> object:
    """Return what transformers has under the name of a tokenizer class, or None."""
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

    with _without_warnings():
        return tokenizer_class_from_name(name) if isinstance(name, str) else None


def _lacking(config: Mapping[str, object], auto_class: str) -> str | None:
    """Say what transformers does not have of a model whose folder brings code, or nothing when it has all."""
    import transformers
    from transformers.models.auto import modeling_auto

    kinds = {
        "AutoModelForCausalLM": ("causal", modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
        "AutoModelForMaskedLM": ("masked", modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES),
    }
    model_type = config.get("model_type")
    kind, known = kinds.get(auto_class, ("", (model_type,)))
    if model_type not in known:
        return f"{kind} model of model_type {model_type!r}"
    architectures = config.get("architectures")
    named = architectures if isinstance(architectures, list) else []
    # Asked for by name alone, because getting a class would import its module.
    unknown = [name for name in named if name not in dir(transformers)]
    return f"architecture {_names(unknown)}" if unknown else None


def _check_weights(folder: Path, config: Mapping[str, object], weights: Weights) -> None:
    """Refuse weights outside the folder or in other files, which the hash of the weights would not cover."""
    named = config.get("transformers_weights")
    if named is not None and not (weights == "safetensors" and _WEIGHTS_OR_INDEX.fullmatch(str(named))):
        raise UserError(
            f"{folder / 'config.json'}: transformers_weights is {named!r}, "
            f"which is not {_A_FILE[weights]} of this folder"
        )
    refuse_adapter(folder)
    for index in sorted(folder.glob(f"*.{weights}.index.json")):
        for name in _shards(index):
            if not _WEIGHTS[weights].fullmatch(name):
                raise UserError(
                    f"{index}: weight_map names {name!r}, which is not {_A_FILE[weights]} of this folder"
                )


def weight_files(folder: Path, names: Collection[str], weights: Weights) -> set[str]:
    """Choose those of a model's files of weights that are loaded, by the index in its folder; all where it is not told.

    Some repositories have the same weights a second time, in one file or as another tool wants them.
    """
    whole = _WHOLE[weights]
    chosen = {whole} if whole in names else set(_shards(folder / f"{whole}.index.json"))
    told = chosen and chosen.issubset(names) and "transformers_weights" not in configuration(folder)
    return chosen if told else set(names)


def _shards(index: Path) -> list[str]:
    files = read_json_or_empty(index).get("weight_map")
    return sorted({str(name) for name in files.values()}) if isinstance(files, dict) else []


def _kernels(value: object) -> Iterator[tuple[str, str]]:
    """Yield the keys at any depth of a configuration whose value names a kernel of the hub (``owner/name``)."""
    if isinstance(value, list):
        for inner in value:
            yield from _kernels(inner)
    if isinstance(value, dict):
        for key, inner in value.items():
            if _KERNELS.fullmatch(key):
                texts = map(str, inner.values() if isinstance(inner, dict) else [inner])
                yield from ((key, text) for text in texts if "/" in text)
            yield from _kernels(inner)


def _names(auto_map: object) -> str:
    """Return the names that an ``auto_map`` holds, in whatever form it has them."""
    values = (
        auto_map.values()
        if isinstance(auto_map, dict)
        else auto_map
        if isinstance(auto_map, list)
        else [auto_map]
    )
    flat = [name for value in values for name in (value if isinstance(value, list) else [value]) if name]
    return ", ".join(dict.fromkeys(map(str, flat)))


def configuration(folder: Path) -> dict[str, object]:
    """Return ``config.json`` as transformers reads it, empty where it is missing or broken."""
    from transformers import PreTrainedConfig

    try:
        return dict(PreTrainedConfig.get_config_dict(folder, local_files_only=True)[0])
    except (OSError, ValueError, TypeError):
        return {}


def tokenizer_settings(folder: Path) -> dict[str, object]:
    """Return ``tokenizer_config.json`` as transformers reads it, empty where it is missing or broken."""
    from transformers.models.auto.tokenization_auto import get_tokenizer_config

    try:
        return dict(get_tokenizer_config(folder, local_files_only=True))
    except (OSError, ValueError, TypeError):
        return {}


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep transformers quiet: looking for a name it does not have, it warns of every library it could use."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)
