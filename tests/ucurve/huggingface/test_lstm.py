import subprocess
import sys

import pytest
import torch
from transformers import AutoModelForCausalLM

from ucurve.huggingface.lstm import LSTMConfig, LSTMForCausalLM

LOAD = "m = AutoModelForCausalLM.from_pretrained(sys.argv[1]); print(type(m).__name__, m.num_parameters())"


@pytest.fixture
def model():
    torch.manual_seed(0)
    return LSTMForCausalLM(LSTMConfig(vocab_size=30, hidden_size=8, num_hidden_layers=2))


def test_it_computes_what_torchs_lstm_does(model):
    body, other = model.lstm, torch.nn.LSTM(8, 8, num_layers=2, batch_first=True)
    with torch.no_grad():
        for number, layer in enumerate(body.layers):
            for name, parameter in layer.named_parameters():
                getattr(other, f"{name}_l{number}").copy_(parameter)
    ids = torch.randint(0, 30, (3, 7))
    expected = torch.nn.functional.linear(other(body.embedding(ids))[0], body.embedding.weight)
    assert torch.allclose(model(ids).logits, expected, atol=1e-6)
    loss = torch.nn.functional.cross_entropy(expected[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    assert torch.allclose(model(ids, labels=ids).loss, loss, atol=1e-6)


def test_a_folder_gives_the_same_model(model, tmp_path):
    model.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    saved, live = dict(loaded.named_parameters()), dict(model.named_parameters())
    assert saved.keys() == live.keys()
    assert all(torch.equal(saved[name], live[name]) for name in live)
    assert loaded.lm_head.weight is loaded.lstm.embedding.weight


def test_its_folders_load_after_importing_its_module(model, tmp_path):
    model.save_pretrained(tmp_path)
    program = f"import sys, ucurve.huggingface.lstm; from transformers import AutoModelForCausalLM; {LOAD}"
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["LSTMForCausalLM", str(model.num_parameters())]


def test_importing_ucurve_imports_no_transformers():
    program = "import sys, ucurve; print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
