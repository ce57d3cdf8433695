import json
import socket
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from ucurve.errors import UserError
from ucurve.eval.models.folder import (
    context_length,
    hash_of_parts,
    hash_parts,
    model_kind,
    read_config,
    start_token,
)
from ucurve.eval.scoring import loading
from ucurve.eval.scoring.causal.log_probabilities import token_log_probabilities
from ucurve.eval.scoring.loading import check_vocabulary, load_model
from ucurve.eval.scoring.scorers import check_kind, find_scorer
from ucurve.eval.scoring.text.sentences import encode
from ucurve.eval.settings import score_settings
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.huggingface.tokenizer_files import tokenizer_sha256
from ucurve.storage.files import sha256_file


def sentence_scores(model, sentences, start, batch_tokens, advance=None):
    return sentences.sums(token_log_probabilities(model, sentences, start, batch_tokens, advance))


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a local folder needs no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_weights_are_float32_whatever_was_saved(copy_model, make_model, write_checkpoint, tmp_path, no_network):
    folder = write_checkpoint(tmp_path / "half", make_model().to(torch.bfloat16), manifest=False)
    model = load_model(folder)
    assert {weights.dtype for weights in model.parameters()} == {torch.float32}
    assert not model.training


def test_local_tokenizer(copy_model, no_network):
    assert load_tokenizer(copy_model())("一丁", add_special_tokens=False)["input_ids"] == [2, 3]


def test_gpt2_scores_as_plainly(pairs, tokenizer, tmp_path, plain_score):
    torch.manual_seed(0)
    shape = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 30, "initializer_range": 0.4}
    config = GPT2Config(vocab_size=len(tokenizer), **shape)
    GPT2LMHeadModel(config).save_pretrained(tmp_path)
    model = load_model(tmp_path)
    sentences = encode(pairs.iloc[:40], tokenizer)
    scores = sentence_scores(model, sentences, 0, 256)
    wanted = [plain_score(model, sentences.ids(place), 0) for place in range(len(sentences.texts))]
    assert scores == pytest.approx(wanted, abs=1e-4)
    assert context_length(read_config(tmp_path)) == 30


@pytest.mark.parametrize(
    ("special", "ours", "text", "rule"),
    [
        ({"bos_token": "一", "eos_token": "<eos>"}, True, "<eos>", "eos"),
        ({"bos_token": "一", "eos_token": "<eos>"}, False, "一", "bos"),
        ({"bos_token": None, "eos_token": "<eos>"}, False, "<eos>", "eos"),
        ({"bos_token": "<eos>", "eos_token": None}, True, "<eos>", "bos"),
        ({"bos_token": None, "eos_token": None, "sep_token": "<eos>"}, True, "<eos>", "sep"),
        ({"bos_token": None, "eos_token": None, "sep_token": "<eos>"}, False, "<eos>", "sep"),
        ({"bos_token": None, "eos_token": None, "sep_token": "<eos>", "cls_token": "一"}, False, "一", "cls"),
    ],
)
def test_start_token(make_tokenizer, special, ours, text, rule):
    start = start_token(make_tokenizer(**special), ours)
    assert (start.text, start.rule) == (text, rule)


def test_start_token_is_needed(make_tokenizer):
    with pytest.raises(UserError, match="no bos or eos token to start a sentence"):
        start_token(make_tokenizer(bos_token=None, eos_token=None), ours=False)


def test_hashes(copy_model):
    folder = copy_model()
    assert hash_of_parts(hash_parts(folder)) == sha256_file(folder / "model.safetensors")
    assert tokenizer_sha256(folder) == sha256_file(folder / "tokenizer.json")
    (folder / "more.safetensors").write_bytes(b"x")
    both = hash_of_parts(hash_parts(folder))
    (folder / "more.safetensors").write_bytes(b"y")
    assert hash_of_parts(hash_parts(folder)) != both
    (folder / "tokenizer.json").rename(folder / "vocab.json")
    old = tokenizer_sha256(folder)
    (folder / "merges.txt").write_text("a b")
    assert tokenizer_sha256(folder) != old


def test_only_safetensors(copy_model):
    folder = copy_model()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(
        UserError, match=r"no \*\.safetensors file; weights=bin reads the \.bin files that are there"
    ):
        hash_of_parts(hash_parts(folder))
    with pytest.raises(UserError, match="the model does not load"):
        load_model(folder)


def test_torn_weights(copy_model):
    folder = copy_model()
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(UserError, match=r"model: the model does not load \("):
        load_model(folder)


def test_missing_weights_are_not_made_up(copy_model):
    from safetensors.torch import load_file, save_file

    folder = copy_model()
    weights = load_file(folder / "model.safetensors")
    weights.pop("gpt_neox.final_layer_norm.weight")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match=r"weights are missing: gpt_neox\.final_layer_norm\.weight"):
        load_model(folder)


def test_no_tokenizer(copy_model, tmp_path):
    folder = copy_model()
    for file in folder.glob("*token*"):
        file.unlink()
    with pytest.raises(UserError, match=r"no tokenizer files \(tokenizer\.json, "):
        tokenizer_sha256(folder)
    with pytest.raises(UserError, match=r"no tokenizer files"):
        load_tokenizer(folder)


def test_broken_tokenizer(copy_model):
    folder = copy_model()
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(UserError, match=r"model: the tokenizer does not load \("):
        load_tokenizer(folder)


@pytest.mark.parametrize("text", ["{", "[]", "null"])
def test_broken_config(copy_model, text):
    folder = copy_model()
    (folder / "config.json").write_text(text)
    with pytest.raises(UserError, match=r"config\.json: not a model's configuration"):
        read_config(folder)


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [("BertForMaskedLM", "masked"), ("BertForPreTraining", "masked"), ("BertLMHeadModel", "causal")],
)
def test_kind_is_read_off_the_architecture_not_the_name(copy_model, architecture, kind):
    folder = copy_model("bert-like")
    config = json.loads((folder / "config.json").read_text()) | {"architectures": [architecture]}
    (folder / "config.json").write_text(json.dumps(config))
    assert model_kind(read_config(folder)) == kind
    other = {"causal": "pll", "masked": "sentence"}[kind]
    allowed = {
        "causal": "sentence, conditional, region, mink, prompt",
        "masked": "pll, pll_l2r, pll_conditional, pll_mink",
    }[kind]
    with pytest.raises(
        UserError, match=rf"a {kind} model by its config.json; the scorer '{other}' .* here: {allowed}"
    ):
        check_kind(find_scorer(other), kind, folder)


def test_tokenizer_that_does_not_fit(copy_model, pairs, tokenizer, make_tokenizer):
    folder = copy_model()
    config = read_config(folder)
    check_vocabulary(folder, config, tokenizer, encode(pairs, tokenizer))
    larger = make_tokenizer("".join(chr(0x5000 + number) for number in range(50)))
    with pytest.raises(UserError, match=r"does not fit the model; its ids go up to 51, the embedding's to 41"):
        check_vocabulary(folder, config, larger, encode(pairs, tokenizer))


def test_context_without_limit():
    assert context_length({"vocab_size": 3}) is None


@pytest.mark.parametrize(
    ("asked", "rank", "found"),
    [("auto", "0", "cuda:0"), ("auto", "3", "cuda:1"), ("cuda", "1", "cuda:1"), ("cuda:0", "1", "cuda:0"),
     ("cpu", "1", "cpu")],
)  # fmt: skip
def test_a_process_takes_the_device_of_its_rank(monkeypatch, asked, rank, found):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setenv("LOCAL_RANK", rank)
    assert loading._device(asked) == found


def test_a_device_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with pytest.raises(UserError, match=r"device=cuda:2: torch sees 2 devices here, cuda:0 to cuda:1"):
        loading._device("cuda:2")
    with pytest.raises(
        UserError, match=r"device: .*'gpu'.*allowed: auto, spread, cpu, cuda, or one device as cuda:1"
    ):
        score_settings(device="gpu")


def bin_copy(folder, shards=False):
    """Turn the weights of a model folder into the form of torch.save, in one file or in two with an index."""
    from safetensors.torch import load_file

    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    if not shards:
        torch.save(weights, folder / "pytorch_model.bin")
        return
    half = len(weights) // 2
    parts = {"pytorch_model-00001-of-00002.bin": list(weights)[:half]}
    parts["pytorch_model-00002-of-00002.bin"] = list(weights)[half:]
    for name, keys in parts.items():
        torch.save({key: weights[key] for key in keys}, folder / name)
    index = {"metadata": {}, "weight_map": {key: name for name, keys in parts.items() for key in keys}}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("shards", [False, True])
def test_bin_files_on_request_score_as_the_safetensors_ones(copy_model, pairs, tokenizer, shards):
    folder, sentences = copy_model(), encode(pairs.iloc[:20], tokenizer)
    wanted = sentence_scores(load_model(folder), sentences, 0, 256)
    bin_copy(folder, shards)
    (folder / "training_args.bin").write_bytes(b"read by nobody")
    np.testing.assert_array_equal(sentence_scores(load_model(folder, weights="bin"), sentences, 0, 256), wanted)
    before = hash_of_parts(hash_parts(folder, "bin"))
    (folder / "training_args.bin").write_bytes(b"nor hashed")
    assert hash_of_parts(hash_parts(folder, "bin")) == before


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_bin_file_runs_nothing(copy_model, tmp_path):
    folder = copy_model()
    bin_copy(folder)
    exploded = tmp_path / "exploded"
    torch.save(
        torch.load(folder / "pytorch_model.bin", weights_only=True) | {"bomb": Bomb(exploded)}, folder / "x"
    )
    (folder / "x").rename(folder / "pytorch_model.bin")
    with pytest.raises(UserError, match="the model does not load"):
        load_model(folder, weights="bin")
    assert not exploded.exists()


def test_an_index_of_bin_files_names_no_other_file(copy_model):
    folder = copy_model()
    bin_copy(folder, shards=True)
    index = folder / "pytorch_model.bin.index.json"
    index.write_text(index.read_text().replace("pytorch_model-00001", "../pytorch_model-00001"))
    with pytest.raises(UserError, match=r"names '\.\./pytorch_model.*, which is not a file pytorch_model\*\.bin"):
        load_model(folder, weights="bin")


def test_device_is_any_of_torch(copy_model):
    assert load_model(copy_model(), device="cpu").device == torch.device("cpu")
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match="device=cuda:1: torch sees no accelerator here"):
            load_model(copy_model("other"), device="cuda:1")


def test_spread_scores_as_one_device(copy_model, pairs, tokenizer):
    pytest.importorskip("accelerate")
    folder, sentences = copy_model(), encode(pairs.iloc[:20], tokenizer)
    wanted = sentence_scores(load_model(folder), sentences, 0, 256)
    np.testing.assert_allclose(
        sentence_scores(load_model(folder, device="spread"), sentences, 0, 256), wanted, atol=1e-4
    )


def test_spread_without_accelerate(copy_model, monkeypatch):
    monkeypatch.setattr("ucurve.eval.scoring.loading.find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"device=spread needs accelerate.*pip install 'ucurve\[spread\]'"):
        load_model(copy_model(), device="spread")
