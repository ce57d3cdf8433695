"""Weights of a file that the model which its configuration describes does not use."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ucurve.errors import UserError

if TYPE_CHECKING:
    from transformers import PretrainedConfig

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
