"""The exported numbers are those of the challenge's own procedure, written here a second time with transformers alone."""

import json

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.conftest import LETTERS
from tests.settings import leaderboard_command
from ucurve.eval.leaderboard.export import find_form
from ucurve.eval.run import score_run
from ucurve.eval.settings import score_settings

UNKNOWN = "。"


def make_records(paradigms, seed):
    """Pairs of unlike lengths in paradigms of unlike sizes, some with an unknown token, some of identical sentences."""
    draw = np.random.default_rng(seed)

    def sentence():
        text = "".join(draw.choice(list(LETTERS), size=draw.integers(2, 9)))
        return text + (UNKNOWN if draw.random() < 0.1 else "")

    for number, paradigm in enumerate(paradigms):
        for place in range(15 + 10 * number):
            good = sentence()
            yield {
                "UID": paradigm,
                "phenomenon": f"phenomenon_{place % 2}",
                "sentence_good": good,
                "sentence_bad": good if place == 0 else sentence(),
            }


@torch.inference_mode()
def challenge_accuracy(model, tokenizer, records, unknown_is_wrong):
    """The mean over UIDs of how often the first maximum of the two sums of log probabilities is the good sentence."""
    right: dict[str, list[bool]] = {}
    for record in records:
        sums, ids = [], []
        for sentence in (record["sentence_good"], record["sentence_bad"]):
            tokens = torch.tensor([tokenizer(sentence)["input_ids"]])
            logs = model(tokens[:, :-1]).logits.log_softmax(-1)
            sums.append(logs.gather(-1, tokens[:, 1:, None]).sum())
            ids += tokens[0].tolist()
        chosen = int(torch.max(torch.stack(sums), dim=0).indices)
        known = not (unknown_is_wrong and tokenizer.unk_token_id in ids)
        right.setdefault(record["UID"], []).append(chosen == 0 and known)
    return float(np.mean([100 * np.mean(one) for one in right.values()]))


@pytest.fixture
def published(tmp_path, write_benchmark):
    """The records of the challenge's benchmarks, by task, in files below ``benchmarks``."""
    records = {}
    for number, (name, task) in enumerate(find_form("chinese_babylm").tasks.items()):
        records[name] = list(make_records([f"{name}_{letter}" for letter in "ab"], seed=number))
        write_benchmark(tmp_path / "benchmarks", records[name], task.benchmark)
    return records


def test_the_numbers_are_those_of_the_challenge(tmp_path, run, published):
    form = find_form("chinese_babylm")
    benchmarks = tuple(task.benchmark for task in form.tasks.values())
    settings = score_settings(benchmarks=benchmarks, benchmark_root=tmp_path / "benchmarks", preset=form.preset)
    score_run(run, settings, steps=[8])
    leaderboard_command({"run": str(run), "form": form.name, "out": str(tmp_path / "results.json")})

    folder = run / "checkpoints" / "step00000008"
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    expected = {
        name: {
            task.metric: round(challenge_accuracy(model, tokenizer, published[name], task.unknown_is_wrong), 2)
            / 100
        }
        for name, task in form.tasks.items()
    }
    assert json.loads((tmp_path / "results.json").read_text()) == expected
    assert len({number for row in expected.values() for number in row.values()}) == 3
