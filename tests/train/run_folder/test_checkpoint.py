import json
import os
import stat

import pytest
import torch
from transformers import AutoModelForCausalLM

from ucurve.errors import RunError
from ucurve.huggingface.tokenizer_files import tokenizer_sha256
from ucurve.storage.facts import CheckpointFacts, read_manifest
from ucurve.storage.files import sha256_file
from ucurve.storage.run_folder import checkpoint_folder
from ucurve.training.model.neox import PythiaShape
from ucurve.training.run_folder.checkpoint import find_faults, write_checkpoint
from ucurve.training.run_folder.resume import save_state

FACTS = CheckpointFacts(
    step=3,
    tokens=192,
    flops=1e6,
    flops_exact=1.2e6,
    epoch=0.5,
    data_sha256="d" * 64,
    config_sha256="c" * 64,
    precision="float32",
)


@pytest.fixture
def model():
    return PythiaShape(1, 32, 4, 64).build_model(40, 8, 0, 0)


@pytest.fixture
def checkpoint(tmp_path, model):
    tokenizer = tmp_path / "tokenizer"
    tokenizer.mkdir()
    (tokenizer / "tokenizer.json").write_text('{"a": 1}')
    (tokenizer / "statistics.json").write_text("{}")
    return write_checkpoint(tmp_path / "run", model, tokenizer, FACTS)


def test_a_checkpoint_is_an_ordinary_folder(checkpoint, model):
    assert checkpoint.name == "step00000003"
    loaded = AutoModelForCausalLM.from_pretrained(checkpoint)
    ids = torch.arange(6)[None]
    with torch.no_grad():
        assert torch.equal(loaded(ids).logits, model(ids).logits)
    assert not (checkpoint / "statistics.json").exists()


def test_the_manifest_says_what_the_contract_wants(checkpoint):
    manifest = read_manifest(checkpoint)
    assert manifest.weights_sha256 == sha256_file(checkpoint / "model.safetensors")
    assert manifest.tokenizer_sha256 == sha256_file(checkpoint / "tokenizer.json")
    wanted = {
        "step",
        "tokens",
        "flops",
        "epoch",
        "weights_sha256",
        "tokenizer_sha256",
        "data_sha256",
        "config_sha256",
    }
    assert wanted <= set(json.loads((checkpoint / "manifest.json").read_text()))
    assert (manifest.step, manifest.tokens, manifest.epoch) == (3, 192, 0.5)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640)])
def test_others_may_read_weights_and_states_as_the_umask_says(request, tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        checkpoint = request.getfixturevalue("checkpoint")
        save_state(tmp_path / "run", 3, {"x": torch.zeros(1)}, {})
    finally:
        os.umask(before)
    files = [*checkpoint.iterdir(), *(tmp_path / "run" / "resume").glob("*/*")]
    assert {"model.safetensors", "state.safetensors"} <= {file.name for file in files}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {mode}


def test_a_whole_checkpoint_has_no_faults(checkpoint):
    assert find_faults(checkpoint) == []


def test_the_hash_of_a_tokenizer_without_tokenizer_json_is_one(tmp_path, model):
    """The manifest, the run's record and the key of a score have it from other folders, with other files beside."""
    tokenizer = tmp_path / "tokenizer"
    tokenizer.mkdir()
    for name in ("vocab.json", "merges.txt", "tokenizer_config.json", "statistics.json"):
        (tokenizer / name).write_text(f'{{"{name}": 1}}')
    checkpoint = write_checkpoint(tmp_path / "run", model, tokenizer, FACTS)
    found = read_manifest(checkpoint).tokenizer_sha256
    assert found == tokenizer_sha256(tokenizer) == tokenizer_sha256(checkpoint)
    (tokenizer / "merges.txt").write_text("a b")
    assert tokenizer_sha256(tokenizer) != found


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "manifest.json"])
def test_any_byte_of_any_file_counts(checkpoint, name):
    whole = (checkpoint / name).read_bytes()
    places = range(len(whole)) if name == "manifest.json" else (0, len(whole) // 2, len(whole) - 1)
    for place in places:
        flipped = bytearray(whole)
        flipped[place] ^= 1
        (checkpoint / name).write_bytes(flipped)
        assert find_faults(checkpoint), f"byte {place} of {name}"
        assert "step00000003" in find_faults(checkpoint)[0]
    (checkpoint / name).write_bytes(whole)
    assert find_faults(checkpoint) == []


def test_missing_foreign_and_renamed_are_faults(checkpoint):
    (checkpoint / "extra.txt").write_text("x")
    (checkpoint / "config.json").unlink()
    assert [fault.split(": ")[1] for fault in find_faults(checkpoint)] == ["missing", "not in the manifest"]
    (checkpoint / "manifest.json").unlink()
    assert "manifest.json: cannot be read" in find_faults(checkpoint)[0]


def test_a_checkpoint_under_another_steps_name_is_a_fault(checkpoint):
    moved = checkpoint.rename(checkpoint_folder(checkpoint.parent.parent, 4))
    assert find_faults(moved) == [f"{moved}: the manifest is of step 3"]


def test_what_is_read_back_must_be_what_was_written(tmp_path, model, monkeypatch):
    tokenizer = tmp_path / "tokenizer"
    tokenizer.mkdir()
    (tokenizer / "tokenizer.json").write_text("{}")
    other = PythiaShape(1, 32, 4, 64).build_model(40, 8, 0, 1)
    monkeypatch.setattr(
        "ucurve.training.run_folder.checkpoint._save_model", lambda _, folder: other.save_pretrained(folder)
    )
    with pytest.raises(RunError, match="the weights read back differ"):
        write_checkpoint(tmp_path / "run", model, tokenizer, FACTS)


def test_a_failed_write_leaves_nothing(tmp_path, model, monkeypatch):
    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("ucurve.training.run_folder.checkpoint._save_model", full)
    with pytest.raises(OSError, match="No space"):
        write_checkpoint(tmp_path / "run", model, tmp_path, FACTS)
    assert list((tmp_path / "run" / "checkpoints").iterdir()) == []


def test_the_manifest_is_one_line_of_json(checkpoint):
    assert json.loads((checkpoint / "manifest.json").read_text())["manifest_sha256"]
