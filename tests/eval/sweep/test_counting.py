from types import SimpleNamespace

import pytest

from ucurve.eval.sweep.compute import _counting


@pytest.mark.parametrize(
    ("run", "revision", "step", "note"),
    [
        (None, None, -1, "demo pll"),
        (None, "step512", 512, "step512 demo pll"),
        ("runs/a", None, 8, "step 8 demo pll"),
    ],
)
def test_the_bar_has_the_step_of_a_run_and_the_revision_of_a_model(run, revision, step, note):
    target = SimpleNamespace(run=run, revision=revision, step=step)
    job = SimpleNamespace(target=target, benchmark="demo", scorer=SimpleNamespace(name="pll"))
    said = []
    bar = SimpleNamespace(advance=lambda units, note: said.append((units, note)))
    with _counting(job, bar, None) as advance:
        advance(2)
    assert said == [(2, note)]
