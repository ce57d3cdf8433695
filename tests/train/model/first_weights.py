"""How the first weights of every family are drawn here, and where their authors publish how they draw them.

``python -m tests.train.model.first_weights`` prints the table docs/tables/first_weights.csv, measured on new models of the presets
of 14m.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import yaml
from pydantic import TypeAdapter

from ucurve.training.config import AnyModelSettings

FOLDER = Path(__file__).resolve().parents[3] / "conf" / "model"
VOCABULARY = 8_192


@dataclass(frozen=True)
class Form:
    """A distribution around 0 with a scale: its words, its standard deviation and its largest value over the scale."""

    words: str
    deviation: float
    largest: float = math.inf


_DENSITY, _INSIDE = (
    math.exp(-2) / math.sqrt(2 * math.pi),
    math.erf(math.sqrt(2)),
)  # of a normal variable, at and within 2
NORMAL = Form("normal {}", 1.0)
CUT = Form("normal {}, cut at twice that", math.sqrt(1 - 4 * _DENSITY / _INSIDE), 2.0)
UNIFORM = Form("uniform to {}", 1 / math.sqrt(3), 1.0)


@dataclass(frozen=True)
class Drawn:
    """Parameters that are drawn alike; ``formula`` says in words what ``scale`` computes of a configuration."""

    parameters: str  # an expression that the end of their names matches
    form: Form
    formula: str
    scale: Callable[..., float]
    source: str

    def deviation(self, config):
        """Return the standard deviation with which they are drawn."""
        return self.scale(config) * self.form.deviation


_NEOX = "EleutherAI/pythia, `pythia-14m.yml`; EleutherAI/gpt-neox, `init_functions.py`"
_GPT2 = "openai/gpt-2, `src/model.py`"
_MIXER, _MAMBA = "state-spaces/mamba, `mixer_seq_simple.py`", "state-spaces/mamba, `mamba_simple.py`"
_GREEN = "facebookresearch/colorlessgreenRNNs, `model.py` (Gulordava et al. 2018)"
_MODERN = "AnswerDotAI/ModernBERT, `initialization.py` (`full_megatron`)"
_HUNDREDTHS = ".02", lambda config: 0.02
_RESIDUAL = ".02 / sqrt(2L)", lambda config: 0.02 / math.sqrt(2 * config.num_hidden_layers)
_WIDTH = "1 / sqrt(d)", lambda config: config.hidden_size**-0.5
_SMALL = "sqrt(2 / (5d))", lambda config: math.sqrt(2 / (5 * config.hidden_size))
_WANG = "2 / (L sqrt(d))", lambda config: 2 / (config.num_hidden_layers * math.sqrt(config.hidden_size))
_INNER = "1 / sqrt(2d)", lambda config: config.intermediate_size**-0.5
_INNER_LAYERS = "1 / sqrt(2dL)", lambda config: (config.intermediate_size * config.num_hidden_layers) ** -0.5
_FILTER = "1 / sqrt(width of the filter)", lambda config: config.conv_kernel**-0.5
_RANK = "1 / sqrt(rank of dt)", lambda config: config.time_step_rank**-0.5
_ENCODER = r"(embeddings|query|key|value|dense)\.weight"

FAMILIES = {
    "gpt_neox": [
        Drawn(r"(embed_in|query_key_value|dense_h_to_4h|lm_head)\.weight", NORMAL, *_SMALL, _NEOX),
        Drawn(r"(attention\.dense|dense_4h_to_h)\.weight", NORMAL, *_WANG, _NEOX),
    ],
    "gpt2": [
        Drawn(r"(wte|c_attn|c_fc)\.weight", NORMAL, *_HUNDREDTHS, _GPT2),
        Drawn(r"wpe\.weight", NORMAL, *_HUNDREDTHS, f"transformers; .01 in {_GPT2}"),
        Drawn(
            r"c_proj\.weight", NORMAL, *_RESIDUAL, "Radford et al. 2019, 2.3: 1 / sqrt(N) of N residual layers"
        ),
    ],
    "llama": [
        Drawn(
            r"(embed_tokens|proj|lm_head)\.weight",
            NORMAL,
            *_HUNDREDTHS,
            "meta-llama/Llama-2-7b-hf, `config.json`; the papers do not say",
        )
    ],
    "qwen3": [Drawn(r"(embed_tokens|proj)\.weight", NORMAL, *_HUNDREDTHS, "Qwen/Qwen3-0.6B, `config.json`")],
    "olmo2": [
        Drawn(
            r"(embed_tokens|proj|lm_head)\.weight",
            NORMAL,
            *_HUNDREDTHS,
            '"2 OLMo 2 Furious", 2024: every parameter with .02',
        )
    ],
    "mamba": [
        Drawn(r"embeddings\.weight", NORMAL, *_HUNDREDTHS, _MIXER),
        Drawn(r"in_proj\.weight", UNIFORM, *_WIDTH, _MAMBA),
        Drawn(r"conv1d\.weight", UNIFORM, *_FILTER, _MAMBA),
        Drawn(r"conv1d\.bias", UNIFORM, *_FILTER, _MAMBA),
        Drawn(r"x_proj\.weight", UNIFORM, *_INNER, _MAMBA),
        Drawn(r"dt_proj\.weight", UNIFORM, *_RANK, _MAMBA),
        Drawn(r"out_proj\.weight", UNIFORM, *_INNER_LAYERS, _MIXER),
    ],
    "lstm": [
        Drawn(r"embedding\.weight", UNIFORM, ".1", lambda config: 0.1, _GREEN),
        Drawn(r"(weight|bias)_(ih|hh)", UNIFORM, *_WIDTH, "`torch.nn.LSTM`"),
    ],
    "bert": [
        Drawn(_ENCODER, NORMAL, *_HUNDREDTHS, "google-research/bert, `modeling.py`, which cuts it at twice that"),
    ],
    "roberta": [
        Drawn(_ENCODER, NORMAL, *_HUNDREDTHS, "fairseq, `init_bert_params`; it has no token types"),
    ],
    "modernbert": [
        Drawn(r"(tok_embeddings|Wqkv|Wi)\.weight", CUT, *_HUNDREDTHS, _MODERN),
        Drawn(r"Wo\.weight", CUT, *_RESIDUAL, _MODERN),
        Drawn(r"head\.dense\.weight", CUT, *_RESIDUAL, "transformers; .02 in AnswerDotAI/ModernBERT, `model.py`"),
    ],
}


def build(family, length=64, **keys):
    """Build a new model of the preset of 14m, with these keys in its configuration."""
    name = "14m" if family == "gpt_neox" else f"{family}-14m"
    values = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    if keys:
        values["config"] |= keys
    design = TypeAdapter(AnyModelSettings).validate_python(values).design
    return design.build_model(VOCABULARY, length, 0, seed=0)


def drawn_by(row, model):
    """Return the values of the parameters that a row is of, by their names."""
    named = model.named_parameters()
    return {name: one.detach() for name, one in named if re.search(rf"(?:{row.parameters})$", name)}


def pooled(values):
    """Return all values of several tensors in one."""
    return torch.cat([one.flatten() for one in values])


def main():
    print(  # noqa: T201
        "| family | parameters | drawn | deviation by the formula | measured | source |\n|---|---|---|---|---|---|"
    )
    for family, rows in FAMILIES.items():
        model = build(family)
        for row in rows:
            found = drawn_by(row, model)
            kinds = dict.fromkeys(name.removesuffix(".weight").rsplit(".", 2)[-1] for name in found)
            names = "`conv1d.bias`" if [*kinds] == ["bias"] else ", ".join(f"`{kind}`" for kind in kinds)
            wanted, measured = row.deviation(model.config), pooled(found.values()).std().item()
            cells = [f"`{family}`", names, row.form.words.format(row.formula), f"{wanted:.4f}", f"{measured:.4f}"]
            print("|", " | ".join([*cells, row.source]), "|")  # noqa: T201


if __name__ == "__main__":
    main()
