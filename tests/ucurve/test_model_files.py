"""What is said of folders that look like a model and are none."""

import json
import time

import pytest
import torch
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

from ucurve.errors import UserError
from ucurve.eval.models.targets import model_targets
from ucurve.huggingface.pretrained import load_model, load_tokenizer

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"


@pytest.fixture(scope="module")
def model():
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    return GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=20, **sizes))


@pytest.fixture
def folder(tmp_path, model):
    model.save_pretrained(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "tokenizer.model"])
def test_pointers_of_git_lfs_are_named(folder, name):
    (folder / name).write_text(POINTER)
    with pytest.raises(
        UserError, match=rf"{name} is a Git LFS pointer, not the file: run git lfs pull in that folder"
    ):
        model_targets(str(folder))


def test_all_pointers_are_named_at_once(folder):
    for name in ("tokenizer.json", "model.safetensors"):
        (folder / name).write_text(POINTER)
    with pytest.raises(
        UserError, match=r"model\.safetensors, tokenizer\.json are Git LFS pointers, not the files"
    ):
        model_targets(str(folder))


def test_a_pointer_in_place_of_a_tokenizer_that_training_reads(tmp_path):
    (tmp_path / "tokenizer.json").write_text(POINTER)
    with pytest.raises(UserError, match=r"tokenizer\.json is a Git LFS pointer"):
        load_tokenizer(tmp_path)


def test_an_adapter_without_a_configuration_is_named(tmp_path):
    (tmp_path / "adapter_model.safetensors").write_bytes(b"")
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "owner/base"}))
    message = r"holds an adapter \(PEFT, such as LoRA\) for the model 'owner/base'; merge it"
    with pytest.raises(UserError, match=message):
        model_targets(str(tmp_path))


def test_gguf_alone_has_to_be_converted(tmp_path):
    (tmp_path / "model-Q4_0.gguf").write_bytes(b"GGUF")
    (target,) = model_targets(str(tmp_path))
    message = r"no \*\.safetensors file; model-Q4_0\.gguf is GGUF.*gguf_file='model-Q4_0\.gguf'"
    with pytest.raises(UserError, match=message):
        target.weights_sha256()


@pytest.mark.parametrize("form", ["safetensors", "bin"])
@pytest.mark.parametrize("part", [None, "text_config"])
def test_layers_that_the_weights_cannot_have_are_refused_at_once(folder, model, form, part):
    if form == "bin":
        (folder / "model.safetensors").unlink()
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
    load_model(folder, "AutoModelForCausalLM", form)
    config = json.loads((folder / "config.json").read_text())
    absurd = {"num_hidden_layers": 1_000_000}
    (folder / "config.json").write_text(json.dumps(config | ({part: absurd} if part else absurd)))
    begun = time.monotonic()
    message = r"config\.json: num_hidden_layers is 1,000,000, but the weights hold \d\d tensors"
    with pytest.raises(UserError, match=message):
        load_model(folder, "AutoModelForCausalLM", form)
    assert time.monotonic() - begun < 5
