"""A GGUF file becomes a folder by the lines that docs/scoring.md prints, with the weights it had, and is scored."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import pre_tokenizers

from ucurve.eval.store.tables import ACCURACY, read_table

gguf = pytest.importorskip("gguf", reason="the package gguf is not installed (extra dev)")
PAGE = Path(__file__).resolve().parents[3] / "docs/scoring.md"
QUANTIZED = gguf.GGMLQuantizationType.Q4_0  # 32 weights share one scale
WIDTH, INNER = 32, 64
VOCABULARY = ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "th", "the", "Ġthe"]
MERGES = ["t h", "th e", "Ġ the"]
SHAPES = {
    "token_embd": (len(VOCABULARY), WIDTH),
    "output": (len(VOCABULARY), WIDTH),
    "output_norm": (WIDTH,),
    "blk.0.attn_norm": (WIDTH,),
    **{f"blk.0.attn_{one}": (WIDTH, WIDTH) for one in ("q", "k", "v", "output")},
    "blk.0.ffn_norm": (WIDTH,),
    "blk.0.ffn_gate": (INNER, WIDTH),
    "blk.0.ffn_up": (INNER, WIDTH),
    "blk.0.ffn_down": (WIDTH, INNER),
}
NAMES_AFTER = {  # those whose rows stay in their order
    "token_embd": "model.embed_tokens",
    "output": "lm_head",
    "output_norm": "model.norm",
    "blk.0.attn_v": "model.layers.0.self_attn.v_proj",
    "blk.0.ffn_down": "model.layers.0.mlp.down_proj",
}


@pytest.fixture
def weights():
    """The values that the file has: what is quantized is not what was drawn."""
    draw = np.random.default_rng(1)
    drawn = {name: draw.normal(0.5, 0.2, shape).astype(np.float32) for name, shape in SHAPES.items()}
    return {name: _rounded(value) if value.ndim == 2 else value for name, value in drawn.items()}


def _rounded(matrix):
    return gguf.quants.dequantize(gguf.quants.quantize(matrix, QUANTIZED), QUANTIZED)


@pytest.fixture
def folder(tmp_path, weights):
    """A folder with a Llama of one layer as a GGUF file, its matrices in 4 bits."""
    (tmp_path / "FOLDER").mkdir()
    writer = gguf.GGUFWriter(tmp_path / "FOLDER" / "NAME.gguf", "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_block_count(1)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_rope_dimension_count(WIDTH // 2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(len(VOCABULARY))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(VOCABULARY)
    writer.add_token_types([3] + [1] * (len(VOCABULARY) - 1))  # a control token, then ordinary ones
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    for name, value in weights.items():
        if value.ndim == 2:
            packed = gguf.quants.quantize(value, QUANTIZED)
            writer.add_tensor(f"{name}.weight", packed, raw_dtype=QUANTIZED)
        else:
            writer.add_tensor(f"{name}.weight", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tmp_path / "FOLDER"


def test_the_lines_of_the_page_make_a_folder_that_is_scored(folder, weights, tmp_path, run_command):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    [code] = [block for block in blocks if "gguf_file" in block]
    made = tmp_path / "OUT"
    exec(code, {"FOLDER": str(folder), "OUT": str(made)})  # noqa: S102 - a page of this repository
    found = load_file(made / "model.safetensors")
    assert {value.dtype for value in found.values()} == {np.dtype(np.float32)}
    for before, after in NAMES_AFTER.items():
        np.testing.assert_array_equal(found[f"{after}.weight"], weights[before])
    pairs = [{"sentence_good": f"the {word} sees", "sentence_bad": f"the {word} see"} for word in ("cat", "dog")]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    own = (
        "benchmarks=[custom]",
        f"custom.path={tmp_path / 'pairs.jsonl'}",
        "custom.language=eng",
        "linking=[lp]",
    )
    code, _, said = run_command("score", f"model={made}", f"out={tmp_path / 'scores'}", *own)
    assert code == 0, said
    rows = read_table(ACCURACY, tmp_path / "scores" / "eval" / "accuracy.csv")
    assert set(rows["n"]) == {2}
