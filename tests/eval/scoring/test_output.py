import numpy as np
import pytest
import torch

from ucurve.eval.scoring.output import OutputLayer, score_rows


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("biased", [False, True])
def test_half_precision_is_the_float32_log_softmax_of_the_same_logits(dtype, biased, monkeypatch):
    torch.manual_seed(0)
    linear = torch.nn.Linear(64, 3000, bias=biased).to(dtype)
    torch.nn.init.normal_(linear.weight, std=0.5)
    hidden, targets = torch.randn(300, 64).to(dtype), torch.randint(3000, (500,))
    contexts = torch.randint(300, (500,))
    with torch.inference_mode():
        wanted = linear(hidden).float().log_softmax(-1)[contexts, targets]
        scores = OutputLayer(linear.weight, linear.bias).log_probabilities(
            hidden, contexts.numpy(), targets.numpy()
        )
        rough = linear(hidden).log_softmax(-1)[contexts, targets]
    assert np.abs(scores - wanted.double().numpy()).max() < 1e-3
    assert (rough.float() - wanted).abs().max() > 1e-3


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_model_in_half_precision_is_scored_by_the_float32_log_softmax_of_its_logits(dtype, make_model):
    model = make_model().to(dtype)
    ids = torch.randint(model.config.vocab_size, (5, 9))
    with torch.inference_mode():
        layer = OutputLayer(model.get_output_embeddings().weight, None)
        wanted = model(ids[:, :-1]).logits.float().log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
        for way in (layer, None):
            assert (
                np.abs(
                    score_rows(model, way, ids[:, :-1].numpy(), ids[:, 1:].numpy()) - wanted.double().numpy()
                ).max()
                < 1e-3
            )


@pytest.mark.parametrize("factor", [1, 300])
def test_exponentials_out_of_range_are_shifted(factor):
    torch.manual_seed(0)
    weight, hidden = torch.randn(50, 8) * factor, torch.randn(600, 8)
    contexts, targets = torch.arange(600), torch.randint(50, (600,))
    wanted = (hidden.double() @ weight.double().T).log_softmax(-1)[contexts, targets]
    scores = OutputLayer(weight, None).log_probabilities(hidden, contexts.numpy(), targets.numpy())
    np.testing.assert_allclose(scores, wanted.numpy(), atol=1e-5 * factor, rtol=1e-5)
