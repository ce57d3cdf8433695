"""Steps of the engine are those of a plain loop over the library's own model, for every family."""

import json

import pytest
import torch
from torch.overrides import TorchFunctionMode
from transformers import AutoModelForCausalLM

from tests.settings import optimizer_settings
from tests.train.model.test_library import FAMILIES, LENGTH, NO_DROPOUT, PLAIN, VOCABULARY, WIDTH, design
from ucurve.training.engine.engine import TorchEngine
from ucurve.training.model import loss as loss_module
from ucurve.training.model.hidden import make_hidden_states
from ucurve.training.model.library import LibraryModel
from ucurve.training.model.loss import summed_loss

OPTIMIZER = optimizer_settings(learning_rate=3e-3)
STEPS = 20


def causal_loss(model, ids):
    """The mean loss per token, of the library's logits."""
    logits = model(input_ids=ids[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def batches():
    generator = torch.Generator().manual_seed(3)
    return torch.randint(0, VOCABULARY // 4, (STEPS, 4, LENGTH + 1), generator=generator)


def plain_losses(model, batches, loss_of):
    """The loss of each step, with one AdamW for matrices and one for the rest."""
    kinds = ([], [])
    for name, parameter in model.named_parameters():
        kinds[parameter.ndim < 2 or name.endswith("A_log")].append(parameter)
    keys = {"lr": OPTIMIZER.learning_rate, "betas": OPTIMIZER.betas, "eps": OPTIMIZER.eps}
    optimizers = [
        torch.optim.AdamW(each, weight_decay=decay, **keys) for each, decay in zip(kinds, (0.1, 0.0), strict=True)
    ]
    losses = []
    for batch in batches:
        loss = loss_of(model, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), OPTIMIZER.clip)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("family", FAMILIES)
def test_the_engine_trains_as_a_plain_loop(tmp_path, family):
    model = design(family).build_model(VOCABULARY, LENGTH, 7, seed=0)
    model.save_pretrained(tmp_path)
    plain = AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager").train()
    expected = plain_losses(plain, batches(), causal_loss)
    engine = TorchEngine(model, OPTIMIZER, 3, torch.device("cpu"))
    ours = [
        engine.step(ids, OPTIMIZER.learning_rate, number).loss_sum / ids[:, 1:].numel()
        for number, ids in enumerate(batches(), 1)
    ]
    assert ours == pytest.approx(expected, abs=1e-4)
    assert ours[-1] < ours[0] - 0.5


@pytest.mark.parametrize("family", FAMILIES)
def test_in_bfloat16_a_model_computes_nearly_the_same(family):
    model = design(family).build_model(VOCABULARY, LENGTH, 7, seed=0)
    ids = batches()[0, :, :-1]
    narrow, wide = (make_hidden_states(precision)(model, ids) for precision in ("bfloat16", "float32"))
    assert narrow.dtype == torch.bfloat16
    assert torch.linalg.vector_norm(narrow - wide) < 0.03 * torch.linalg.vector_norm(wide)


OTHER_LOGITS = {
    "gemma2": {**FAMILIES["qwen3"], "final_logit_softcapping": 0.5},
    "cohere": {**PLAIN, "logit_scale": 0.25},
    "granite": {**PLAIN, "logits_scaling": 8.0},
    "gptj": {"n_embd": WIDTH, "n_layer": 1, "n_head": 4, "rotary_dim": 4, **NO_DROPOUT},
    "phi": {**PLAIN, "hidden_act": "gelu"},
}


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("family", OTHER_LOGITS)
def test_logits_with_a_bias_a_scale_or_a_cap_have_the_loss_and_gradients_of_the_library(
    monkeypatch, family, fused
):
    monkeypatch.setattr(loss_module, "_fused_kernel", lambda: loss_module._loss_and_error)
    model = (
        LibraryModel(family, json.dumps(OTHER_LOGITS[family])).build_model(VOCABULARY, LENGTH, 7, seed=0).train()
    )
    with torch.no_grad():
        for parameter in model.get_output_embeddings().parameters():
            parameter.normal_(0, 0.3)
    ids, every = batches()[0], list(model.parameters())
    ours = (
        summed_loss(model, ids[:, :-1], ids[:, 1:], make_hidden_states("float32"), fused)[0] / ids[:, 1:].numel()
    )
    expected = causal_loss(model, ids)
    assert ours.item() == pytest.approx(expected.item(), rel=1e-6)
    for mine, theirs in zip(torch.autograd.grad(ours, every), torch.autograd.grad(expected, every), strict=True):
        assert (mine - theirs).norm() <= 1e-5 * theirs.norm()
    assert (
        abs(torch.nn.functional.cross_entropy(hidden_product(model, ids), ids[:, 1:].flatten()) - expected) > 1e-3
    )


def hidden_product(model, ids):
    """The logits without bias, scale and cap."""
    hidden = model.base_model(ids[:, :-1]).last_hidden_state
    return (hidden @ model.get_output_embeddings().weight.T).flatten(0, 1)


class Seen(TorchFunctionMode):
    """Notes the types of queries, keys, values and masks that attention is asked with."""

    def __init__(self):
        super().__init__()
        self.types = set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.nn.functional.scaled_dot_product_attention:
            tensors = [one for one in (*args, *(kwargs or {}).values()) if isinstance(one, torch.Tensor)]
            self.types |= {one.dtype for one in tensors}
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("family", ["gpt_neox", "llama"])
def test_on_a_processor_attention_is_in_float32_also_in_bfloat16(family):
    model = design(family).build_model(VOCABULARY, LENGTH, 7, seed=0)
    with Seen() as seen:
        hidden = make_hidden_states("bfloat16")(model, batches()[0, :, :-1])
    assert hidden.dtype == torch.bfloat16
    assert seen.types == {torch.float32}
