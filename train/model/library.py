"""Causal and masked models of transformers: a name there and keys of its configuration.

There is no code for a family, but for the first weights of Mamba, which transformers draws otherwise than its authors.
"""

import contextlib
import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ucurve.errors import UserError, unknown_name
from ucurve.huggingface.attention import register_without_mask
from ucurve.huggingface.pretrained import new_model
from ucurve.training.model.design import EMBEDDING, OUTPUT, Parameters, kinds_of_parameters
from ucurve.training.model.refusals import hidden_states, refuse_behaviour, refuse_configuration

if TYPE_CHECKING:  # torch and transformers are imported where a model is built
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from transformers import PreTrainedConfig, PreTrainedModel
# What the run decides, with the key of the run that does.
_OURS = {
    "vocab_size": "tokenizer",
    "max_position_embeddings": "batch.length",
    "bos_token_id": "tokenizer",
    "eos_token_id": "tokenizer",
    "pad_token_id": "tokenizer",
    "use_cache": "training, which has none",
    "dtype": "engine.precision",
}
# Keys of published configurations that transformers reads but does not list, each with two values that any model can
# have, and those that it turns into ``rope_parameters``, with their names there.
_PUBLISHED: dict[str, tuple[object, object]] = {
    "rope_theta": (1e4, 2e4),
    "rotary_emb_base": (1e4, 2e4),
    "partial_rotary_factor": (1.0, 0.5),
    "rotary_pct": (1.0, 0.5),
    "rope_scaling": ({"rope_type": "linear", "factor": 2.0}, {"rope_type": "linear", "factor": 4.0}),
    "head_dim": (16, 32),
}
_OF_ROTATION = {"rotary_emb_base": "rope_theta", "rotary_pct": "partial_rotary_factor"}
# Lengths to which the scans of Mamba 2, Bamba and others fill a sequence up, or into which they cut it.
_CHUNKS = ("chunk_size", "mamba_chunk_size")
# State matrices of Mamba, as its authors mark them in state-spaces/mamba, mamba_ssm/modules/mamba_simple.py; with their
# attribute. transformers does not mark them.
_WITHOUT_DECAY = (".A_log", ".D")
# Groups of parameters by words in the names of modules, the innermost first; layer norms go by their class.
_GROUPS = {
    "attention": ("attn", "attention"),
    "mlp": ("mlp", "feed_forward", "ffn", "intermediate", "fc1", "fc2"),
    "mixer": ("mixer", "mamba", "time_mix"),
    "recurrent": ("lstm",),
    EMBEDDING: ("embed", "wte", "wpe"),
    "head": (
        "predictions",
        "head",
        "vocab_transform",
    ),  # of masked models, between the inner model and the output layer
}


# Operations without products of matrices, beside those that torch marks as views or as computed value by value.
_WITHOUT_PRODUCTS = frozenset(
    (  # noqa: SIM905
        "_safe_softmax _softmax _to_copy _unsafe_view amax any arange argmax cat clone constant_pad_nd copy_ cumsum "
        "detach device embedding empty empty_like fill_ flip full full_like gather index index_select "
        "log_sigmoid_forward masked_fill_ max mean native_layer_norm new_empty new_empty_strided new_full "
        "new_ones new_zeros ones ones_like repeat roll scalar_tensor scatter stack sum t_ topk tril triu var "
        "zero_ zeros zeros_like"
    ).split()
)


@dataclass(frozen=True)
class LibraryModel:
    """An architecture of transformers and keys of its configuration, causal or ``masked``; a ``ModelDesign``."""

    architecture: str
    config: str  # the keys as JSON, which can be hashed
    masked: bool = False

    def __post_init__(self) -> None:
        """Refuse with a ``UserError`` an architecture or key that transformers does not have, or that the run sets."""
        from transformers import CONFIG_MAPPING

        known = _known_keys(self.architecture, self.masked)
        own = CONFIG_MAPPING[self.architecture].attribute_map
        # An architecture may have a name of its own for a key, as n_positions of GPT-2.
        set_by = _OURS | {own[key]: by for key, by in _OURS.items() if key in own}
        for key in json.loads(self.config):
            if key in set_by:
                raise UserError(f"model.config.{key} is set by the run (by {set_by[key]}); leave it out")
            if key not in known and not (key in _PUBLISHED and self._takes(key)):
                raise unknown_name(f"key of {self.architecture}", key, sorted(known - {*set_by}), "model.config")

    def _takes(self, key: str) -> bool:
        """Tell whether transformers takes a key that it does not list; one beside ``rope_parameters`` is refused."""
        given = json.loads(self.config)
        rotation = given.pop("rope_parameters", None)
        with self._explaining():
            is_read = _is_read(self.architecture, json.dumps(given), self.masked, key)
        if is_read and rotation and key != "head_dim":
            changed = given[key] or {} if key == "rope_scaling" else {_OF_ROTATION.get(key, key): given[key]}
            line = str(rotation | changed).replace("'", "")
            raise UserError(
                f"model.config.{key} has no effect beside model.config.rope_parameters, or replaces them; write "
                f"model.config.rope_parameters={line}"
            )
        return is_read

    @property
    def title(self) -> str:
        """Return the name of the model's class."""
        name = type(self._without_values(8, 8)).__name__
        return name.removesuffix("ForCausalLM").removesuffix("LMHeadModel").removesuffix("ForMaskedLM")

    def count_parameters(self, vocabulary: int, context: int) -> Parameters:
        """Count the parameters of a model that is built without memory for its values."""
        return _count_parameters(self, vocabulary, context)

    def count_flops(self, vocabulary: int, context: int, tokens: int, predicted: float = 1.0) -> float:
        """Let torch count the FLOPs of matrix products, in sequences of ``context``; see ``ModelDesign``."""
        inner, head = _flops_of_a_sequence(self, vocabulary, context)
        return (inner + predicted * head) / context * tokens

    def build_model(
        self, vocabulary: int, context: int, document_token: int, seed: int, device: "torch.device | None" = None
    ) -> "PreTrainedModel":
        """Build a model in float32 with the initialization of its family, drawn from ``seed``."""
        import torch

        from ucurve.training.model.placing import built_on

        device = device or torch.device("cpu")
        with torch.random.fork_rng(devices=[]), built_on(device):  # the global generators are not changed
            torch.manual_seed(seed)
            model: PreTrainedModel = self._build(vocabulary, context, document_token).float()
            if self.architecture == "mamba":
                draw_as_authors(model)
        torch.nn.Module.to(model, device)
        for module in model.modules():
            if isinstance(module, torch.nn.Embedding):
                module.padding_idx = None  # so that every row is trained
        with self._explaining():
            refuse_behaviour(model, self.architecture)
            _leave_out_mask(model, context)
        return model

    def _without_values(self, vocabulary: int, context: int) -> "PreTrainedModel":
        import torch

        with torch.device("meta"):
            return self._build(vocabulary, context, document_token=0)

    def _build(self, vocabulary: int, context: int, document_token: int) -> "PreTrainedModel":
        """Make the model on the default device, whose parameters say by a mark that they do not decay."""
        with self._explaining():
            configuration = self._configuration(vocabulary, context, document_token)
        refuse_configuration(configuration, self.masked)
        with self._explaining():
            model = new_model(configuration, "AutoModelForMaskedLM" if self.masked else "AutoModelForCausalLM")
        for name, parameter in model.named_parameters():
            parameter._no_weight_decay = name.endswith(_WITHOUT_DECAY)  # type: ignore[attr-defined]
        return model

    def _configuration(self, vocabulary: int, context: int, document_token: int) -> "PreTrainedConfig":
        """Return the configuration of transformers: the keys of the user, and those that the run decides."""
        from transformers import AutoConfig

        from ucurve.eval.scoring.masked.frame import NUMBERED_AFTER_PADDING

        after_padding = self.masked and self.architecture in NUMBERED_AFTER_PADDING
        run: dict[str, object] = {
            "vocab_size": vocabulary,
            "bos_token_id": document_token,
            "eos_token_id": document_token,
            "pad_token_id": -1 if after_padding else None,  # positions are numbered from 0 then
            "use_cache": False,
        }
        known = _known_keys(self.architecture, self.masked)
        if self.masked:
            run |= {key: document_token for key in ("cls_token_id", "sep_token_id") if key in known}
        if "max_position_embeddings" in known:
            run["max_position_embeddings"] = context
        configuration: PreTrainedConfig = AutoConfig.for_model(
            self.architecture, **json.loads(self.config), **run
        )
        for key in _CHUNKS:
            if getattr(configuration, key, 0) > context:
                setattr(configuration, key, context)
        return configuration

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        """Turn what transformers says of values that do not fit together into a ``UserError``."""
        try:
            yield
        except UserError:
            raise
        except Exception as error:  # each family raises errors of its own
            reason = " ".join(str(error).split())
            raise UserError(
                f"model.config: transformers makes no {self.architecture} of these values: {reason}{self._heads_hint()}"
            ) from error

    def _heads_hint(self) -> str:
        """Name the key of the heads that have keys and values of their own where their number does not fit."""
        with contextlib.suppress(Exception):  # a configuration that cannot be made has other faults
            values = self._configuration(8, 8, 0).to_dict()
            heads, own = values["num_attention_heads"], values["num_key_value_heads"]
            return (
                f"; num_attention_heads={heads} is no multiple of model.config.num_key_value_heads, which is {own}"
                if heads % own
                else ""
            )
        return ""


def _leave_out_mask(model: "PreTrainedModel", context: int) -> None:
    """Take attention without a mask where that computes the same; see ``ucurve.huggingface.attention``.

    It does not where a window of attention is shorter than the context, or where positions are told by the mask.
    """
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    if model.config._attn_implementation != "sdpa":
        return
    ids = torch.arange(context, device=model.device)[None] % model.config.vocab_size
    # On a device, other kernels with a mask compute other bits.
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        before = hidden_states(model, ids)
        model.set_attn_implementation(register_without_mask())
        if not torch.equal(before, hidden_states(model, ids)):
            model.set_attn_implementation("sdpa")


@cache
def _causal_architectures() -> frozenset[str]:
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    from ucurve.huggingface.lstm import LSTMConfig  # whose module makes it known to transformers

    return frozenset({*MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, LSTMConfig.model_type})


@cache
def _masked_architectures() -> frozenset[str]:
    from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

    return frozenset(MODEL_FOR_MASKED_LM_MAPPING_NAMES)


@cache
def _known_keys(architecture: str, masked: bool) -> frozenset[str]:
    """Return the keys of an architecture's configuration, by both of their names where there are two."""
    from transformers import CONFIG_MAPPING

    if masked and architecture in _causal_architectures() - _masked_architectures():
        raise UserError(f"model.architecture={architecture} is causal: transformers has no masked model of it")
    if not masked and architecture in _masked_architectures() - _causal_architectures():
        raise UserError(f"model.architecture={architecture} is no causal model; set model.objective=masked")
    architectures = _masked_architectures() if masked else _causal_architectures()
    if architecture not in architectures:
        raise unknown_name("architecture", architecture, sorted(architectures), "model.architecture")
    kind = CONFIG_MAPPING[architecture]
    described = {"model_type", "architectures", "transformers_version"}
    return frozenset({*kind().to_dict(), *kind.attribute_map} - described)


@cache
def _is_read(architecture: str, config: str, masked: bool, key: str) -> bool:
    """Tell whether a shape or a rotation of positions depends on a key; transformers takes it in either case."""
    import torch
    from transformers import AutoConfig

    def outcome(value: object) -> list[object]:
        configuration = AutoConfig.for_model(architecture, **json.loads(config) | {key: value})
        with torch.device("meta"):
            model = new_model(configuration, "AutoModelForMaskedLM" if masked else "AutoModelForCausalLM")
        rotations = (
            type(one)(configuration) for one in model.modules() if "RotaryEmbedding" in type(one).__name__
        )
        angles = (buffer.tolist() for rotation in rotations for buffer in rotation.buffers())
        return [*(one.shape for one in model.parameters()), *angles]

    one, other = map(outcome, _PUBLISHED[key])
    return one != other


@cache
def _count_parameters(design: LibraryModel, vocabulary: int, context: int) -> Parameters:
    return parameters_by_group(design._without_values(vocabulary, context))


def parameters_by_group(model: "PreTrainedModel") -> Parameters:
    """Count a model's parameters by group, in the order of the groups' first parameters."""
    output, counts = model.get_output_embeddings(), dict[str, int]()
    modules = dict(model.named_modules())
    for name, parameter in model.named_parameters():  # one that is tied comes once, as an embedding
        owner, _, _ = name.rpartition(".")
        group = OUTPUT if modules[owner] is output else _group_of(owner, type(modules[owner]).__name__)
        if parameter is output.bias:  # one for each token, in masked models
            group = EMBEDDING
        counts[group] = counts.get(group, 0) + parameter.numel()
    kinds = kinds_of_parameters(model)
    return Parameters(counts, tuple(tuple(one.shape) for one in model.parameters() if kinds[one] == "hidden"))


def _group_of(path: str, kind: str) -> str:
    """Return the group of the parameters of a module by the names on the way to it, or by its class."""
    if "norm" in kind.lower():
        return "layer_norm"
    for part in reversed(path.split(".")):
        for group, words in _GROUPS.items():
            if any(word in part for word in words):
                return group
    return "mlp" if "output" in path.split(".") else "other"  # as BERT calls the second matrix of the two


@cache
def _flops_of_a_sequence(design: LibraryModel, vocabulary: int, context: int) -> tuple[float, float]:
    """Count the matrix products of a forward pass on a sequence, without computing any, and twice as many backward.

    The second number is of the layers after the inner model, for all positions.
    """
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils.flop_counter import FlopCounterMode
    from transformers.initialization import no_init_weights

    counted_here = {torch.ops.aten.mkldnn_rnn_layer: _recurrent_flops}
    unknown: set[str] = set()
    with FakeTensorMode(), torch.no_grad():
        with no_init_weights():  # trunc_normal_ looks at values, which fake tensors do not have
            model = design._build(vocabulary, context, document_token=0).eval()
        if model.config._attn_implementation == "sdpa":
            # Torch does not count what the processor's own kernel does. Which kernel ``sdpa`` takes stays as it is: the
            # setting is one for all threads, and another of them may be training.
            model.set_attn_implementation("eager")
        ids = torch.zeros(1, context, dtype=torch.long)
        with (
            FlopCounterMode(display=False, custom_mapping=counted_here) as counter,
            _noting_unknown_operations(unknown, counted_here),
            design._explaining(),
        ):
            model.base_model(ids)
            inner = counter.get_total_flops()
            model(ids)
    if unknown:
        raise UserError(
            f"model.architecture={design.architecture}: torch counts no FLOPs of {', '.join(sorted(unknown))}, "
            "which it computes, so the FLOPs of the run would be wrong"
        )
    return 3.0 * inner, 3.0 * (counter.get_total_flops() - 2 * inner)


def _recurrent_flops(
    inputs: Sequence[int], of_inputs: Sequence[int], of_states: Sequence[int], *_rest: object, **_named: object
) -> int:
    """Count the products of a layer of an LSTM on inputs of shape [length, sequences, width], by its two matrices."""
    return 2 * math.prod(inputs[:2]) * (math.prod(of_inputs) + math.prod(of_states))


def _noting_unknown_operations(noted: set[str], known: Collection[object]) -> "TorchDispatchMode":
    """Note the operations that may hold products and of which torch counts none, but for those that are known."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    class Noting(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kind = function._overloadpacket
            counted = (
                kind in flop_registry or kind in known or torch.Tag.pointwise in function.tags or function.is_view
            )
            if not counted and kind.__name__ not in _WITHOUT_PRODUCTS:
                noted.add(str(kind))
            return function(*args, **(kwargs or {}))

    return Noting()  # type: ignore[no-untyped-call]


# What its authors leave as torch draws it; an output layer of its own is one too.
_AS_TORCH = (
    "in_proj.weight",
    "x_proj.weight",
    "out_proj.weight",
    "conv1d.weight",
    "conv1d.bias",
    "lm_head.weight",
)


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
