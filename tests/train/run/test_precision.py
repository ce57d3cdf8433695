"""Runs in bfloat16, on a processor: what they record, how they go on, and how near they are to float32."""

import json

import pytest
import torch
import yaml

from tests.train.launching import finish, start
from ucurve.errors import UserError
from ucurve.storage.facts import read_manifest, read_run_facts
from ucurve.storage.run_folder import checkpoints
from ucurve.training.engine.execution import choose_execution
from ucurve.training.engine.processes import Processes
from ucurve.training.model.precision import choose_precision
from ucurve.training.run.prepare import expect_run
from ucurve.training.run.run import train_run
from ucurve.training.verify import run_faults

HALF = "engine.precision=bfloat16"


def test_a_run_in_bfloat16_says_so_and_is_whole(settings_of, capsys):
    settings = settings_of(HALF)
    train_run(settings)
    assert "torch on cpu; products in bfloat16; weights, moments and loss in float32" in capsys.readouterr().err
    assert run_faults(settings.folder) == []
    record = read_run_facts(settings.folder)
    assert record.engine.precision == record.sessions[0].engine.precision == "bfloat16"
    assert yaml.safe_load((settings.folder / "config.yaml").read_text())["engine"]["precision"] == "bfloat16"
    assert {read_manifest(folder).precision for folder in checkpoints(settings.folder)} == {"bfloat16"}


@pytest.mark.parametrize(("first", "second"), [("float32", "bfloat16"), ("bfloat16", "float32")])
def test_two_precisions_never_share_a_folder(settings_of, first, second):
    train_run(settings_of(f"engine.precision={first}"))
    with pytest.raises(UserError, match=f"these keys differ: engine.precision: '{first}' -> '{second}'"):
        train_run(settings_of(f"engine.precision={second}"))


def test_a_run_of_an_accelerator_goes_on_in_its_precision_on_a_processor(settings_of, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr("ucurve.training.config.choose_precision", lambda _: "bfloat16")
        train_run(settings_of("engine.precision=auto"))
    assert choose_precision("cpu") == "float32"
    settings = settings_of("engine.precision=auto", "engine.device=cpu")
    assert settings.engine.precision == "bfloat16"
    train_run(settings)
    assert f"{settings.folder} is finished" in capsys.readouterr().err
    assert settings_of("engine.precision=auto", "engine.device=cpu", "name=new").engine.precision == "float32"


def test_a_device_without_bfloat16_does_not_go_on_with_it(settings_of, monkeypatch):
    monkeypatch.setattr("ucurve.training.engine.execution.choose_device", lambda _: torch.device("cuda"))
    for name, value in {"is_bf16_supported": False, "get_device_name": "Tesla V100", "set_device": None}.items():
        monkeypatch.setattr(torch.cuda, name, lambda *_, value=value, **__: value)
    with pytest.raises(UserError, match=r"engine\.precision=bfloat16: Tesla V100 does not compute in it"):
        choose_execution(settings_of(HALF), Processes())


def test_the_plan_names_the_precision(settings_of):
    assert (
        "\nprecision      float32\n"
        in expect_run(settings_of("engine.precision=float32", "tokenizer=bpe")).describe()
    )
    assert (
        "\nprecision      products in bfloat16; weights,"
        in expect_run(settings_of(HALF, "tokenizer=bpe")).describe()
    )


@pytest.mark.long
def test_sixty_steps_of_the_demo_in_bfloat16_are_within_a_fiftieth_of_a_nat(tmp_path):
    demo = [
        "train.py",
        "experiment=demo",
        "grid=[]",
        "eval.when=never",
        f"tokens={60 * 32 * 32}",
        "schedule.count=2",
    ]
    paths = [f"paths.{name}={tmp_path / name}" for name in ("runs", "cache", "tokenizers")]
    losses = {}
    for engine, precision in [("torch", "float32"), ("torch", "bfloat16"), ("deepspeed", "bfloat16")]:
        if engine == "deepspeed":
            pytest.importorskip("deepspeed")
        name = f"{engine}-{precision}"
        codes, errors = finish(
            start([*demo, *paths, f"engine={engine}", f"engine.precision={precision}", f"name={name}"]),
            timeout=900,
        )
        assert codes == [0], errors
        (metrics,) = tmp_path.glob(f"runs/*-{name}/metrics.jsonl")
        losses[name] = [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]
    for name in ("torch-bfloat16", "deepspeed-bfloat16"):
        apart = [abs(a - b) for a, b in zip(losses[name], losses["torch-float32"], strict=True)]
        assert len(apart) == 60
        assert 0 < max(apart) <= 0.02
