import dataclasses
import re

import hydra
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ucurve.arguments import quoted_where_needed, read_arguments, with_lists
from ucurve.config import check, compose, compose_cells, compose_command_line, resolve, sweep
from ucurve.errors import UserError
from ucurve.eval.settings import ScoreSettings, score_settings
from ucurve.training.config import read_request


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Inner:
    rate: float


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Outer:
    inner: Inner
    steps: int = Field(ge=1)
    names: tuple[str, ...] = ()


def test_check_builds_the_dataclass():
    assert check(Outer, {"steps": 3, "inner": {"rate": "0.5"}, "names": ["a"]}) == Outer(Inner(0.5), 3, ("a",))


def test_check_reports_every_problem_at_once():
    with pytest.raises(UserError) as caught:
        check(Outer, {"steps": 0, "inner": {"rat": 1}, "names": {"a": 1}, "zzz": 2})
    lines = str(caught.value).splitlines()
    assert lines[0] == "5 problems in the configuration:"
    assert sorted(lines[1:]) == [
        "  inner.rat: unknown key. Did you mean 'rate'?",
        "  inner.rate: no value given",
        "  names: got {'a': 1}; a list is expected, as [a,b]",
        "  steps: got 0; Input should be greater than or equal to 1",
        "  zzz: unknown key",
    ]


def test_resolve_fills_references():
    assert resolve(OmegaConf.create({"seed": 3, "init": "${seed}"})) == {"seed": 3, "init": 3}


def test_resolve_leaves_what_has_no_value_to_the_check():
    values = resolve(OmegaConf.create({"steps": "???", "inner": {"rate": "???"}}))
    with pytest.raises(UserError, match=r"(?s)inner\.rate: no value given.*steps: no value given"):
        check(Outer, values)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("data.path=语料", "语料"),
        ("data.path=语料/a(1).txt", "语料/a(1).txt"),
        ("run=runs/x-语料-s0", "runs/x-语料-s0"),
        ("data.path=it's", "it's"),
        ("data.path=~/x y", "~/x y"),
        ("data.path=/x/br[1]", "/x/br[1]"),
        ("data.path=texts (2)/*[0-9].txt", "texts (2)/*[0-9].txt"),
        ("data.path=a{1}'s", "a{1}'s"),
        ("run=runs/x-s0-rate=wsd", "runs/x-s0-rate=wsd"),
        ("grid=[\n  {seed: [0, 1]},\n  {model: [tiny]}\n]", [{"seed": [0, 1]}, {"model": ["tiny"]}]),
        ("runs=[runs/x-s0-rate=wsd,runs/x-s0]", ["runs/x-s0-rate=wsd", "runs/x-s0"]),
    ],
)
def test_a_value_that_hydras_grammar_cannot_take_is_quoted(argument, value):
    quoted = quoted_where_needed(argument)
    assert OverridesParser.create().parse_override(quoted).value() == value


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["runs=[a[1],b]"],
            r"'runs=\[a\[1\],b\]' cannot be read: .*; quote text within a list that has brackets .* runs=\['a\[1\]',b\]",
        ),
        (["runs"], r"'runs' cannot be read: Error parsing override 'runs'$"),
        (
            ["runs=" + "[" * 30_000],
            r"the argument 'runs=\[{490,500}\.\.\. has more than 50 brackets in one another$",
        ),
        (["runs=null", f"title={'9' * 5000}"], r"unknown key 'title'"),
        (["runs=null", "theme=null"], r"unknown key 'theme'"),
    ],
)
def test_an_argument_that_cannot_be_read_is_one_message(words, message):
    with pytest.raises(UserError, match=message):
        compose("analyze", read_arguments(words))


@pytest.mark.parametrize(
    "argument",
    [
        "seed=0,1,2",
        "steps=[0,512]",
        "a=b c",
        "--multirun",
        "x",
        "runs='runs/*'",
        "a=[1",
        "a=choice([1)",
        "a=b${c",
    ],
)
def test_other_arguments_are_left_as_they_are(argument):
    assert quoted_where_needed(argument) == argument


def test_a_name_with_a_key_in_it_may_stand_in_a_list_without_brackets():
    (argument,) = with_lists("analyze", read_arguments(["runs=runs/x-s0-rate=wsd,runs/x-s0"]))
    assert compose("analyze", [argument])["runs"] == ["runs/x-s0-rate=wsd", "runs/x-s0"]


def test_every_scoring_key_is_one_of_score_and_one_below_eval_in_train():
    keys = {field.name for field in dataclasses.fields(ScoreSettings)}
    assert keys - set(compose("score", [])) == set()
    assert keys - set(compose("train", ["tokens=1M"])["eval"]) == set()


def test_one_default_of_scoring_serves_both_commands():
    score = compose("score", ["scorer=mink", "unigrams.path=table.json"])
    train = compose("train", ["tokens=1M", "eval.scorer=mink", "eval.unigrams.path=table.json"])["eval"]
    keys = [field.name for field in dataclasses.fields(ScoreSettings) if field.name != "benchmarks"]
    assert {key: score[key] for key in keys} == {key: train[key] for key in keys}


@pytest.mark.parametrize(
    ("arguments", "data", "tokenizer"),
    [
        ([], "c4_zh", "cllama"),
        (["data.path=texts"], None, "cllama"),
        (["data.path=texts", "tokenizer=char"], None, "char"),
        (["experiment=demo", "data.path=texts"], None, "char"),
        (["data.dataset=owner/name"], None, "cllama"),
        (["tokenizer.path=folder"], "c4_zh", None),
        (["data.dataset=folder", "data=c4_zh", "tokenizer.path=folder", "tokenizer=cllama"], "c4_zh", "cllama"),
    ],
)
def test_a_path_alone_chooses_its_group(arguments, data, tokenizer):
    for cell in sweep("train", [*arguments, "tokens=1M,2M"]):
        values = compose("train", cell)
        assert (values["data"]["name"], values["tokenizer"]["name"]) == (data, tokenizer)
    values = compose("build", [argument for argument in arguments if not argument.startswith("experiment")])
    assert values["data"]["name"] == data


@pytest.fixture
def alone(monkeypatch):
    """A function that lets Hydra compose each cell for itself."""
    monkeypatch.setattr("sys.argv", ["train.py"])
    for_hydra = "hydra.job.chdir=false"
    return lambda cells: [
        compose_command_line("train", [for_hydra, *cell], pytest.fail)[0].values for cell in cells
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["tokens=1M", "seed=0,1", "seeds.init=5", "data.path=texts,'b c.txt'", "tokenizer=char"],
        ["tokens=1M", "model=tiny,llama-14m", "rate=cosine,wsd", "optimizer.warmup=9", "data.path=x"],
        ["experiment=demo,zh_pythia", "seed=3,4", "schedule=pythia", "data.path=texts"],
        ["tokens=1M", "+model.config.chunk_size=32,64", "model=mamba-14m", "++seed=1"],
        ["tokens=1M", "optimizer.betas=[.9,.99],[.8,.9]", "grid=[{seed: [0, 1]}]", "batch={length: 32}"],
        [
            "tokens=1M,2M",
            "model.learning_rate=1e-3",
            "optimizer.minimum=${optimizer.warmup}",
            "eval.benchmarks=[x]",
        ],
        ["tokens=1M", "~data.benchmarks", "eval.benchmarks=[]", "resume={seconds: 5},{seconds: 6}"],
        ["tokens=range(1000000,3000000,1000000)", "model=glob(gpt2-14*)"],
    ],
)
def test_the_cells_of_a_grid_are_what_hydra_composes_of_each(arguments, alone):
    cells = sweep("train", arguments)
    found = compose_cells("train", cells)
    assert len(cells) > 1
    assert [one.values for one in found] == alone(cells)
    assert [one.overrides for one in found] == [tuple(cell) for cell in cells]


@pytest.mark.parametrize(
    "arguments",
    [
        ["seed.x=1"],
        ["model.none=3"],
        ["nothing=1"],
        ["~name"],
        ["schedule=x"],
        ["seeds.data=${nothing}"],
        ["tracker@x=none"],
        ["seed=1,2"],
        ["seed=[1"],
        ["model=tiny,14m"],
    ],
)
def test_a_mistake_in_a_cell_is_answered_as_hydras_own(arguments, alone):
    cell = ["tokens=1M", "data.path=x", *arguments]
    with pytest.raises(UserError) as one:
        compose_cells("train", [cell])
    with pytest.raises(UserError) as other:
        alone([cell])
    example = "quote the value"  # of which Hydra writes two forms, one of them for the shell
    assert str(one.value).partition(example)[0] == str(other.value).partition(example)[0]


def test_hydra_composes_a_combination_of_groups_once(monkeypatch):
    composed, own = [], hydra.compose
    monkeypatch.setattr(
        "hydra.compose", lambda name, overrides: composed.append(overrides) or own(name, overrides)
    )
    cells = compose_cells(
        "train", sweep("train", ["model=tiny,14m", "tokens=1M,2M,3M", "seed=0,1", "data.path=x"])
    )
    assert len(cells) == 12
    assert composed == [["model=tiny", "data=text"], ["model=14m", "data=text"]]


@pytest.mark.parametrize("options", [["-m"], ["-m", "hydra.sweep.subdir=x"]])
def test_both_ways_to_a_grid_give_its_cells(options, monkeypatch):
    monkeypatch.setattr("sys.argv", ["train.py"])
    arguments = [*options, "tokens=1M,2M", "model=tiny", "data.path=x"]
    found = compose_command_line("train", arguments, pytest.fail)
    assert [cell.values["tokens"] for cell in found] == ["1M", "2M"]
    assert [set(cell.overrides) for cell in found] == [
        {f"tokens={tokens}", "model=tiny", "data.path=x", "data=text"} for tokens in ("1M", "2M")
    ]


def test_the_benchmarks_are_those_that_suit_the_corpus():
    suiting = {
        (): ["zhoblimp"],
        ("data=wikipedia_zh",): ["zhoblimp"],
        ("data.path=texts",): [],
        ("eval.benchmarks=[]",): [],
        ("data.path=texts", "eval.benchmarks=[blimp]"): ["blimp"],
        ("experiment=demo",): ["demo"],
    }
    for arguments, benchmarks in suiting.items():
        assert compose("train", ["tokens=1M", *arguments])["eval"]["benchmarks"] == benchmarks


@pytest.mark.parametrize(
    "options", [["--config-dir", "it's mine"], ["--config-dir=it's mine"], ["-cd", "it's mine"]]
)
def test_groups_of_ones_own_are_found_wherever_the_overrides_go(tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it's mine" / "schedule").mkdir(parents=True)
    (tmp_path / "it's mine" / "schedule" / "mine.yaml").write_text("kind: linear\ncount: 5\nsteps: []\n")
    overrides = [*read_arguments(options), "tokens=1M", "schedule=mine"]
    assert compose("train", overrides)["schedule"]["count"] == 5
    with pytest.raises(UserError, match=r"unknown schedule 'main'; allowed: .*Did you mean 'mine'\?"):
        compose("train", [*overrides[:-1], "schedule=main"])


@pytest.mark.parametrize(
    ("group", "text", "key", "value"),
    [
        ("data", "kind: text\npath: texts\nbenchmarks: []\n", "unit", "line"),
        ("engine", "kind: torch\n", "micro_batch", "auto"),
        ("rate", "kind: wsd\n", "decay", 0.2),
        ("schedule", "kind: linear\ncount: 5\n", "steps", ()),
        ("tokenizer", "kind: char\nname: own\n", "vocab_size", 12142),
    ],
)
def test_a_file_of_ones_own_leaves_out_what_the_file_of_its_kind_says(tmp_path, group, text, key, value):
    (tmp_path / group).mkdir()
    (tmp_path / group / "mine.yaml").write_text(text)
    words = ["tokens=5M", "data=demo", f"{group}=mine"] if group != "data" else ["tokens=5M", "data=mine"]
    settings = read_request(compose("train", read_arguments(["--config-dir", str(tmp_path), *words])))
    assert getattr(getattr(settings, group), key) == value


def test_a_folder_of_groups_that_is_not_there_is_a_mistake(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "groups").mkdir()
    with pytest.raises(UserError, match=r"--config-dir: no folder group\. Did you mean 'groups'\?"):
        read_arguments(["--config-dir", "group"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: [", r"while parsing a flow node .*mine\.yaml\", line 3"),
        ("seed: !!float abc", r"could not convert string to float: 'abc'"),
        ("seed: &a {b: *a}", r"too many brackets or aliases in one another"),
    ],
)
def test_a_broken_file_of_ones_own_groups_is_one_message(tmp_path, text, message):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(f"# @package _global_\n{text}\n")
    with pytest.raises(UserError, match=message):
        compose("train", read_arguments(["--config-dir", str(tmp_path), "experiment=mine"]))


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--model", "14m", "--tokens=10M"], "model=14m tokens=10M"),
        (["--model=14m"], "model=14m"),
        (["model", "14m", "tokens=10M"], "model=14m tokens=10M"),
        (["--dry-run", "--model", "14m"], "dry_run=true model=14m"),
        (["-model", "14m", "-m"], "model=14m -m"),
        (["--data.path", "my texts"], "'data.path=my texts'"),
    ],
)
def test_settings_in_the_form_of_other_programs_are_answered_with_ours(words, meant):
    with pytest.raises(UserError) as caught:
        read_arguments(words)
    assert str(caught.value) == f"settings are key=value: {meant}"


@pytest.mark.parametrize(
    "words", [["--cfg", "job"], ["-m", "seed=0,1"], ["--info", "defaults", "seed=0"], ["~name"]]
)
def test_options_of_hydra_are_no_settings(words):
    assert sorted(read_arguments(words)) == sorted(words)


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("score", "benchmarks=demo,zhoblimp", "benchmarks=[demo,zhoblimp]"),
        ("score", "linking=slor,slln_lp:0.3", "linking=[slor,slln_lp:0.3]"),
        ("score", "steps=0,512", "steps=[0,512]"),
        ("train", "eval.benchmarks=demo,zhoblimp", "eval.benchmarks=[demo,zhoblimp]"),
        ("train", "data.path=a.txt,b.txt", "data.path=[a.txt,b.txt]"),
        ("analyze", "runs=runs/a*,runs/b", "runs=[runs/a*,runs/b]"),
        ("score", "benchmarks=[demo,blimp]", "benchmarks=[demo,blimp]"),
        ("train", "tokens=10M", "tokens=10M"),
    ],
)
def test_a_list_needs_no_brackets(name, given, found):
    assert with_lists(name, [given]) == [found]
    assert with_lists(name, [given, "-m"]) == [given, "-m"]
    compose(name, [found])


@pytest.mark.parametrize("given", ["seed=0,1", "model=14m,70m", "tokens=1M,2M", "engine.device=cpu,cuda"])
def test_several_values_of_what_is_one_are_a_grid(given, monkeypatch):
    monkeypatch.setattr("sys.argv", ["ucurve train"])
    with pytest.raises(UserError) as caught:
        with_lists("train", [given])
    assert str(caught.value) == f"{given}: one value is expected; several make a grid: ucurve train -m {given}"


def test_a_single_value_is_a_list_of_one():
    given = {"benchmarks": "demo", "ties_rules": "half", "linking": "lp"}
    settings = score_settings(**given)
    assert (settings.benchmarks, settings.ties_rules, settings.linking) == (("demo",), ("half",), ("lp",))
    assert given["benchmarks"] == "demo", "what was given stays as it was"
    assert check(Outer, {"steps": 3, "inner": {"rate": 1}, "names": "a"}).names == ("a",)


def test_one_problem_is_said_without_a_heading():
    with pytest.raises(UserError) as caught:
        check(Outer, {"steps": 0, "inner": {"rate": 1}})
    assert str(caught.value) == "steps: got 0; Input should be greater than or equal to 1"


@pytest.mark.parametrize(
    ("given", "key", "value"),
    [
        ("benchmarks=[blimp]", "benchmarks", ["blimp"]),
        ("scorer=mink", "scorer", "mink"),
        ("custom.columns.good=better", "custom", None),
    ],
)
def test_keys_of_scoring_have_one_name_in_train_and_score(given, key, value):
    trained = compose("train", ["tokens=1M", given])["eval"]
    assert trained == compose("train", ["tokens=1M", f"eval.{given}"])["eval"]
    assert value is None or trained[key] == compose("score", [given])[key] == value


def test_what_suits_the_text_is_scored():
    assert compose("train", ["tokens=1M", "data=demo"])["eval"]["benchmarks"] == ["demo"]
    assert compose("train", ["tokens=1M", "data.path=texts"])["eval"]["benchmarks"] == []


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("batch_size=32", "batch.sequences"),
        ("lr=1e-3", "optimizer.learning_rate"),
        ("learning_rate=1e-3", "optimizer.learning_rate"),
        ("batchs.length=3", "batch"),
    ],
)
def test_keys_as_other_programs_call_them_are_answered_with_ours(given, meant):
    with pytest.raises(UserError, match=rf"Did you mean .*'{re.escape(meant)}'"):
        compose("train", ["tokens=1M", given])


def test_a_count_with_commas_is_answered_with_the_count():
    for more in ([], ["-m"]):
        with pytest.raises(UserError, match=r"tokens=1,500,000: commas separate .*; write tokens=1\.5M$"):
            read_arguments([*more, "model=tiny", "tokens=1,500,000"])
    assert read_arguments(["tokens=10M,100M", "-m"]) == ["-m", "tokens=10M,100M"]


def test_a_key_without_its_group_is_answered_with_both():
    with pytest.raises(
        UserError, match=r"unknown key 'device'.* Did you mean 'engine\.device' or 'eval\.device'\?"
    ):
        compose("train", ["device=cuda", "tokens=1M"])


@pytest.mark.parametrize(
    ("given", "name"), [([], "char"), (["tokenizer=bpe"], "bpe"), (["tokenizer.path=folder"], None)]
)
def test_the_demo_text_has_characters_as_tokens_unless_asked_otherwise(given, name):
    assert compose("train", ["tokens=1M", "data=demo", *given])["tokenizer"]["name"] == name
