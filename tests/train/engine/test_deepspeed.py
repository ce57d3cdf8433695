"""Several processes and DeepSpeed against one process of torch: the same losses, and states that move between them."""

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file

from tests.settings import engine_settings
from tests.train.engine.engine_worker import HALF
from tests.train.launching import finish, start
from ucurve.errors import UserError
from ucurve.training.engine.deepspeed_config import build_config, read_override

pytest.importorskip("deepspeed")
WORKER = Path(__file__).with_name("engine_worker.py")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    both = {}
    for size in (1, 2, 3):
        codes, errors = finish(start([WORKER, folder], size))
        assert codes == [0] * size, errors
        both |= json.loads((folder / f"results-{size}.json").read_text()) | {"folder": folder}
    return both


RUNS = [
    "0-1",
    "1-1",
    "2-1",
    "None-2",
    "0-2",
    "1-2",
    "2-2",
]  # None is torch, which is also what they are compared to


def largest_difference(a, b):
    assert len(a) == len(b) > 0
    return max(abs(x - y) for left, right in zip(a, b, strict=True) for x, y in zip(left, right, strict=True))


@pytest.mark.long
@pytest.mark.parametrize("run", RUNS)
def test_losses_and_norms_are_those_of_torch(results, run):
    assert largest_difference(results[run], results["None-1"]) <= 1e-5
    if run == "0-1":
        assert results[run] == results["None-1"], "the same arithmetic, so the same bits"


@pytest.mark.long
@pytest.mark.parametrize("run", ["None-1", *RUNS])
def test_a_run_goes_on_from_its_own_state_bit_for_bit(results, run):
    assert results[f"{run} from itself"] == results[run][HALF:]


@pytest.mark.long
@pytest.mark.parametrize("run", RUNS)
def test_a_state_of_torch_is_carried_over(results, run):
    assert largest_difference(results[f"{run} from torch"], results["None-1"][HALF:]) <= 1e-5


@pytest.mark.long
@pytest.mark.parametrize("run", RUNS)
def test_a_state_is_the_same_from_every_engine(results, run):
    ours, theirs = (load_file(results["folder"] / f"{name}.safetensors") for name in ("None-1", run))
    assert ours.keys() == theirs.keys()
    for name in ours.keys() - {"generator"}:
        assert ours[name].shape == theirs[name].shape
        difference = (ours[name] - theirs[name]).abs()
        # the biases of the keys have no gradient but rounding, of which AdamW makes whole steps
        assert (difference.median() if name.startswith("weights/") else difference.max()) <= 1e-5, name


@pytest.mark.long
@pytest.mark.parametrize("run", ["None-1", *RUNS])
def test_bfloat16_is_the_same_in_every_engine_and_keeps_float32_weights(results, run):
    found, torch_found = results[f"bf16 {run}"], results["bf16 None-1"]
    assert found["kept"] == ["torch.float32"]
    assert found["same"], "the state is carried over bit for bit"
    # weights that differ in float32's last bit are rounded to other bfloat16 numbers now and then
    assert largest_difference(found["steps"], torch_found["steps"]) <= (0 if run == "0-1" else 0.01)
    losses = [[[loss] for loss, _ in steps] for steps in (found["steps"], results["None-1"][:10])]
    assert 1e-5 < largest_difference(*losses) <= 0.02


@pytest.mark.long
@pytest.mark.parametrize("run", RUNS)
def test_automatic_micro_batches_become_what_the_smallest_memory_holds(results, run):
    found, processes = results[f"memory {run}"], int(run[-1])
    assert max(found["sizes"][-8:]) == (2 if processes == 1 else 1)
    assert largest_difference(found["steps"], results["None-1"][:5]) <= 1e-5


@pytest.mark.long
@pytest.mark.parametrize("run", RUNS)
def test_the_next_run_of_a_grid_does_not_find_the_last_model_in_memory(results, run):
    assert results[f"freed {run}"]


@pytest.mark.long
@pytest.mark.parametrize("run", RUNS)
def test_weights_and_moments_at_the_end_are_those_of_one_process(results, run):
    ours, theirs = (load_file(results["folder"] / f"{name}-end.safetensors") for name in ("None-1", run))
    for name in ours.keys() - {"generator"}:
        difference = (ours[name] - theirs[name]).abs()
        if name.endswith("query_key_value.bias") and name.startswith("weights/"):
            difference = difference.view(4, 3, 8)[:, [0, 2]]  # those of the keys have no gradient but rounding
        assert difference.max() <= 1e-5, name


@pytest.mark.long
@pytest.mark.parametrize("run", RUNS)
def test_the_same_units_are_dropped_in_every_engine_and_number_of_processes(results, run):
    found, alone = results[f"dropout {run}"], results["dropout None-1"]
    assert largest_difference(found, alone) <= 1e-6
    assert largest_difference(found, results["None-1"][:10]) > 1e-3


@pytest.mark.long
@pytest.mark.parametrize("stage", [None, 0, 1, 2])
def test_gradients_reduced_in_bfloat16_are_nearly_the_same(results, stage):
    assert 1e-6 < largest_difference(results[f"reduced {stage}-2"], results["None-1"][:10]) <= 0.01
    if stage is None:
        assert results["reduced None-1"] == results["None-1"][:10], "nothing is reduced in one process"


@pytest.mark.long
def test_muon_takes_the_same_steps_on_two_processes_and_goes_on_bit_for_bit(results):
    # It rounds to bfloat16.
    assert largest_difference(results["muon 2"]["steps"], results["muon 1"]["steps"]) <= 1e-2
    assert [results[f"muon {size}"]["same"] for size in (1, 2)] == [True, True]


@pytest.mark.long
def test_three_processes_go_on_bit_for_bit(results):
    without_a_stop, continued = results["torch of three"]
    assert without_a_stop == continued


@pytest.mark.long
def test_flags_are_known_in_all_processes_after_a_step(results):
    assert results["flags 1"] == [[False, True, True]]
    assert results["flags 2"] == [[False, True, True]] * 2


@pytest.mark.long
def test_a_gradient_that_is_not_finite_leaves_the_weights(results):
    kind, message, same = results["poisoned"]
    assert (kind, same) == ("DivergedError", True)
    assert "the norm of the gradient is inf at step 1" in message


def settings(**more):
    return engine_settings(kind="deepspeed", micro_batch=4, **more)


@pytest.mark.parametrize("name", ["ds.json", "ds.yaml"])
def test_a_file_is_merged_over_our_configuration(tmp_path, name):
    (tmp_path / name).write_text('{"zero_optimization": {"reduce_bucket_size": 5}, "wall_clock_breakdown": true}')
    config = build_config(settings(zero_stage=2, config=str(tmp_path / name)), 1.5)
    assert config["zero_optimization"] == {"stage": 2, "reduce_bucket_size": 5}
    assert config["wall_clock_breakdown"] is True
    assert config["gradient_clipping"] == 1.5


def test_the_reduction_is_said_to_deepspeed():
    assert "communication_data_type" not in build_config(settings(), 1.0)
    assert build_config(settings(reduction="bfloat16"), 1.0)["communication_data_type"] == "bf16"


def test_a_reduction_that_changes_the_numbers_is_another_run(settings_of):
    plain, narrow = settings_of().identity(), settings_of("engine.reduction=bfloat16").identity()
    assert narrow["engine"] == plain["engine"] | {"reduction": "bfloat16"} != plain["engine"]


def test_stages_that_are_not_supported_are_refused(settings_of):
    with pytest.raises(
        UserError, match=r"engine\.zero_stage: got 3; ZeRO 3 cuts the weights too.*allowed: 0, 1, 2"
    ):
        settings_of("engine=deepspeed", "engine.zero_stage=3")
    with pytest.raises(UserError, match=r"engine\.zero_stage: got -1; allowed: 0, 1, 2"):
        settings_of("engine=deepspeed", "engine.zero_stage=-1")
    with pytest.raises(UserError, match=r"engine: zero_stage and config are DeepSpeed's; set engine=deepspeed"):
        settings_of("engine=torch", "engine.zero_stage=1")


def test_another_engine_is_no_other_run(settings_of):
    assert (
        settings_of("engine=deepspeed", "engine.zero_stage=2").identity()
        == settings_of("engine=torch").identity()
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "train_batch_size: 4",
            r"engine\.config=.*: these keys cannot be set there: train_batch_size: batch\.sequences",
        ),
        ("zero_optimization: {stage: 1}", r"zero_optimization\.stage: engine\.zero_stage sets it"),
        (
            "zero_optimization: {offload_optimizer: {device: cpu}}",
            r"offload_optimizer: offloading is not supported",
        ),
        ("fp16: {enabled: true}", r"fp16: its loss scaling skips steps"),
        ("bf16: {enabled: true}", r"bf16: engine\.precision sets it"),
        (
            "wall_clock_brakdown: true",
            r"unknown key 'wall_clock_brakdown'.* Did you mean 'wall_clock_breakdown'\?",
        ),
        ("[1]", r"a mapping is expected"),
        ("a: [", r"no readable configuration of DeepSpeed"),
    ],
)
def test_what_a_file_may_not_say_is_refused(tmp_path, text, message):
    (tmp_path / "ds.yaml").write_text(text)
    with pytest.raises(UserError, match=message):
        read_override(str(tmp_path / "ds.yaml"))
    with pytest.raises(UserError, match="no readable configuration"):
        read_override(str(tmp_path / "none.yaml"))
