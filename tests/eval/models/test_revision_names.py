import pytest

from ucurve.errors import UserError
from ucurve.eval.models.revision_names import Place, names_a_checkpoint, place_revisions

K, M, B = 10**3, 10**6, 10**9


@pytest.mark.parametrize(
    ("name", "step", "tokens"),
    [
        ("step512", 512, None),
        ("step00000008", 8, None),
        ("global_step1000", 1000, None),
        ("checkpoint-500", 500, None),
        ("model-v2-checkpoint-500", 500, None),
        ("iter_0001000", 1000, None),
        ("ckpt_000", 0, None),
        ("7", 7, None),
        ("step_1e3", 1000, None),
        ("100k_steps", 100 * K, None),
        ("step-50K-105b", 50 * K, None),
        ("Llama-1.1B-intermediate-step-1195k-token-2.5T", 1195 * K, 2500 * B),
        ("step1000-tokens4B", 1000, 4 * B),
        ("stage1-step1000-tokens3B", 1000, 3 * B),
        ("stage1-step-40000", 40 * K, None),
        ("tokens_5B", 5 * B, 5 * B),
        ("240b_tokens", 240 * B, 240 * B),
        ("10BT", 10 * B, 10 * B),
        ("5B", 5 * B, None),
        ("10.49B", 10490 * M, None),
        ("ckpt-10B", 10 * B, None),
        ("train_00220B", 220 * B, None),
        ("chck_1M", M, None),
        ("chck_1000M", 1000 * M, None),
        ("checkpoint_100M_words", 100 * M, None),
    ],
)
def test_what_a_name_states(name, step, tokens):
    assert place_revisions([name]) == {name: Place(step, tokens)}
    assert place_revisions([name])[name].step == step


@pytest.mark.parametrize(
    "name",
    [
        "main",
        "v1.5",
        "misstep9x1",
        "step5B",
        "step1.5",
        "step1000-step2000",
        "2024-05-01",
        "3f2a9c",
        "step1e99",
        "9" * 99,
    ],
)
def test_a_name_without_a_step(name):
    with pytest.raises(
        UserError, match=f"no step can be read off '{name}'; names like step512.*'steps={{{name}: N}}'"
    ):
        place_revisions([name])


def test_all_that_cannot_be_read_is_asked_for_in_one_message():
    names = ["main", "step8", "final", "stage2-step5"]
    with pytest.raises(UserError) as error:
        place_revisions(names)
    assert "no step can be read off 'main'; the steps of 'stage2-step5' start from 0 again" in str(error.value)
    assert "'steps={main: N, final: N, stage2-step5: N}'" in str(error.value)
    steps = {"main": 30, "final": 20, "stage2-step5": 15}
    assert list(place_revisions(names, steps)) == ["step8", "stage2-step5", "final", "main"]


def test_tokens_of_a_later_stage_are_not_those_of_all():
    names = ["stage1-step9000-tokens20B", "stage2-ingredient1-step5000-tokens30B"]
    with pytest.raises(
        UserError, match=r"start from 0 again.*'steps=\{stage2-ingredient1-step5000-tokens30B: N\}'"
    ):
        place_revisions(names)
    places = place_revisions(names, {names[1]: 14000})
    assert places == {names[0]: Place(9000, 20 * B), names[1]: Place(14000)}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["seed0-step1", "seed1-step2"], "'seed0-step1' and 'seed1-step2' differ in more than the step"),
        (["step1-seed0", "step2-seed1"], "differ in more than the step"),
        (["step8", "5B"], "'step8' and '5B' count other things"),
        (["chck_1M", "tokens_5B"], "count other things"),
        (["step1", "step01"], "are of one step, 1"),
        (["step50k", "step50000"], "are of one step, 50000"),
    ],
)
def test_names_that_do_not_go_on_one_axis(names, message):
    with pytest.raises(UserError, match=message):
        place_revisions(names)


def test_names_that_do():
    names = ["a-1.1B-step-1195k-token-2.5T", "a-1.1B-intermediate-step-240k-503b", "a-1.1B-step-50K-105b"]
    assert list(place_revisions(names)) == names[::-1]
    assert list(place_revisions(["chck_1M", "step0"])) == ["step0", "chck_1M"]
    names = ["epoch1-step1000-loss3.1", "epoch2-step2000-loss2.9"]
    assert list(place_revisions(names)) == names


@pytest.mark.parametrize("name", ["70m", "7", "v2", "main", "10M", "misstep9x1", "tokenizer-v2", "writer-2"])
def test_a_number_alone_may_be_of_anything(name):
    assert not names_a_checkpoint(name)
