from collections import Counter

import pytest

from ucurve.config import Composed, compose, sweep
from ucurve.config_files import CONFIGURATION
from ucurve.errors import UserError
from ucurve.training.cli import train_command
from ucurve.training.grid.cells import axis_cells, grid_cells
from ucurve.training.run.prepare import expect_run
from ucurve.training.run_folder.config_file import configuration_text


def test_cells_are_products_in_order_without_repeats():
    blocks = [{"model": ["a", "b"], "seed": [0, 1]}, {"model": ["b"], "seed": [1, 2]}]
    assert axis_cells(blocks, []) == [
        ["model=a", "seed=0"],
        ["model=a", "seed=1"],
        ["model=b", "seed=0"],
        ["model=b", "seed=1"],
        ["model=b", "seed=2"],
    ]


def test_an_override_of_the_users_replaces_its_axis():
    assert axis_cells([{"model": ["a", "b"], "seed": [0, 1]}], ["model=c"]) == [["seed=0"], ["seed=1"]]


@pytest.mark.parametrize("axis", [{"layers": 3}, [], [["14m"]]])
def test_an_axis_must_have_plain_values(axis):
    with pytest.raises(
        UserError, match=r"grid\.0\.model: got .*; a value, or a list of at least one, is expected"
    ):
        axis_cells([{"model": axis}], [])


def test_a_single_value_is_that_of_every_cell_of_its_block():
    blocks = [{"seed": [0, 1], "schedule.count": 47}, {"seed": [2], "schedule.count": 2}]
    assert axis_cells(blocks, []) == [
        ["seed=0", "schedule.count=47"],
        ["seed=1", "schedule.count=47"],
        ["seed=2", "schedule.count=2"],
    ]


def test_a_group_of_the_users_choice_takes_no_key_below_it_from_the_grid():
    assert axis_cells([{"seed": [0], "schedule.count": 47}], ["schedule=pythia"]) == [["seed=0"]]


def given(*arguments, **values):
    """Compose a command line as ``train.py -m`` would, with further values put in place."""
    return [Composed(compose("train", cell) | values, tuple(cell)) for cell in sweep("train", arguments)]


def settings_of(*arguments, **values):
    return [cell.settings for cell in grid_cells(given(*arguments, **values))]


@pytest.mark.parametrize("grid", [5, [1], {"seed": [0]}])
def test_a_grid_must_be_a_list_of_axes(grid):
    with pytest.raises(UserError, match=r"grid: got .*; a list of axes is expected"):
        settings_of("tokens=10M", grid=grid)


def test_an_axis_may_hold_nothing():
    assert axis_cells([{"name": [None, "again"]}], []) == [["name=null"], ["name=again"]]


@pytest.fixture(scope="module")
def zh_pythia():
    return settings_of("experiment=zh_pythia")


@pytest.fixture(scope="module")
def plans(zh_pythia):
    return [expect_run(settings).plan for settings in zh_pythia]


def test_zh_pythia_is_the_papers_66_cells_and_every_one_plans(zh_pythia, plans):
    grid = zh_pythia
    assert len(grid) == 66
    assert len({settings.run_name for settings in grid}) == 66
    by_tokenizer = [
        sum(settings.tokenizer.name == name for settings in grid) for name in ("cllama", "word", "char")
    ]
    assert by_tokenizer == [60, 3, 3]
    assert {plan.steps for plan in plans if plan.settings.tokens == 3_000_000_000} == {183_105}


def test_zh_pythia_keeps_the_705_checkpoints_of_the_learning_curves_and_the_ends_of_the_other_51_runs(plans):
    kept = Counter(len(plan.checkpoint_steps) for plan in plans)
    assert kept == {47: 15, 2: 51}
    assert 15 * 47 == 705
    assert sum(plan.disk_bytes for plan in plans) < 2e12


def test_the_users_own_choice_narrows_an_experiment():
    grid = settings_of("experiment=zh_pythia", "model=14m", "seed=1")
    assert sorted(settings.run_name for settings in grid)[0] == "14m-100M-cllama-c4_zh-s1"
    assert {settings.model.name for settings in grid} == {"14m"}
    assert {settings.seeds.init for settings in grid} == {1}


def test_two_unlike_cells_of_one_name_are_refused():
    with pytest.raises(UserError) as caught:
        settings_of("tokens=10M", "tokenizer=char", "data=text", grid=[{"batch.length": [32, 64]}])
    message = str(caught.value)
    assert "14m-10M-char-text-s0; the first two differ in batch.length=32 against batch.length=64" in message
    assert message.endswith("needs name= to tell its runs apart, as 'name=length_${batch.length}'")


def test_a_value_that_makes_cells_of_an_experiment_alike_is_named():
    with pytest.raises(UserError) as caught:
        settings_of("experiment=zh_pythia", "tokenizer=char", "model=160m")
    message = str(caught.value)
    assert message.startswith(
        "two cells of the grid have one name: 160m-3B-char-c4_zh-s0, 160m-3B-char-c4_zh-s1, "
    )
    assert (
        "; the first two differ in schedule.count=47 against schedule.count=2. model=, tokenizer= on the"
        in message
    )
    assert message.endswith(" leave it out, or give what differs one value on the command line too")
    names = {
        one.run_name
        for one in settings_of("experiment=zh_pythia", "tokenizer=char", "model=160m", "schedule.count=47")
    }
    assert len(names) == 12


def test_a_cell_given_twice_is_one():
    assert len(settings_of("tokens=10M", "seed=0,1,0")) == 2


def test_a_product_of_the_command_line_and_a_grid_of_an_experiment_make_one_grid():
    names = [settings.run_name for settings in settings_of("experiment=demo", "tokens=400K,800K")]
    assert names == [f"tiny-{tokens}-char-demo-s{seed}" for tokens in ("400K", "800K") for seed in (0, 1, 2)]


def test_a_mistake_of_some_cells_names_them_and_nothing_starts(monkeypatch):
    monkeypatch.setattr("ucurve.training.cli.train_run", lambda settings: pytest.fail("a cell was started"))
    with pytest.raises(
        UserError, match=r"(?s)nothing was started:.*tokens=1 .*seed=0: .*less than one global batch"
    ):
        train_command(given("tokens=10M,1", "tokenizer=char", "seed=0"))


def test_a_schedule_that_does_not_fit_is_found_before_a_grid_starts():
    with pytest.raises(UserError, match=r"(?s)schedule.steps=\[0,900\].*900"):
        settings_of("tokens=10M", "schedule=list", "schedule.steps=[0,10],[0,900]", "name=a")


def test_a_mistake_that_all_cells_share_is_said_once():
    with pytest.raises(UserError) as caught:
        settings_of("tokens=1", "seed=0,1,2")
    assert str(caught.value).count("less than one global batch") == 1


def test_a_grid_is_not_for_several_processes(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    message = r"a grid of 2 runs under a launcher of 2 processes: .*ucurve workers gpus=2.*ucurve emit"
    with pytest.raises(UserError, match=message):
        train_command(given("tokens=10M", "seed=0,1"))


def test_the_plan_of_a_grid_ends_with_its_costs_and_totals(capsys, tmp_path):
    nothing_built = [f"paths.{name}={tmp_path / name}" for name in ("cache", "tokenizers", "runs")]
    train_command(given("tokens=10M", "tokenizer=char", "data=demo", "seed=0,1", "dry_run=true", *nothing_built))
    head, *cells, total, hint = capsys.readouterr().out.splitlines()[-5:]
    assert "ucurve cost" in hint
    assert head.split() == ["cell", "parameters", "FLOPs", "disk"]
    assert [cell.split()[0] for cell in cells] == ["14m-10M-char-demo-s0", "14m-10M-char-demo-s1"]
    one, both = (int(line.split()[1].replace(",", "")) for line in (cells[0], total))
    assert both == 2 * one == 2 * 1_270_016
    assert total.split()[0] == "total"


def test_a_plan_for_the_folder_of_another_configuration_is_refused_after_it(capsys, tmp_path):
    folders = [f"paths.{name}={tmp_path / name}" for name in ("cache", "tokenizers", "runs")]
    words = ["tokens=10M", "tokenizer=char", "data=demo", "seed=0", *folders]
    [cell], [other] = (grid_cells(given(*words, *more)) for more in ([], ["optimizer.weight_decay=0.2"]))
    cell.settings.folder.mkdir(parents=True)
    (cell.settings.folder / "config.yaml").write_text(configuration_text(other.settings))
    with pytest.raises(UserError, match=r"these keys differ: optimizer\.weight_decay: 0\.2 -> 0\.1"):
        train_command(given(*words, "dry_run=true"))
    assert "parameters" in capsys.readouterr().out


def test_the_plan_of_a_grid_says_once_what_is_left_out(capsys, tmp_path):
    (tmp_path / "a.train").write_text("text")
    (tmp_path / "README.txt").write_text("about it")
    folders = [f"paths.{name}={tmp_path / name}" for name in ("cache", "tokenizers", "runs")]
    words = [
        "tokens=10M",
        "tokenizer=char",
        "data=text",
        f"data.path={tmp_path}",
        "seed=0,1",
        "dry_run=true",
        *folders,
    ]
    train_command(given(*words))
    assert capsys.readouterr().err.count("left out 1 file about the corpus (.txt: README.txt)") == 1


def every_choice():
    groups = ("model", "tokenizer", "data", "schedule", "optimizer", "rate", "engine", "tracker")
    return [f"{group}={file.stem}" for group in groups for file in sorted((CONFIGURATION / group).glob("*.yaml"))]


NEEDED = {  # what a choice cannot do without
    "data=hub": ["data.dataset=owner/name"],
    "data=mixture": ["data.parts=[{data: demo, weight: 1}, {data: c4_zh, weight: 1}]"],
    "data=stages": ["data.parts=[{data: demo, tokens: 1M}, {data: c4_zh}]"],
    "tokenizer=hub": ["tokenizer.path=owner/name", "tokenizer.vocab_size=1000"],
    "schedule=list": ["schedule.steps=[1,10]"],
}


def needed(choice):
    """What a choice is given; larger models of the library have one layer, as to count the FLOPs of all takes a second."""
    family, _, size = choice.removeprefix("model=").partition("-")
    if choice.startswith("model=") and (size in ("70m", "160m") or family == "mamba"):
        return [f"model.config.{'n_layer' if family == 'gpt2' else 'num_hidden_layers'}=1"]
    return NEEDED.get(choice, [])


@pytest.mark.parametrize("choice", every_choice())
def test_every_shipped_choice_composes_and_plans(choice):
    settings = settings_of("tokens=100M", choice, *needed(choice))[0]
    assert settings.run_name in expect_run(settings).describe()


def test_the_demo_experiment_plans():
    assert [settings.run_name for settings in settings_of("experiment=demo")] == [
        "tiny-800K-char-demo-s0",
        "tiny-800K-char-demo-s1",
        "tiny-800K-char-demo-s2",
    ]


def test_the_grid_of_the_demo_crosses_four_architectures_two_tokenizers_and_two_seeds():
    grid = settings_of("experiment=demo_grid")
    factors = {(one.model.design.architecture, one.tokenizer.kind, one.seeds.init) for one in grid}
    assert len(grid) == len(factors) == 16
    assert [len(set(levels)) for levels in zip(*factors, strict=True)] == [4, 2, 2]
    assert {one.model.name for one in grid if one.model.objective == "masked"} == {"bert-tiny"}
    assert len({(one.budget, one.eval, one.schedule) for one in grid}) == 1, "what is not compared is the same"
    assert "checkpoints    15: 0 12 24 " in expect_run(grid[-1]).describe()


def challenge(*arguments):
    return settings_of("experiment=chinese_babylm", *arguments)


def test_the_chinese_babylm_challenge_is_one_pass_and_ten_through_its_words():
    grid = challenge("seed=0")  # one of three
    assert len(grid) == 12
    assert Counter(settings.words for settings in grid) == {102_000_000: 6, 1_020_000_000: 6}
    assert {(one.data.dataset, one.data.words, one.data.unit) for one in grid} == {
        ("chinese-babylm-org/babylm-zho-100M", "jieba", "line")
    }
    assert grid[0].run_name == "14m-102Mw-char-babylm_zho-s0"
    assert "at most, for 102,000,000 words (jieba) at 2 a word" in expect_run(grid[0]).describe()


def test_the_chinese_babylm_challenge_on_own_text_plans_without_a_network(tmp_path):
    (tmp_path / "texts.txt").write_text("我来到北京清华大学。\n" * 10, encoding="utf-8")
    [settings] = challenge(
        f"data.path={tmp_path / 'texts.txt'}", "model=14m", "tokens=102Mw", "tokenizer=char", "seed=0"
    )
    assert (settings.run_name, settings.data.max_epochs) == ("14m-102Mw-char-texts-s0", 20)
    pytest.importorskip("jieba")
    assert "at most, for 102,000,000 words (jieba) at 1.85 a word" in expect_run(settings).describe()


def test_the_study_of_small_tokenizers_has_three_of_like_size_with_three_seeds(tmp_path):
    (tmp_path / "texts.txt").write_text("我来到北京清华大学。\n" * 10, encoding="utf-8")
    grid = settings_of("experiment=tokenizers_small", f"data.path={tmp_path / 'texts.txt'}")
    assert [settings.run_name for settings in grid] == [
        f"14m-10M-{tokenizer}-texts-s{seed}" for tokenizer in ("char", "word", "bpe") for seed in range(3)
    ]
    assert {settings.tokenizer.vocab_size for settings in grid} == {8192}


def test_the_strict_small_track_is_one_pass_and_ten_through_its_words(tmp_path):
    grid = settings_of("experiment=babylm_strict_small", "seed=0")
    assert Counter(one.budget for one in grid) == {"10Mw": 3, "100Mw": 3}
    assert {(one.data.dataset, one.data.max_epochs, one.tokenizer.vocab_size) for one in grid} == {
        ("BabyLM-community/BabyLM-2026-Strict-Small", 10, 16384)
    }
    (tmp_path / "texts.txt").write_text("A cat has come. Nobody has ever seen it.\n" * 10)
    [settings] = settings_of(
        "experiment=babylm_strict_small",
        f"data.path={tmp_path / 'texts.txt'}",
        "model=14m",
        "tokens=10Mw",
        "seed=0",
    )
    assert settings.run_name == "14m-10Mw-bpe-texts-s0"
    assert settings.schedule.kind == "babylm"
    assert (settings.model.hidden_dropout, settings.model.attention_dropout) == (0.1, 0.1)
    assert "for 10,000,000 words (whitespace)" in expect_run(settings).describe()


def test_the_multilingual_track_has_three_languages_in_equal_shares(tmp_path):
    grid = settings_of("experiment=babylm_multilingual", "seed=0")
    assert [one.run_name for one in grid] == ["70m-100M-bpe-eng_nld_zho-s0", "160m-100M-bpe-eng_nld_zho-s0"]
    assert grid[0].data.joining.shares == (1, 1, 1)
    text = expect_run(grid[0]).describe()
    for name in ("babylm_strict", "babybabel_nld", "babybabel_zho"):
        assert f"part           {name}: 33," in text
    for name in ("en", "nl"):
        (tmp_path / f"{name}.txt").write_text("A cat has come.\n")
    parts = f"data.parts=[{{path: {tmp_path}/en.txt, weight: 2}}, {{path: {tmp_path}/nl.txt, weight: 1}}]"
    own = settings_of("experiment=babylm_multilingual", "seed=0", "model=70m", parts, "data.name=null")
    assert [one.run_name for one in own] == ["70m-100M-bpe-en_66_67_nl_33_33-s0"]


def test_the_bilingual_children_hear_five_shares_of_two_languages(tmp_path):
    for name in ("en", "es"):
        (tmp_path / f"{name}.txt").write_text("A cat has come.\n")
    own = [
        f"data.parts.0.path={tmp_path}/en.txt",
        f"data.parts.1.path={tmp_path}/es.txt",
        "tokenizer.vocab_size=300",
    ]
    grid = settings_of("experiment=bilingual_babylm", "model=14m", *own)
    assert len(grid) == 15
    assert [one.run_name for one in grid[::3]] == [
        f"14m-100M-bpe-en_{share}_es_{100 - share}-s0" for share in (90, 75, 50, 25, 10)
    ]
    assert "part           es: 9,999,168 tokens (10 %)" in expect_run(grid[0]).describe()


def test_filtered_corpus_training_is_planned_with_what_goes(tmp_path):
    (tmp_path / "texts.txt").write_text("A cat has come. Nobody has ever seen it.\n" * 10)
    text = [f"data.path={tmp_path / 'texts.txt'}", "model=14m", "seed=0"]
    [filtered] = settings_of("experiment=fict", *text)
    assert filtered.run_name == "14m-100M-bpe-texts_no_npi-s0"
    assert "sentences 20 -> 10, characters 400 -> 150" in expect_run(filtered).describe()
    [plain] = settings_of("experiment=fict", *text, "data.interventions=[]")
    assert plain.run_name == "14m-100M-bpe-texts-s0"


def test_every_experiment_has_its_test():
    tested = {"demo", "demo_grid", "zh_pythia", "chinese_babylm", "tokenizers_small"}
    tested |= {"babylm_strict_small", "babylm_multilingual", "bilingual_babylm", "fict"}
    assert {file.stem for file in (CONFIGURATION / "experiment").glob("*.yaml")} == tested
