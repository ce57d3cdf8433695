"""What is asked for on the command line, end to end on tiny models: dtypes, devices, unigrams, fits, presets."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from tests.printed import read_printed
from ucurve.config import check, compose
from ucurve.errors import UserError
from ucurve.eval.presets import find_preset
from ucurve.eval.run import execute
from ucurve.eval.settings import ScoreCommand
from ucurve.eval.store.tables import ACCURACY, FITS, read_table
from ucurve.huggingface.tokenizer_files import tokenizer_sha256


@pytest.fixture
def root(tmp_path, records, write_benchmark):
    kept = [record for record in records if len(record["sentence_good"]) > 1 < len(record["sentence_bad"])]
    return write_benchmark(tmp_path / "benchmarks", kept[:60])


@pytest.fixture
def score(run, root):
    """Run a command on the run's step 8 and give the record beside the scores, if it has any."""

    def call(*overrides):
        asked = [f"run={run}", "benchmarks=[zhoblimp]", f"benchmark_root={root}", "steps=[8]", "linking=[lp]"]
        execute(check(ScoreCommand, compose("score", [*asked, *overrides])))
        (file,) = (run / "eval" / "zhoblimp").glob("*/step00000008.json")
        return json.loads(file.read_text(encoding="utf-8"))

    return call


def table_of(run, kind):
    return read_table(kind, kind.path(run))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8"])
def test_a_coarser_dtype_is_warned_of_and_another_score(score, run, dtype, capfd, recwarn):
    exact = score()
    table = pd.read_parquet(run / "eval" / "zhoblimp" / "sentence" / "step00000008.parquet")
    assert "coarser" not in capfd.readouterr().err
    coarse = score(f"dtype={dtype}", "verbose=true")
    assert coarse["settings"]["dtype"] == dtype != exact["settings"]["dtype"]
    other = pd.read_parquet(run / "eval" / "zhoblimp" / "sentence" / "step00000008.parquet")
    assert not np.array_equal(table["lp_good"], other["lp_good"])
    np.testing.assert_allclose(table["lp_good"], other["lp_good"], rtol=0.2)
    printed, said = capfd.readouterr()
    assert f"dtype={dtype}: scores are coarser than float32, and more pairs may tie" in said
    assert " ties," in printed
    assert_nothing_of_libraries(said, recwarn)


def assert_nothing_of_libraries(said, recwarn):
    assert "Warning" not in said
    assert [str(warning.message) for warning in recwarn] == []


def test_no_accelerator_here(score, run):
    if torch.cuda.is_available():
        pytest.skip("there is an accelerator here")
    with pytest.raises(UserError, match="device=cuda: torch sees no accelerator here; device=auto or device=cpu"):
        score("device=cuda")
    assert not (run / "eval").exists()


def test_several_scorers(run, root):
    asked = [
        f"run={run}",
        "benchmarks=[zhoblimp]",
        f"benchmark_root={root}",
        "scorer=[sentence,mink]",
        "steps=[8]",
    ]
    execute(check(ScoreCommand, compose("score", asked)))
    table = table_of(run, ACCURACY)
    by_scorer = {scorer: set(rows["linking"]) for scorer, rows in table.groupby("scorer")}
    assert by_scorer["mink"] == by_scorer["sentence"] | {"mink"}


@pytest.fixture
def published(tmp_path):
    """A published table of unigram probabilities for the vocabulary of 42."""
    path = tmp_path / "unigrams.json"
    odds = np.arange(1, 41) / np.arange(1, 41).sum()
    path.write_text(json.dumps({str(token): float(odd) for token, odd in enumerate(odds, start=2)}))
    return path


def test_published_unigrams_take_the_place_of_counts(score, run, published):
    sha256 = tokenizer_sha256(run / "checkpoints" / "step00000008")
    with_counts = score("linking=[slor]")
    record = score("linking=[slor]", f"unigrams.path={published}", f"unigrams.tokenizer_sha256={sha256}")
    assert record["settings"]["unigrams_sha256"] != with_counts["settings"]["unigrams_sha256"]
    scores = pd.read_parquet(run / "eval" / "zhoblimp" / "sentence" / "step00000008.parquet")
    row = scores[(scores["unk_good"] == 0) & (scores["n_good"] > 3)].iloc[0]
    text = pd.read_parquet(run / "eval" / "zhoblimp" / "pairs.parquet").set_index("pair").loc[row["pair"], "good"]
    odds = json.loads(published.read_text())
    expected = sum(np.log(odds[str(2 + ord(letter) - 0x4E00)]) for letter in text)
    assert row["unigram_good"] == pytest.approx(expected, rel=1e-3)
    (run / "tokenizer" / "unigram_counts.npy").unlink()
    score("linking=[slor]", f"unigrams.path={published}")  # no counts are needed


def test_published_unigrams_of_another_tokenizer(score, run, published):
    with pytest.raises(UserError, match=r"tokenizer"):
        score(f"unigrams.path={published}", f"unigrams.tokenizer_sha256={'0' * 64}")
    published.write_text(json.dumps({"2": 0.5, "4000": 0.5}))
    with pytest.raises(UserError, match=r"4000"):
        score(f"unigrams.path={published}")
    with pytest.raises(UserError, match=r"nowhere\.json"):
        score("unigrams.path=nowhere.json")
    assert not (run / "eval").exists()


@pytest.fixture
def ratings(tmp_path, records):
    lines = ["sentence,anna,ben"]
    lines += [
        f"{record['sentence_good']},{number % 7},{number % 5}" for number, record in enumerate(records[:30])
    ]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("where", "label", "told"),
    [
        ("paradigms", "held_out", "2 of 5 paradigms (share 0.5, seed 0)"),
        ("oracle", "oracle", "all 60 pairs, which are those it is judged by"),
        ("ratings", "ratings", "ratings of 30 sentences in "),
    ],
)
def test_parameters_are_fitted_on_what_is_stated(score, run, ratings, where, label, told):
    given = [f"fit.ratings={ratings}"] if where == "ratings" else []
    score(f"fit.on={where}", "fit.families=[slln_lp,morcela]", *given)
    fits = table_of(run, FITS)
    assert fits[["step", "family", "label"]].values.tolist() == [[8, "morcela", label], [8, "slln_lp", label]]
    assert fits["fitted_on"].str.startswith(told).all()
    assert fits["linking"].str.partition(":")[0].tolist() == ["morcela", "slln_lp"]


def test_rated_sentences_are_scored_once(score, run, ratings, monkeypatch):
    given = ["fit.on=ratings", f"fit.ratings={ratings}"]
    score(*given)
    (stored,) = (run / "eval").glob("ratings-*/sentence/step00000008.parquet")
    assert len(pd.read_parquet(stored)) == 30
    fits = table_of(run, FITS)
    monkeypatch.setattr("ucurve.eval.scoring.base.load_model", lambda *_: pytest.fail("scored already"))
    score(*given, "fit.families=[pen_lp,slln_lp]")
    both = table_of(run, FITS)
    pd.testing.assert_frame_equal(both[both["family"] == "slln_lp"].reset_index(drop=True), fits)
    assert set(table_of(run, ACCURACY)["benchmark"]) == {"zhoblimp"}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["fit.on=ratings", "fit.ratings=nowhere.csv"], r"nowhere\.csv"),
        (
            ["fit.on=oracle", "fit.families=[morcela]"],
            r"fit\.families: morcela reads unigram, which .*'sentence' does not",
        ),
        (["fit.on=paradigms", "benchmarks=[zhoblimp-excluded]"], r"fit\.on=paradigms: two paradigms are needed"),
    ],
)
def test_a_fit_that_cannot_be_is_refused_before_anything_is_scored(
    score, run, root, records, write_benchmark, overrides, message
):
    write_benchmark(
        root, [record for record in records if record["UID"] == "paradigm_0"][:9], "zhoblimp-excluded"
    )
    (run / "tokenizer" / "unigram_counts.npy").unlink()
    with pytest.raises(UserError, match=message):
        score(*overrides)
    assert not (run / "eval").exists()


def test_ratings_are_scored_the_way_the_pairs_are(run, root, ratings, tmp_path):
    """Ratings have no condition: a scorer that needs one cannot be fitted to them, and that is found out at once."""
    pairs = tmp_path / "own.jsonl"
    pair = {"condition": "一丁", "sentence_good": "一丁七", "sentence_bad": "一丁三"}
    pairs.write_text(json.dumps(pair) + "\n")
    asked = [f"run={run}", "benchmarks=[custom]", f"custom.path={pairs}", "scorer=conditional", "fit.on=ratings"]
    with pytest.raises(UserError, match="condition"):
        execute(check(ScoreCommand, compose("score", [*asked, f"fit.ratings={ratings}"])))
    assert not (run / "eval").exists()


@pytest.mark.parametrize("name", ["zhoblimp", "rublimp", "sweblimp", "multiblimp"])
def test_a_preset_is_told_by_its_own_linking_aggregate_and_ties(run, root, name, capsys):
    paper = find_preset(name)
    asked = [f"run={run}", "benchmarks=[zhoblimp]", f"benchmark_root={root}", "steps=[8]", f"preset={name}"]
    execute(check(ScoreCommand, compose("score", asked)))
    table = table_of(run, ACCURACY)
    assert set(table["linking"]) == set(paper.linking)
    assert set(table["ties_rule"]) == {paper.ties_rule} == {"wrong"}
    phenomenon, paradigm = ("all", paper.aggregate)
    rows = table[
        (table["phenomenon"] == phenomenon) & (table["paradigm"] == paradigm) & (table["split"] == "all")
    ]
    printed = capsys.readouterr().out
    shown = read_printed(printed)
    found = {line["linking"]: line["accuracy"] for line in shown} if len(shown) > 1 else shown[0]
    for linking, accuracy in rows[["linking", "accuracy"]].itertuples(index=False):
        assert found[linking] == f"{100 * accuracy:.1f}"
    means = {"all": "over all pairs", "macro": "mean over paradigms", "macro_phenomena": "mean over phenomena"}
    assert f"{means[paper.aggregate]}, ties are wrong; " in printed


def test_a_preset_with_something_else_given(run, root, capsys):
    asked = [f"run={run}", "benchmarks=[zhoblimp]", f"benchmark_root={root}", "steps=[8]", "preset=rublimp"]
    execute(check(ScoreCommand, compose("score", [*asked, "linking=[lp]", "ties_rules=[half]"])))
    assert set(table_of(run, ACCURACY)["linking"]) == {"lp"}
    printed = capsys.readouterr().out
    assert "lp" in read_printed(printed)[0]
    assert "mean over phenomena, ties count half; " in printed


def test_torch_may_deprecate_what_it_likes(score, capfd):
    """What quantizes is told to be old by torch; the user can do nothing about that."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score("dtype=int8")
    assert "deprecat" not in capfd.readouterr().err
