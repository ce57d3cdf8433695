"""What goes wrong in scoring minimal pairs, row by row: one test, or a few, for each row of docs/tables/pitfalls.csv.

Some rows have theirs beside what they are about, all with the number of the row in their names.
"""

import itertools
import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from tests.printed import read_printed
from tests.settings import fit_settings
from ucurve.errors import RunError, UserError
from ucurve.eval.benchmarks.datacheck import data_report
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import decisions
from ucurve.eval.metrics.bootstrap import LENGTH_BIASES
from ucurve.eval.metrics.fitting import fit_paradigms
from ucurve.eval.models.folder import model_kind, read_config, start_token
from ucurve.eval.pairs import pair_table
from ucurve.eval.presets import FOLDER, find_preset
from ucurve.eval.run import score_model
from ucurve.eval.scoring.causal.log_probabilities import token_log_probabilities
from ucurve.eval.scoring.text.sentences import encode
from ucurve.eval.settings import score_settings
from ucurve.eval.store.tables import ACCURACY, FITS, STATISTICS, read_table
from ucurve.yaml_files import file_names

L = "".join(chr(0x4E00 + number) for number in range(40))  # the letters of the tokenizer in conftest.py
LINKINGS = ["lp", "mean_lp", "pen_lp", "slln_lp"]


@dataclass
class Done:
    """What scoring left below ``out`` and said."""

    out: Path
    said: str
    printed: str

    def _one(self, suffix):
        (path,) = (self.out / "eval").glob(f"custom*/*/step*.{suffix}")
        return path

    @property
    def scores(self):
        return pd.read_parquet(self._one("parquet"))

    @property
    def record(self):
        return json.loads(self._one("json").read_text())

    def table(self, kind):
        return read_table(kind, kind.path(self.out))

    def row(self, kind=ACCURACY, **values):
        wanted = (
            {"phenomenon": "all", "paradigm": "all"} | ({"split": "all"} if kind is ACCURACY else {}) | values
        )
        table = self.table(kind)
        (found,) = table[(table[list(wanted)] == list(wanted.values())).all(axis=1)].to_dict("records")
        return found


@pytest.fixture
def score(tmp_path, write_checkpoint, tokenizer, capsys):
    """Score (good, bad) or whole records with a model that is not a run of ours, as ``score.py model=`` does."""
    count = itertools.count()

    def run(model, rows, counts=None, tokenizer=tokenizer, **settings):
        place = tmp_path / f"case{next(count)}"
        folder = write_checkpoint(place / "model", model, manifest=False, tokenizer=tokenizer)
        if counts is not None:
            np.save(folder / "unigram_counts.npy", counts)
        records = [row if isinstance(row, dict) else dict(zip(SENTENCES, row, strict=True)) for row in rows]
        (place / "pairs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        values = {
            "benchmarks": ["custom"],
            "custom": {"path": str(place / "pairs.jsonl")},
            "linking": ["lp"],
            "verbose": True,
            **settings,
        }
        capsys.readouterr()
        score_model(str(folder), place / "out", score_settings(**values))
        printed, told = capsys.readouterr()
        return Done(place / "out", told + " ".join(printed.split()), printed)

    return run


SENTENCES = ("sentence_good", "sentence_bad")


@pytest.fixture
def speaks(make_model):
    """Build a model that gives every token the same logits, whatever precedes."""

    def build(logits):
        model = make_model(vocabulary=len(logits))
        norm, head = model.base_model.final_layer_norm, model.get_output_embeddings()
        with torch.no_grad():
            norm.weight.zero_()
            norm.bias.copy_(torch.eye(len(norm.bias))[0])
            head.weight.zero_()
            head.weight[:, 0] = torch.as_tensor(logits, dtype=torch.float32)
        return model

    return build


def random_rows(size, seed=0, longest=12):
    draw = np.random.default_rng(seed)
    return [
        tuple("".join(draw.choice(list(L), size=draw.integers(1, longest))) for _ in "gb") for _ in range(size)
    ]


def favouring(token, gap):
    logits = np.zeros(42)
    logits[token] = gap
    return logits


def test_pitfall_01_a_tie_is_not_right(score, speaks):
    rows = [(L[:3], L[3:6]), (L[5:7], L[7:9]), (L[:5], L[:2]), (L[9], L[1:8])]
    done = score(speaks(np.zeros(42)), rows, linking=LINKINGS, ties_rules=["half", "wrong", "right"])
    for rule, credit in {"half": 0.5, "wrong": 0.0, "right": 1.0}.items():
        for linking in LINKINGS:
            equal = done.row(linking=linking, ties_rule=rule, split="equal")
            assert (equal["accuracy"], equal["ties"], equal["n"]) == (credit, 2, 2)
        assert done.row(linking="mean_lp", ties_rule=rule)["accuracy"] == credit


def test_pitfall_02_identical_pairs_count_in_nothing(score, model):
    same = (L[:4], L[:4])
    done, without = (
        score(model, [(L[:3], L[3:6]), same, (L[6], L[7]), same]),
        score(model, [(L[:3], L[3:6]), (L[6], L[7])]),
    )
    assert "custom: 2 pairs of identical sentences are left out of every accuracy" in done.said
    assert done.record["notes"]["identical_pairs"] == 2
    numbers = ("n", "ties", "accuracy", "exact_low", "exact_high", "clusters")
    assert [done.row()[name] for name in numbers] == [without.row()[name] for name in numbers]
    assert len(done.scores) == 4


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_pitfall_03_a_score_that_is_not_finite_is_an_error(score, make_model, value):
    model = make_model()
    with torch.no_grad():
        model.base_model.embed_in.weight[2 + 7] = value
    message = rf"model: the score is not finite; benchmark custom, paradigm \w+, pair 1, sentence '{L[6:9]}'"
    with pytest.raises(RunError, match=message):
        score(model, [(L[0], L[1]), (L[6:9], L[:3])])


def test_pitfall_04_float32_whatever_the_weights_were_saved_as(score, make_model, plain_score, tokenizer):
    coarse = make_model(seed=3).to(torch.bfloat16)
    rows = random_rows(40)
    done = score(coarse, rows)
    assert done.record["settings"]["dtype"] == "float32"
    rounded = make_model(seed=3)
    with torch.no_grad():
        for weights in rounded.parameters():
            weights.copy_(weights.bfloat16())
    exact = [plain_score(rounded, tokenizer.convert_tokens_to_ids(list(good)), 0) for good, _ in rows]
    np.testing.assert_allclose(done.scores["lp_good"], exact, atol=1e-4)
    asked = score(coarse, rows, dtype="bfloat16")
    assert "dtype=bfloat16: scores are coarser than float32, and more pairs may tie" in asked.said
    assert re.search(r"40 pairs, \d+ ties", asked.said)
    assert asked.record["settings"]["dtype"] == "bfloat16"


def test_pitfall_04_batches_decide_nothing(score, model):
    rows = random_rows(200)
    one, *others = (score(model, rows, batch_tokens=size).scores for size in (1, 7 * 12, 64 * 12))
    for other in others:
        for side in ("lp_good", "lp_bad"):
            np.testing.assert_allclose(other[side], one[side], atol=1e-4)
        for linking in map(parse_linking, LINKINGS):
            np.testing.assert_array_equal(decisions(other, linking), decisions(one, linking))


@pytest.mark.parametrize("architecture", ["neox", "gpt2"])
def test_pitfall_05_company_changes_no_token(architecture, model, make_tokenizer):
    """Also where sentences hold the very token that others would be padded with."""
    if architecture == "gpt2":
        torch.manual_seed(0)
        config = GPT2Config(vocab_size=42, n_positions=64, n_embd=32, n_layer=2, n_head=2, initializer_range=0.4)
        model = GPT2LMHeadModel(config).eval()
    tokenizer = make_tokenizer(pad_token="<eos>")
    rows = [*random_rows(30), (f"{L[3]}<eos>{L[4:9]}", f"{L[3]}<eos><eos>"), (L[3], "<eos>")]
    pairs = pair_table([(str(n), records(row)) for n, row in enumerate(rows)], "b", "zho")
    sentences = encode(pairs, tokenizer)
    assert (sentences.tokens == 0).sum() == 4
    together = token_log_probabilities(model, sentences, 0, 100)
    for place in range(len(sentences.texts)):
        ids = torch.tensor([[0, *sentences.ids(place)]])
        with torch.inference_mode():
            alone = model(ids).logits.double().log_softmax(-1)[0, :-1].gather(-1, ids[0, 1:, None])[:, 0]
        np.testing.assert_allclose(
            together[sentences.starts[place] : sentences.starts[place + 1]], alone, atol=1e-4
        )


def records(row):
    return {"UID": "a", "phenomenon": "p"} | dict(zip(SENTENCES, row, strict=True))


def test_pitfall_06_the_first_token_has_a_score_unless_asked_otherwise(score, model, plain_score):
    rows = [(L[:4], L[1:6]), (L[2:5], L[2:4])]
    whole, bare = score(model, rows), score(model, rows, bos="none")
    assert whole.scores[["n_good", "n_bad"]].to_numpy().tolist() == [[4, 5], [3, 2]]
    assert bare.scores[["n_good", "n_bad"]].to_numpy().tolist() == [[3, 4], [2, 1]]
    assert bare.scores["lp_good"][0] == pytest.approx(plain_score(model, [3, 4, 5], 2), abs=1e-4)
    assert (whole.record["settings"]["start_rule"], bare.record["settings"]["start_rule"]) == ("bos", "none")
    assert bare.record["notes"]["pairs_with_other_first_tokens"] == 0.5
    assert (
        "no start token, so the first token of a sentence has no score; 50.0% of the pairs differ in it"
        in bare.said
    )
    assert "no start token" not in whole.said


@pytest.mark.parametrize("bos", ["auto", "bos", "eos"])
@pytest.mark.parametrize("adds", [False, True])
def test_pitfall_07_exactly_one_start_token(score, model, plain_score, make_tokenizer, bos, adds):
    tokenizer = make_tokenizer()
    if adds:
        tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single="<eos> $A", special_tokens=[("<eos>", 0)]
        )
    assert tokenizer(L[:2])["input_ids"] == [0] * adds + [2, 3]
    done = score(model, [(L[:2], L[1])], tokenizer=tokenizer, bos=bos)
    assert done.scores["lp_good"][0] == pytest.approx(plain_score(model, [2, 3], 0), abs=1e-4)
    assert done.scores["lp_good"][0] != pytest.approx(plain_score(model, [0, 2, 3], 0), abs=1e-2)
    assert done.scores["n_good"][0] == 2


@pytest.mark.parametrize("leading", [False, True])
def test_pitfall_09_sentences_are_read_as_they_stand_and_a_leading_space_is_recorded(
    score, model, plain_score, leading
):
    words = Tokenizer(models.WordLevel({"<eos>": 0, "▁ab": 1, "▁cd": 2, "ab": 3, "cd": 4}, unk_token="<eos>"))
    scheme = "first" if leading else "never"
    words.pre_tokenizer, words.decoder = pre_tokenizers.Metaspace(prepend_scheme=scheme), decoders.Metaspace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>")
    done = score(model, [("ab cd", "cd ab")], tokenizer=tokenizer)
    ids = [1, 2] if leading else [3, 2]
    assert done.scores["lp_good"][0] == pytest.approx(plain_score(model, ids, 0), abs=1e-4)
    assert done.record["notes"]["leading_space"] is leading


def test_pitfall_11_a_certain_token_counts_in_the_length(score, speaks):
    done = score(speaks(favouring(2, 40)), [(L[0] * 4, L[0] * 3 + L[1])])
    assert done.scores["lp_good"][0] == pytest.approx(0, abs=1e-6)
    assert done.scores[["n_good", "n_bad"]].to_numpy().tolist() == [[4, 4]]
    assert done.scores["lp_bad"][0] == pytest.approx(-40, abs=1e-3)


def test_pitfall_12_every_length_has_its_unit(score, model):
    done = score(model, [(L[:4], L[:2] + "a")], linking=["mean_lp", "char_lp", "byte_lp"])
    good, bad = (
        {unit: done.scores[f"{unit}_{side}"][0] for unit in ("lp", "n", "chars", "bytes")}
        for side in ("good", "bad")
    )
    assert (good["n"], good["chars"], good["bytes"]) == (4, 4, 12)  # tokens, without the start token or an end
    assert (bad["n"], bad["chars"], bad["bytes"]) == (3, 3, 7)
    for linking, unit in {"mean_lp": "n", "char_lp": "chars", "byte_lp": "bytes"}.items():
        assert parse_linking(linking).values(done.scores, "bad")[0] == pytest.approx(bad["lp"] / bad[unit])
        assert done.row(linking=linking)["accuracy"] == (good["lp"] / good[unit] > bad["lp"] / bad[unit])


def test_pitfall_13_no_number_without_the_name_of_its_linking_function(score, model):
    done = score(model, random_rows(5), linking=None, counts=np.ones(42, dtype=np.int64))
    assert set(done.table(ACCURACY)["linking"]) == {*LINKINGS, "slor"}
    [line] = read_printed(done.printed)
    assert line["model"] == "model" and float(line["slln_lp"])
    assert "step" not in done.printed  # a model alone has none
    with pytest.raises(UserError, match=r"unknown linking function 'score'"):
        score(model, random_rows(5), linking=["score"])


def test_pitfall_13_presets_say_where_each_choice_is_from():
    presets = {name: find_preset(name) for name in file_names(FOLDER)}
    assert {name: preset.linking[0] for name, preset in presets.items()} == {
        "zhoblimp": "slln_lp", "blimp": "lp", "multiblimp": "lp", "rublimp": "ppl", "tse": "lp", "sweblimp": "ppl",
        "chinese_babylm": "lp",
    }  # fmt: skip
    assert all(preset.sources and preset.protocol for preset in presets.values())
    assert "mean_lp" in presets["tse"].linking  # what its code computes, where its text says lp


def test_pitfall_15_parameters_are_not_fitted_on_the_pairs_they_are_judged_by(score, model):
    rows = [records(row) | {"paradigm": f"p{n % 4}"} for n, row in enumerate(random_rows(80))]
    assert not FITS.path(score(model, rows).out).exists()
    half, everything = (score(model, rows, fit={"on": on}) for on in ("paradigms", "oracle"))
    held_out, oracle = (done.table(FITS).iloc[0] for done in (half, everything))
    assert (held_out["label"], held_out["n_fitted"], held_out["n_held_out"]) == ("held_out", 40, 40)
    assert "2 of 4 paradigms" in held_out["fitted_on"]
    right, _ = decisions(half.scores, parse_linking(held_out["linking"]))
    seen = np.isin(
        np.arange(80) % 4, [int(name[1]) for name in fit_paradigms([f"p{n}" for n in range(4)], fit_settings())]
    )
    assert (held_out["accuracy_fitted"], held_out["accuracy_held_out"]) == (
        right[seen].mean(),
        right[~seen].mean(),
    )
    assert held_out["accuracy_fitted"] != held_out["accuracy_held_out"]
    assert (oracle["label"], oracle["n_held_out"]) == ("oracle", 0)
    assert np.isnan(oracle["accuracy_held_out"])


@pytest.mark.parametrize("add_k", [1, 0.25])
def test_pitfall_16_unigrams_sum_to_one_and_unseen_tokens_are_counted(score, make_model, add_k):
    """Special tokens and the rows an embedding was padded with get no probability."""
    counts = np.arange(42) % 5
    counts[0] = 10**6
    letters = [*L, "？"]  # the last one is unknown
    rows = [(letter, letter * 2) for letter in letters]
    done = score(make_model(vocabulary=64), rows, counts=counts, linking=["slor"], add_k=add_k)
    assert np.exp(done.scores["unigram_good"]).sum() == pytest.approx(1)
    total = counts[1:].sum() + 41 * add_k
    assert done.scores["unigram_good"][L.index(L[3])] == pytest.approx(np.log(add_k / total))  # its id is 5
    assert (done.record["notes"]["unseen_tokens"], done.record["notes"]["unseen_types"]) == (24, 8)
    assert "24 tokens (8 different ones) never occur in the training text" in done.said
    assert done.record["settings"]["add_k"] == add_k


def test_pitfall_17_ids_that_the_embedding_does_not_have(score, make_model):
    with pytest.raises(UserError, match=r"its ids go up to 41, the embedding's to 29"):
        score(make_model(vocabulary=30), [(L[0], L[1])])
    assert len(score(make_model(vocabulary=64), [(L[0], L[1])]).scores) == 1  # a padded embedding is none


def test_pitfall_17_a_model_that_does_worse_than_guessing_is_told(score, speaks):
    """Ids shifted between tokenizer and model look like this: here the model likes the letter after the right one."""
    shifted = score(speaks(favouring(3, 20)), [(L[0] * 5, L[0] * 4)])
    assert (
        "warning: 20.00 nats per token on custom, no better than a uniform guess among 42 tokens (3.74)"
        in shifted.said
    )
    assert "warning" not in score(speaks(favouring(2, 20)), [(L[0] * 5, L[0] * 4)]).said


def test_pitfall_18_nothing_is_cut(score, make_model, tmp_path):
    model = make_model(positions=10)
    assert score(model, [(L[:10], L[:3])]).scores["n_good"][0] == 10
    message = r"benchmark custom, paradigm \w+, pair 1, sentence .*: 11 tokens, but the model's context holds 10"
    with pytest.raises(UserError, match=message):
        score(model, [(L[:10], L[:3]), (L[:2], L[:11])])
    assert not (tmp_path / "case1" / "out").exists()


@pytest.fixture(scope="module")
def marking():
    """Byte-level BPE over a, b and x in which a letter after a space is one token: Ġa, Ġb, Ġx begin words."""
    vocabulary = {piece: place for place, piece in enumerate(["<eos>", "Ġ", "a", "b", "x", "Ġa", "Ġb", "Ġx"])}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("Ġ", letter) for letter in "abx"]))
    tokenizer.pre_tokenizer, tokenizer.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>")


def test_pitfall_19_probabilities_of_words_sum_to_at_most_one(score, make_model, marking):
    """Those of their tokens do not: the tokens of a word are also the beginning of longer words."""
    words = ["".join(letters) for size in (1, 2, 3, 4) for letters in itertools.product("abx", repeat=size)]
    span = [f"3:{3 + len(word)}" for word in words]
    rows = [
        dict(zip(SENTENCES, (f" a {word}", " a b"), strict=True)) | {"region_good": region, "region_bad": "3:4"}
        for word, region in zip(words, span, strict=True)
    ]
    of_tokens, of_words = (
        score(
            make_model(seed=2, vocabulary=8), rows, tokenizer=marking, scorer="region", bow_correction=corrected
        ).scores["lp_good"]
        for corrected in (False, True)
    )
    assert np.exp(of_tokens).sum() > 1
    assert 0.1 < np.exp(of_words).sum() <= 1


def test_pitfall_19_no_correction_where_no_word_is_marked(score, model):
    row = dict(zip(SENTENCES, (L[:3], L[:4]), strict=True)) | {"region_good": "1:2", "region_bad": "1:2"}
    with pytest.raises(UserError, match="none of its tokens marks the beginning of a word"):
        score(model, [row], scorer="region", bow_correction=True)


def byte_level():
    units = {unit: place for place, unit in enumerate(["<eos>", *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    tokenizer = Tokenizer(models.BPE(units, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>")


@pytest.mark.parametrize(("kind", "n"), [("characters", 2), ("bytes", 6), ("merged", 3)])
def test_pitfall_20_a_region_is_every_token_that_shares_a_character_with_it(
    score, make_model, tokenizer, kind, n
):
    """Where a token has characters on both sides of the border it counts whole, and that is told."""
    if kind == "bytes":
        tokenizer = byte_level()
    if kind == "merged":  # the first two letters are one token
        vocabulary = {piece: place for place, piece in enumerate(["<eos>", *L, L[:2]])}
        merges = Tokenizer(models.BPE(vocabulary, [(L[0], L[1])]))
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=merges, eos_token="<eos>")
    region = {"region_good": "1:3" if kind != "merged" else "1:4", "region_bad": "2:3"}
    row = dict(zip(SENTENCES, (L[:5], L[5:9]), strict=True)) | region
    done = score(make_model(vocabulary=300), [row], tokenizer=tokenizer, scorer="region")
    assert done.scores["n_good"][0] == n
    assert done.record["notes"]["sentences_with_a_token_across_a_border"] == (kind == "merged")
    assert ("1 sentences have a token across a border" in done.said) == (kind == "merged")


def test_pitfall_22_the_configuration_decides_not_the_name(copy_model, make_tokenizer, score, model, tmp_path):
    from transformers import BertConfig, BertForMaskedLM

    assert model_kind(read_config(copy_model("bert-large"))) == "causal"
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertForMaskedLM(BertConfig(vocab_size=42, **sizes)).save_pretrained(tmp_path / "gpt2")
    assert model_kind(read_config(tmp_path / "gpt2")) == "masked"
    foreign = make_tokenizer(bos_token="<unk>")
    assert start_token(foreign, ours=False).id == foreign.bos_token_id == 1  # no '</s>' for every causal model
    with pytest.raises(
        UserError, match=r"a causal model by its config\.json; the scorer 'pll' is for masked ones"
    ):
        score(model, [(L[0], L[1])], scorer="pll")


def test_pitfall_24_the_order_of_files_is_sorted(tmp_path, records, write_benchmark, monkeypatch):
    root = write_benchmark(tmp_path / "benchmarks", records)
    listed = Path.glob
    monkeypatch.setattr(Path, "glob", lambda *given, **how: reversed(list(listed(*given, **how))))
    pairs = load_benchmark("zhoblimp", root)
    assert pairs["paradigm"].tolist() == sorted(pairs["paradigm"])
    assert pairs["pair"].tolist() == list(range(500))


def test_pitfall_25_duplicates_are_reported_and_accuracy_without_them_too(score, model):
    rows = [records(row) | {"paradigm": f"p{n % 2}"} for n, row in enumerate(random_rows(20))]
    again = [rows[0] | {"paradigm": "p0"}] * 15
    done, without = score(model, [*rows, *again]), score(model, rows)
    counted, wanted = done.row(STATISTICS), without.row(STATISTICS)
    assert (counted["n"], counted["n_distinct"], wanted["n"]) == (35, 20, 20)
    assert {str(done.table(STATISTICS)[name].dtype) for name in ("n", "n_distinct", "right", "ties")} == {"int64"}
    assert counted["accuracy_distinct"] == wanted["accuracy"] == wanted["accuracy_distinct"]
    assert counted["accuracy"] != wanted["accuracy"]
    table = pair_table(
        [(str(n), row | {"UID": row["paradigm"]}) for n, row in enumerate([*rows, *again])], "b", "zho"
    )
    report = data_report(table)
    assert report.duplicates_within == tuple(range(20, 35))
    assert "duplicate pairs within a paradigm: 15 (20, 21, 22, ...)" in report.text()


def test_pitfall_26_a_score_is_told_with_its_length_splits(score, model):
    done = score(model, random_rows(200, longest=6), linking=["slln_lp"])
    accuracy = {
        split: 100 * done.row(split=split)["accuracy"] for split in ("all", "equal", "good_longer", "bad_longer")
    }
    row = done.row(STATISTICS)
    bounds = [[100 * row[f"{name}{end}"] for end in ("", "_low", "_high")] for name in LENGTH_BIASES]
    (delta, low, high), longer, shorter = bounds
    wanted = (
        f"equal length {accuracy['equal']:.2f}, good longer {accuracy['good_longer']:.2f}, bad longer "
        f"{accuracy['bad_longer']:.2f}, Delta_acc {delta:.2f} ({low:.2f} to {high:.2f}), "
        "good longer less equal {:.2f} ({:.2f} to {:.2f}), bad longer less equal {:.2f} ({:.2f} to {:.2f}), "
        "200 pairs, 0 ties".format(*longer, *shorter)
    )
    assert read_printed(done.printed)[0]["slln_lp"] == f"{accuracy['all']:.1f}"
    assert wanted in done.said
    gaps = [abs(accuracy[split] - accuracy["equal"]) for split in ("good_longer", "bad_longer")]
    assert delta == pytest.approx(sum(gaps) / 2)
    assert low < delta < high
    assert longer[0] == pytest.approx(accuracy["good_longer"] - accuracy["equal"])
    assert "length decides" not in done.said


def test_pitfall_26_a_model_that_has_learned_nothing_is_said_to_judge_by_length(score, speaks, tokenizer):
    done = score(speaks(np.zeros(len(tokenizer))), random_rows(60, longest=6))
    assert "good longer 0.00, bad longer 100.00" in done.said
    assert "model: length decides: the shorter sentence wins, as when nothing is learned" in done.said


def test_pitfall_27_many_tests_against_chance_are_corrected(score, model):
    """A model with random weights prefers something in some of 30 paradigms; two-sided, with Holm, it knows nothing."""
    rows = [records(row) | {"paradigm": f"p{n % 30:02d}"} for n, row in enumerate(random_rows(240, longest=3))]
    cells = score(model, rows).table(STATISTICS).query("paradigm.str.startswith('p')")
    assert len(cells) == 30
    assert (cells[["p_above", "p_below"]].min(axis=1) < 0.05).any()
    np.testing.assert_allclose(cells["p_two_sided"], np.minimum(1, 2 * cells[["p_above", "p_below"]].min(axis=1)))
    assert not (cells["p_holm"] < 0.05).any()
    assert (cells["p_holm"] <= cells["p_bonferroni"]).all()


def test_every_pitfall_has_a_test_and_the_docs_name_it():
    root = Path(__file__).resolve().parents[2]
    texts = [file.read_text(encoding="utf-8") for file in (root / "tests").rglob("test_*.py")]
    written = {name for text in texts for name in re.findall(r"^def (test_pitfall_\w+)", text, re.MULTILINE)}
    named = re.findall(
        r"test_pitfall_\w+", (root / "docs" / "tables" / "pitfalls.csv").read_text(encoding="utf-8")
    )
    assert sorted(named) == sorted(written)
    assert {int(name.split("_")[2]) for name in written} == set(range(1, 29))
