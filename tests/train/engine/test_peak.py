import json

import pytest
import torch

from ucurve.training.model.precision import device_peak, peak_flops
from ucurve.training.run.run import train_run


@pytest.mark.parametrize(
    ("name", "precision", "peak"),
    [
        ("NVIDIA H100 80GB HBM3", "bfloat16", 989e12),
        ("NVIDIA H100 PCIe", "bfloat16", 756e12),
        ("NVIDIA A100-SXM4-80GB", "float32", 19.5e12),
        ("Tesla T4", "bfloat16", None),
    ],
)
def test_peaks_are_those_of_the_data_sheets(name, precision, peak):
    assert peak_flops(name, precision) == peak


def test_a_processor_has_no_known_peak():
    assert device_peak(torch.device("cpu"), "float32") is None


def test_the_share_of_the_peak_is_logged_for_each_step(settings_of, monkeypatch, capsys):
    monkeypatch.setattr("ucurve.training.run.trainer.device_peak", lambda *_: 1e12)
    settings = settings_of()
    train_run(settings)
    assert "mfu is of 1 TFLOP/s on each device" in capsys.readouterr().err
    lines = [json.loads(line) for line in (settings.folder / "metrics.jsonl").read_text().splitlines()]
    last = json.loads(max(settings.folder.glob("checkpoints/*/manifest.json")).read_text())
    flops = last["flops_exact"] / last["tokens"]
    assert all(line["mfu"] == pytest.approx(line["tokens_per_second"] * flops / 1e12) for line in lines)
