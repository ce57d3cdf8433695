import json
import shutil

import numpy as np
import pandas as pd
import pytest
import torch

from tests.conftest import LETTERS, VOCABULARY
from ucurve.eval.pairs import pair_table


@pytest.fixture(scope="session")
def records():
    """500 pairs in the published form, most of unequal length, some with a token the tokenizer does not know."""
    draw = np.random.default_rng(0)

    def sentence():
        return "".join(draw.choice(list(LETTERS), size=draw.integers(1, 20))) + draw.choice(["", "", "。"])

    return [
        {
            "UID": f"paradigm_{number % 5}",
            "phenomenon": f"phenomenon_{number % 5 % 2}",
            "sentence_good": sentence(),
            "sentence_bad": sentence(),
            "pairID": number,
        }
        for number in range(500)
    ]


@pytest.fixture(scope="session")
def pairs(records):
    return pair_table(((f"line {number}", record) for number, record in enumerate(records)), "zhoblimp", "zho")


@pytest.fixture(scope="session")
def write_benchmark():
    def write(root, records, name="zhoblimp"):
        for paradigm in sorted({record["UID"] for record in records}):
            lines = [json.dumps(record, ensure_ascii=False) for record in records if record["UID"] == paradigm]
            file = root / name / f"{paradigm}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return root

    return write


@pytest.fixture(scope="session")
def untouched_run(tmp_path_factory, make_model, write_checkpoint):
    """A run folder with checkpoints 0 and 8, and unigram counts; tests copy it."""
    folder = tmp_path_factory.mktemp("untouched") / "tiny-1M-char-text-s0"
    for step in (0, 8):
        write_checkpoint(folder / "checkpoints" / f"step{step:08d}", make_model(seed=step), step)
    (folder / "tokenizer").mkdir()
    np.save(folder / "tokenizer" / "unigram_counts.npy", np.arange(VOCABULARY, dtype=np.int64))
    return folder


@pytest.fixture
def run(untouched_run, tmp_path):
    """A run folder of the test's own."""
    return shutil.copytree(untouched_run, tmp_path / "runs" / untouched_run.name)


@pytest.fixture
def copy_model(tmp_path, write_checkpoint, model):
    def copy(name="model", **options):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        return write_checkpoint(tmp_path / name, model, manifest=False, **options)

    return copy


@pytest.fixture
def scores_of():
    """Build a score table from lists of (lp_good, lp_bad, n_good, n_bad)."""

    def build(rows, unigrams=None):
        table = pd.DataFrame(rows, columns=["lp_good", "lp_bad", "n_good", "n_bad"])
        table.insert(0, "pair", range(len(table)))
        good, bad = unigrams or (np.nan, np.nan)
        return table.assign(unigram_good=good, unigram_bad=bad)

    return build


@pytest.fixture(scope="session")
def plain_score():
    """Score one sentence the plain way: full logits of the model's own forward pass, one sentence at a time."""

    @torch.inference_mode()
    def score(model, ids, start):
        sequence = torch.tensor([[start, *ids]])
        log_probabilities = model(input_ids=sequence).logits.double().log_softmax(-1)[0, :-1]
        return float(log_probabilities.gather(-1, sequence[0, 1:, None]).sum())

    return score
