"""A run is what its factors say, whatever its folder and its model file are called."""

import itertools
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.synthetic import MakeRun, factors_of
from ucurve.analysis.data.design import make_design
from ucurve.analysis.data.runs import find_runs


def design_of(*runs):
    """The design of runs that are given by what differs in them."""
    usual = {"model": "14m", "tokenizer": "char", "budget": "10M", "precision": "float32", "end": "", "cell": ""}
    factors = {str(number): factors_of(**usual | given) for number, given in enumerate(runs)}
    return make_design(factors, dict.fromkeys(factors, ("0" * 64, "0" * 64)))


def test_a_label_has_the_levels_that_differ():
    design = design_of({"model": "14m"}, {"model": "llama-14m"}, {"model": "llama-14m", "tokenizer": "word"})
    assert design.varying == ("architecture", "tokenizer")
    assert list(design.lines().values()) == ["gpt_neox, char", "llama, char", "llama, word"]
    assert list(design_of({}, {}).lines().values()) == ["14m", "14m"], "one line has the name of its model"


def test_a_size_that_differs_is_named_beside_an_architecture_that_does():
    design = design_of({"model": "14m"}, {"model": "llama-70m"})
    assert list(design.lines().values()) == ["gpt_neox, 14m", "llama, 70m"]


def test_what_only_repeats_other_factors_is_not_named():
    design = design_of({"model": "14m"}, {"model": "bert-14m", "end": "-objective=masked"})
    assert design.varying == ("architecture",)


def test_views_leave_factors_out():
    design = design_of(
        *({"model": size, "budget": tokens} for size in ("14m", "70m") for tokens in ("10M", "30M"))
    )
    assert list(design.lines("size").values()) == ["10M tokens", "30M tokens"] * 2
    assert list(design.lines("budget").values()) == ["14m", "14m", "70m", "70m"]
    assert set(design.lines("size", "budget").values()) == {"gpt_neox, char, demo"}
    assert list(design.among(["0", "1"]).lines().values()) == ["10M tokens", "30M tokens"]


ARCHITECTURES = ("gpt_neox", "llama", "bert", "lstm")
CELLS = [(name, kind) for name in ARCHITECTURES for kind in ("char", "bpe")]


def design_of_objectives(objectives):
    """A grid of architectures and tokenizers, each architecture with one objective or with that of the tokenizer."""
    factors = {
        f"{name} {kind}": {
            "architecture": name,
            "size": "tiny",
            "model": name,
            "tokenizer": kind,
            "objective": one,
        }
        for (name, kind), one in zip(CELLS, objectives, strict=True)
    }
    hashes = {run: ("0" * 64, f"{place:064}") for place, run in enumerate(factors)}
    return make_design(factors, hashes)


OBJECTIVE = st.sampled_from(["causal", "masked"])


@settings(deadline=None)
@given(st.lists(OBJECTIVE, min_size=4, max_size=4))
def test_lines_without_the_architecture_leave_out_the_objective_that_it_decides(objectives):
    design = design_of_objectives([one for one in objectives for _ in range(2)])
    for (name, kind), label, without in zip(
        CELLS, design.lines().values(), design.lines("architecture").values(), strict=True
    ):
        assert label == f"{name}, {kind}", "the label of a line stays"
        assert without == kind
    assert set(design.lines("tokenizer").values()) == set(ARCHITECTURES)


@settings(deadline=None)
@given(st.lists(OBJECTIVE, min_size=8, max_size=8))
def test_an_objective_that_differs_within_an_architecture_is_kept(objectives):
    design = design_of_objectives(objectives)
    lines = design.lines("architecture")
    if any(objectives[place] != objectives[place + 1] for place in range(0, 8, 2)):
        for (run, line), (other, other_line) in itertools.combinations(lines.items(), 2):
            both = [{**design.factors[one]} for one in (run, other)]
            alike = all(both[0][name] == both[1][name] for name in ("tokenizer", "objective"))
            assert (line == other_line) == alike


def test_sizes_that_were_trained_otherwise_are_no_sizes_of_one_line():
    design = design_of({"model": "14m"}, {"model": "70m", "tokenizer": "word"})
    assert list(design.lines("size").values()) == ["char", "word"]


def test_every_level_with_every_other_is_crossed():
    cells = [{"model": model, "tokenizer": kind} for model in ("14m", "70m") for kind in ("char", "word")]
    assert design_of(*cells).crossed == (("size", "tokenizer"),)
    assert design_of(*cells[:3]).crossed == ()


@settings(deadline=None)
@given(st.lists(st.from_regex(r"[-0-9KMa-z]+", fullmatch=True), min_size=3, max_size=3, unique=True))
def test_names_of_models_and_runs_decide_nothing(names):
    """The runs of two sizes with two budgets, whose model files have any names."""
    cells = [(size, budget) for size in (0, 1) for budget in ("20K", "40K")]
    levels = {"architecture": "gpt_neox", "tokenizer": "char", "corpus": "demo"}
    factors = {
        f"{names[2]} {place}": levels | {"size": f"{size + 1}M", "model": names[size], "budget": budget}
        for place, (size, budget) in enumerate(cells)
    }
    design = make_design(factors, dict.fromkeys(factors, ("0" * 64, "0" * 64)))
    assert list(design.lines().values()) == [f"{size + 1}M, {budget} tokens" for size, budget in cells]
    assert list(design.lines("size").values()) == [f"{budget} tokens" for _, budget in cells]
    assert list(design.lines("budget").values()) == [f"{size + 1}M" for size, _ in cells]


def test_runs_whose_folders_are_renamed_are_the_same_lines_in_the_same_order(make_run: MakeRun, tmp_path: Path):
    for model in ("70m", "14m"):
        for seed in (1, 0):
            make_run(model=model, seed=seed)
    before = find_runs([f"{tmp_path}/runs/*"])
    for place, run in enumerate(reversed(before)):
        run.folder.rename(run.folder.with_name("qwxz"[place]))
    after = find_runs([f"{tmp_path}/runs/*"])
    assert [run.line for run in after] == [run.line for run in before] == ["14m", "14m", "70m", "70m"]
    assert [run.facts.name for run in after] == [run.facts.name for run in before]
    assert after[0].design.levels("size") == before[0].design.levels("size") == ["14m", "70m"]
