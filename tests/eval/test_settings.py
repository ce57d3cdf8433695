"""From a command line of score.py to settings, and what a preset fills in."""

from dataclasses import asdict, replace

import pytest

from ucurve.arguments import read_arguments
from ucurve.config import check, compose, plain
from ucurve.errors import UserError
from ucurve.eval.pairs import Subset
from ucurve.eval.presets import find_preset
from ucurve.eval.scoring.scorers import find_scorer
from ucurve.eval.settings import ScoreCommand, ScoreSettings, score_settings

ANY = ("run=r", "benchmarks=[demo]")


def command(*overrides):
    return check(ScoreCommand, compose("score", [*ANY, *overrides]))


def test_nothing_given_is_the_usual():
    settings = command()
    assert (settings.custom.path, settings.unigrams, settings.fit, settings.chosen) == (None, None, None, None)
    assert settings.scorers("causal") is None
    assert (settings.start(), settings.rules("blimp"), settings.dtype) == ("auto", ("half",), "auto")


@pytest.mark.parametrize("given", ["scorer=mink", "scorer=[mink]"])
def test_one_value_or_a_list(given):
    assert command(given).scorers("causal") == ("mink",)
    assert command("scorer=[mink,sentence]", "linking=lp", "ties_rules=wrong").scorers("causal") == (
        "mink",
        "sentence",
    )


def test_steps_of_revisions_are_given_by_name():
    given = command("run=null", "model=m", "out=o", "steps={late-2: 1e3, 7: 10}")
    assert (given.run_steps, given.revision_steps) == (None, {"late-2": 1000, "7": 10})
    given = command("steps=[8,0]")
    assert (given.run_steps, given.revision_steps) == ((8, 0), None)


def test_a_preset_fills_what_is_not_given():
    settings, paper = command("preset=tse"), find_preset("tse")
    assert settings.scorers("causal") == (paper.scorer_causal,)
    assert settings.scorers("masked") == (paper.scorer_masked,)
    assert settings.linkings(find_scorer("conditional"), "blimp") == paper.linking
    assert (settings.rules("blimp"), settings.start()) == ((paper.ties_rule,), paper.bos)


def test_what_is_given_wins_over_a_preset():
    settings = command("preset=tse", "scorer=sentence", "linking=[slor]", "ties_rules=[half]", "bos=eos")
    assert settings.scorers("masked") == ("sentence",)
    assert settings.linkings(find_scorer("sentence"), "blimp") == ("slor",)
    assert (settings.rules("blimp"), settings.start()) == (("half",), "eos")
    assert command("preset=tse", "bos=auto").start() == "auto"


@pytest.mark.parametrize(
    ("typed", "start"),
    [
        ("bos=<|endoftext|>", "<|endoftext|>"),
        ("bos=</s>", "</s>"),
        ("bos=<0x0A>", "<0x0A>"),
        ("bos=▁the", "▁the"),
        ("bos=[CLS]", "[CLS]"),
        ("bos='7'", "7"),
        ("bos=7", 7),
        ("bos=0", 0),
        ("bos=null", "none"),  # the preset's
    ],
)
def test_the_start_token_may_be_any_token_or_id(typed, start):
    assert command(*read_arguments(["preset=tse", typed])).start() == start


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["preset=rublmp"], r"preset: unknown preset 'rublmp'; allowed: .*Did you mean 'rublimp'\?"),
        (["scorer=[sentense]"], r"scorer\.0: unknown scorer 'sentense'; .*Did you mean 'sentence'\?"),
        (["scorer=[]"], r"scorer: the list is empty"),
        (
            ["steps={a: 1}"],
            r"'steps=\{REVISION: N\}' goes with model=; the checkpoints of a run are 'steps=\[0,512\]'",
        ),
        (
            ["run=null", "model=m", "out=o", "steps=[1]"],
            r"a model has 'revisions=\[\.\.\.\]', and 'steps=\{REVISION: N\}' gives",
        ),
        (["run=null", "model=m", "out=o", "steps={a: x}"], r"steps\.a: got 'x'"),
        (["run=null", "model=m", "out=o", "steps={a: -1}"], r"steps\.a: got -1"),
        (
            ["subset=0"],
            r"subset: got 0; give the number of pairs of each paradigm, as 100, or first:100 for its first",
        ),
        (["subset=first:0"], r"subset: got 'first:0'; give the number"),
        (["subset=firts:5"], r"subset: got 'firts:5'; give the number"),
        (["subset={frist: 5}"], r"subset: got \{'frist': 5\}; give the number"),
        (
            ["dtype=float64"],
            r"dtype: got 'float64'; Input should be 'auto', 'float32', 'bfloat16', 'float16' or 'int8'",
        ),
        (["device=gpu"], r"device: got 'gpu'; allowed: auto, spread, cpu, cuda, or one device as cuda:1"),
        (["bos=1.5"], r"bos: got 1\.5; allowed: auto, bos, eos, none, a token such as '<s>', or its id"),
        (["bos=-1"], r"bos: got -1; allowed: auto"),
        (["bos=true"], r"bos: got True; allowed: auto"),
        (["bos=[a,b]"], r"bos: got \['a', 'b'\]; allowed: auto"),
        (["custom.path=x.jsonl"], r"benchmarks=custom and custom\.path=FILE go together"),
        (["benchmarks=[custom]"], r"benchmarks=custom and custom\.path=FILE go together"),
        (
            ["bow_correction=true"],
            r"bow_correction corrects regions and words; it goes with scorer=region, or with words=true",
        ),
        (["fit.on=all"], r"fit\.on: got 'all'; Input should be 'paradigms', 'ratings' or 'oracle'"),
        (
            ["fit.on=paradigms", "fit.families=[lp]"],
            r"unknown family to fit 'lp'; allowed: morcela, pen_lp, slln_lp",
        ),
        (["fit.on=ratings"], r"fit\.on=ratings and fit\.ratings=FILE\.csv go together"),
        (["fit.on=paradigms", "fit.share=1"], r"fit\.share: got 1; Input should be less than 1"),
        (["unigrams.path=x", "unigrams.tokenizer_sha256=abc"], r"unigrams\.tokenizer_sha256: got 'abc'"),
        (["revisions=[step0]"], r"revisions= goes with model="),
        (["prompt.own={x: y}", "prompt.tongue=nld"], r"unknown key 'prompt\.tongue'"),
    ],
)
def test_wrong_choices(overrides, message):
    with pytest.raises(UserError, match=message):
        command(*overrides)


@pytest.mark.parametrize(
    ("asked", "subset"),
    [
        ("subset=null", None),
        ("subset=20", Subset(20)),
        ("subset=first:20", Subset(20, first=True)),
        ("subset={first: 20}", Subset(20, first=True)),
    ],
)
def test_a_subset_is_drawn_or_the_first_pairs(asked, subset):
    assert command(asked).pairs_kept() == subset


def test_the_subset_of_a_preset_holds_where_none_is_asked_for(monkeypatch):
    fast = replace(find_preset("blimp"), subset=Subset(100, first=True))
    monkeypatch.setattr(ScoreSettings, "chosen", property(lambda settings: fast if settings.preset else None))
    assert command("preset=blimp").pairs_kept() == Subset(100, first=True)
    assert command("preset=blimp", "subset=7").pairs_kept() == Subset(7)
    assert command().pairs_kept() is None


def test_settings_with_a_subset_are_read_back_from_what_a_run_keeps_of_them():
    for asked, kept in ((20, 20), ("first:20", "first:20"), ({"first": 20}, "first:20")):
        settings = score_settings(subset=asked)
        assert settings.subset == kept
        assert check(ScoreSettings, plain(asdict(settings))) == settings


def test_the_path_of_a_card_is_kept_for_every_folder(tmp_path, monkeypatch):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "card.yaml").write_text("name: own\nlanguage: eng\n")
    monkeypatch.chdir(tmp_path)
    settings = score_settings(benchmarks=("own", "blimp", "own/card.yaml"))
    assert settings.benchmarks == (str(tmp_path / "own"), "blimp", str(tmp_path / "own" / "card.yaml"))
