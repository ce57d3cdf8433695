"""Units that are dropped: a function of seed, step and sequence, and otherwise what the library computes."""

import json

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from tests.train.model import test_library, test_masked
from tests.train.model.test_library import LENGTH, VOCABULARY
from tests.train.model.test_training import OPTIMIZER, causal_loss, plain_losses
from ucurve.token_stream.order import mix
from ucurve.training.engine.engine import TorchEngine
from ucurve.training.model.dropout import dropping, sequence_keys
from ucurve.training.model.library import LibraryModel
from ucurve.training.model.view import changes_shapes, separate_documents

SHARE, STEPS, SEQUENCES, SEED = 0.1, 6, 4, 5
DROPPING = {
    "gpt_neox": ("hidden_dropout", "attention_dropout"),
    "gpt2": ("resid_pdrop", "embd_pdrop", "attn_pdrop"),
    "llama": ("attention_dropout",),
    "qwen3": ("attention_dropout",),
    "lstm": ("dropout",),
    "bert": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "modernbert": ("embedding_dropout", "mlp_dropout", "attention_dropout"),
}


def dropping_design(family, share=SHARE):
    masked = family in test_masked.MASKED
    keys = (test_masked.MASKED if masked else test_library.FAMILIES)[family]
    return LibraryModel(family, json.dumps(keys | dict.fromkeys(DROPPING[family], share)), masked)


def make_engine(family, micro_batch=3, share=SHARE, precision="float32", seed=SEED):
    model = dropping_design(family, share).build_model(VOCABULARY, LENGTH, 7, seed=0)
    return TorchEngine(model, OPTIMIZER, micro_batch, torch.device("cpu"), precision, seed=seed)


def batches(family):
    chance = torch.Generator().manual_seed(3)
    ids = torch.randint(0, VOCABULARY // 4, (STEPS, SEQUENCES, LENGTH + 1), generator=chance)
    if family not in test_masked.MASKED:
        return ids
    # As many in each sequence, so that the mean of their losses is that of the batch.
    chosen = torch.tensor([0, 3, 9])
    targets = torch.full_like(ids[..., 1:], -100).index_copy_(-1, chosen, ids[..., chosen])
    return torch.stack((ids[..., 1:], targets), 2)


def take(engine, family, first=0):
    given = list(enumerate(batches(family), 1))[first:]
    targets = SEQUENCES * (3 if family in test_masked.MASKED else LENGTH)
    return [engine.step(ids, OPTIMIZER.learning_rate, number).loss_sum / targets for number, ids in given]


class ByHand:
    """Dropout of one sequence at a time, with masks that numpy makes of its number in the run."""

    def __init__(self):
        self.number, self.calls = 0, 0

    def begin(self, number):
        self.number, self.calls = number, 0

    def __call__(self, values, p=0.5, training=True, inplace=False):
        if not training or not p:
            return values
        step, place = divmod(self.number, SEQUENCES)
        key = sequence_keys(SEED, step + 1, place, 1).numpy().view(np.uint64)
        places = np.arange((values.numel() + 1) // 2, dtype=np.uint64) + np.uint64(self.calls << 32)
        self.calls += 1
        bits = np.ascontiguousarray(mix(key + places)).view("<i4")[: values.numel()].reshape(values.shape)
        return values * torch.from_numpy((bits / 2**32 + 0.5 >= p) / (1 - p)).to(values.dtype)


@pytest.mark.parametrize("family", DROPPING)
def test_the_engine_trains_as_a_plain_loop_over_single_sequences(tmp_path, monkeypatch, family):
    found = take(make_engine(family), family)
    masked = family in test_masked.MASKED
    dropping_design(family).build_model(VOCABULARY, LENGTH, 7, seed=0).save_pretrained(tmp_path)
    kind = AutoModelForMaskedLM if masked else AutoModelForCausalLM
    plain = kind.from_pretrained(tmp_path, attn_implementation="eager").train()
    by_hand, done = ByHand(), iter(range(STEPS * SEQUENCES))

    def loss_of(model, batch):
        losses = []
        for sequence in batch:
            by_hand.begin(next(done))
            losses.append((test_masked.masked_loss if masked else causal_loss)(model, sequence[None]))
        return torch.stack(losses).mean()

    monkeypatch.setattr(torch.nn.functional, "dropout", by_hand)
    expected = plain_losses(plain, batches(family), loss_of)
    assert found == pytest.approx(expected, abs=1e-4)
    assert take(make_engine(family, share=0.0), family) != pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_neither_the_micro_batch_nor_a_resume_nor_torchs_generator_matter(precision):
    alone = make_engine("gpt_neox", precision=precision)
    whole = take(alone, "gpt_neox")
    torch.manual_seed(999)
    stopped = make_engine("gpt_neox", micro_batch=1, precision=precision)
    apart = 1e-6 if precision == "float32" else 1e-3
    assert take(stopped, "gpt_neox") == pytest.approx(whole, rel=apart)
    kept = make_engine("gpt_neox", precision=precision)
    for number, ids in enumerate(batches("gpt_neox")[:3], 1):
        kept.step(ids, OPTIMIZER.learning_rate, number)
    again = make_engine("gpt_neox", precision=precision)
    again.load({name: value.clone() for name, value in kept.state().items()})
    assert take(again, "gpt_neox", 3) == whole[3:]
    assert all(map(torch.equal, again.model.parameters(), alone.model.parameters()))
    assert take(make_engine("gpt_neox", precision=precision, seed=6), "gpt_neox") != whole


@pytest.mark.parametrize("family", ["lstm", "llama"])
def test_documents_with_rows_or_masks_of_their_own_drop_units_in_any_micro_batch(family):
    losses = []
    for micro_batch in (1, 4):
        model = dropping_design(family).build_model(VOCABULARY, LENGTH, 7, seed=0)
        separate_documents(model, LENGTH)
        assert changes_shapes(model) is (family == "lstm")
        engine = TorchEngine(model, OPTIMIZER, micro_batch, torch.device("cpu"), seed=SEED)
        losses.append(take(engine, family))
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_the_share_is_what_was_asked_and_no_two_sequences_steps_or_calls_are_alike():
    keys = torch.cat([sequence_keys(seed, step, 0, 50) for seed in (0, 1) for step in (1, 2)])
    with dropping(keys):
        kept = torch.stack([torch.nn.functional.dropout(torch.ones(200, 3999), 0.1) > 0 for _ in range(2)])
    masks = kept.flatten(0, 1).double()
    size = masks.shape[1]
    assert masks.mean() == pytest.approx(0.9, abs=5 * (0.09 / masks.numel()) ** 0.5)
    agreement = (masks - 0.9) @ (masks - 0.9).T / (0.09 * size)
    assert agreement.fill_diagonal_(0).abs().max() < 6.5 / size**0.5
    along = ((masks[:, 1:] - 0.9) * (masks[:, :-1] - 0.9)).mean() / 0.09
    assert abs(along) < 5 / masks.numel() ** 0.5
    assert (masks.mean(0) - 0.9).abs().max() < 5 * (0.09 / len(masks)) ** 0.5
    assert (masks.mean(1) - 0.9).abs().max() < 5 * (0.09 / size) ** 0.5


CAUSAL = torch.ones(6, 6, dtype=torch.bool).tril()
ATTENTION = [
    {},
    {"is_causal": True},
    {"attn_mask": CAUSAL, "scale": 0.3},
    {"attn_mask": torch.zeros(6, 6).masked_fill(~CAUSAL, -1e30), "enable_gqa": True},
]


@pytest.mark.parametrize("given", ATTENTION)
def test_attention_that_drops_nothing_is_torchs(given):
    heads = 2 if given.get("enable_gqa") else 4
    chance = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(3, count, 6, 8, generator=chance) for count in (4, heads, heads))
    with dropping(sequence_keys(0, 1, 0, 3)):
        ours = scaled_dot_product_attention(query, key, value, dropout_p=1e-12, **given)
    assert (ours - scaled_dot_product_attention(query, key, value, **given)).abs().max() < 1e-6
