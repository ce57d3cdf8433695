"""The first weights of Mamba where transformers draws others than its authors."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# What its authors leave as torch draws it; an output layer of its own is one too.
_AS_TORCH = ("in_proj.weight", "x_proj.weight", "out_proj.weight", "conv1d.weight", "conv1d.bias", "lm_head.weight")


def draw_as_authors(model: "PreTrainedModel") -> None:
    """Draw these parameters again from torch's generator, as ``_init_weights`` of state-spaces/mamba leaves them.

    It is in ``mamba_ssm/models/mixer_seq_simple.py``, the modules in ``mamba_ssm/modules/mamba_simple.py``. Matrices,
    and the convolution with its bias, are uniform to 1 / sqrt(inputs); ``out_proj`` is then divided by sqrt(layers).
    transformers gives matrices the ``initializer_range``, which is the embedding's alone there, sets the bias to 0, and
    divides only with a key by which it would divide the weights of a checkpoint again. The embedding, ``dt_proj``,
    ``A_log`` and ``D`` are drawn alike.
    """
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(_AS_TORCH):
                inputs = model.config.conv_kernel if "conv1d" in name else parameter.shape[1]
                layers = model.config.num_hidden_layers if name.endswith("out_proj.weight") else 1
                bound = (inputs * layers) ** -0.5
                parameter.uniform_(-bound, bound)
