"""What the comparison with mgcv writes for R and reads from it; R itself is replaced by a script."""

import numpy as np
import pandas as pd
import pytest

from measurements.shapes.mgcv import agreement, ask_mgcv, count_right, name_class, read_answers
from ucurve.analysis.data.pair_scores import Items

NAN = float("nan")
ANSWERS = """"curve","runs","edf","dispersion","critical","first_fall","last_fall","first_rise","last_rise","lowest","lowest_at"
"BA",3,9.5,2.1,3.0,3,4,5,6,0.25,4.5
"all",3,4.2,1.1,2.9,NA,NA,3,6,0.5,3
"""


def _items(run, half_points):
    pairs = pd.DataFrame({"phenomenon": ["BA", "BA", "passive"]})
    steps = np.arange(len(half_points))
    return Items(run, steps, 100.0 * steps, np.array(half_points, dtype=np.uint8), pairs)


@pytest.fixture
def rscript(tmp_path, monkeypatch):
    """A program in place of R's, which is the only one there is beside those of the shell."""

    def write(*commands):
        program = tmp_path / "Rscript"
        program.write_text("\n".join(["#!/bin/sh", *commands]) + "\n")
        program.chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path))
    return write


def test_right_answers_are_counted_by_run_at_trained_checkpoints():
    members = [_items("s0", [[2, 2, 2], [2, 1, 0], [0, 0, 2]]), _items("s1", [[0, 0, 0], [2, 2, 2], [0, 2, 0]])]
    table = count_right(members, "BA")
    assert table["curve"].unique().tolist() == ["BA"]
    assert table["run"].tolist() == ["s0", "s0", "s1", "s1"]
    assert table["log_tokens"].tolist() == pytest.approx([2, np.log10(200)] * 2)
    assert table[["right", "pairs"]].values.tolist() == [[1.5, 2], [0, 2], [2, 2], [1, 2]]
    assert count_right(members, "all")[["right", "pairs"]].values.tolist() == [[1.5, 3], [1, 3], [3, 3], [1, 3]]


@pytest.mark.parametrize(
    ("places", "shape"),
    [
        ((3, 4, 5, 6), "U-shaped"),
        ((5, 6, 3, 4), "inverted-U"),
        ((4, 5, 3, 6), "U-shaped and inverted-U"),
        ((NAN, NAN, 3, 4), "rising"),
        ((3, 4, NAN, NAN), "falling"),
        ((NAN, NAN, NAN, NAN), "undetermined"),
    ],
)
def test_a_turn_is_a_sure_fall_before_a_sure_rise_or_after_it(places, shape):
    assert name_class(*places) == shape


def test_agreement_names_the_scopes_of_equal_classes():
    classes = {"other pairs and seeds": "undetermined", "these pairs": "rising", "these runs": "U-shaped"}
    assert agreement("rising", classes) == "these pairs"
    assert agreement("U-shaped and inverted-U", classes) == "these runs"
    assert agreement("falling", classes) == "none"


def test_counts_go_to_r_as_csv_and_its_answers_come_back(rscript):
    rscript('read -r header < "$3"', '[ "$header" = curve,right ] || exit 1', f"printf '%s' '{ANSWERS}' > \"$4\"")
    answers = ask_mgcv(pd.DataFrame({"curve": ["BA"], "right": [1.5]})).set_index("curve")
    assert answers["mgcv"].to_dict() == {"BA": "U-shaped", "all": "rising"}
    assert answers.loc["BA", ["first_fall", "lowest_at"]].tolist() == pytest.approx([1000, 10**4.5])
    assert np.isnan(answers.loc["all", "first_fall"])


def test_answers_without_any_place_are_read(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(ANSWERS.splitlines()[0] + '\n"BA",1,2,1,3,NA,NA,NA,NA,0.5,3\n')
    assert read_answers(path)["mgcv"].tolist() == ["undetermined"]


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        (None, "Rscript is not there; install R and mgcv"),
        (["exit 3"], "R has no package mgcv; install it"),
        (["echo 'no such column' >&2", "exit 1"], "Rscript ended with status 1:\nno such column"),
    ],
)
def test_without_r_or_mgcv_the_comparison_ends_with_a_message(rscript, capsys, commands, message):
    if commands:
        rscript(*commands)
    with pytest.raises(SystemExit) as ended:
        ask_mgcv(pd.DataFrame({"curve": ["BA"]}))
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
