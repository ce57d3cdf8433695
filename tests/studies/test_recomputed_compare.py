"""A changed, missing or additional number of a CSV file is found."""

import numpy as np
import pandas as pd
import pytest

from studies.recomputed.compare import Comparison
from studies.recomputed.words import labels

PAGE = pd.DataFrame({"line": ["a", "b"], "tokens": [1e6, 3e6], "p": [0.5, np.nan], "found": ["rises", np.nan]})


def differ(again, page=PAGE):
    comparison = Comparison()
    comparison.tables("some", again, page, ["line", "tokens"])
    return comparison.differ


def test_what_is_alike_up_to_rounding_does_not_differ(capsys):
    again = PAGE.assign(p=[0.500001, np.nan], found=["rises", ""])
    assert differ(again) == 0
    assert "some: 2 rows (p, found), 0 differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("column", "values"), [("p", [0.5001, np.nan]), ("p", [0.5, 0.5]), ("found", ["falls", ""])]
)
def test_a_number_or_word_that_differs_is_found(column, values):
    assert differ(PAGE.assign(found=PAGE["found"].fillna("")).assign(**{column: values})) == 1


def test_rows_on_one_side_are_found():
    assert differ(PAGE[:1]) == 1
    assert differ(PAGE, PAGE[:1]) == 1


@pytest.mark.parametrize(("least", "most", "differs"), [(0.45, 0.55, 0), (0.51, 0.6, 1), (0.3, 0.49, 1)])
def test_what_is_drawn_agrees_within_its_range(least, most, differs):
    again = PAGE.assign(p=[0.52, np.nan], p_least=[least, np.nan], p_most=[most, np.nan])
    assert differ(again) == differs


def test_columns_that_nothing_was_compared_with_are_named_and_differences_end_with_1(capsys):
    comparison = Comparison()
    comparison.tables("some", PAGE[["line", "tokens", "p"]].assign(p=0.1), PAGE, ["line", "tokens"])
    with pytest.raises(SystemExit) as ended:
        comparison.end({"some": PAGE})
    assert ended.value.code == 1
    assert "not computed again, some: found" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("classes", "numbers", "label"),
    [
        (("rising", "rising", "rising"), {}, "rising"),
        (("rising", "U-shaped", "rising"), {}, "rising (these pairs: U-shaped)"),
        (("rising", "rising", "rising"), {"dip": 0.06, "bump": 0.07}, "rising (bulges, unproven)"),
        (("undetermined", "rising", "U-shaped"), {}, "U-shaped (these runs)"),
        (("undetermined", "rising", "undetermined"), {"dip": 0.06}, "rising (these pairs; dips, unproven)"),
        (("undetermined", "undetermined", "undetermined"), {"dip": 0.06}, "undetermined (dips, unproven)"),
        (("undetermined", "rising", "undetermined"), {}, "rising (these pairs)"),
        (("undetermined", "undetermined", "undetermined"), {"these_pairs": True}, "undetermined"),
        (("rising", "rising", "undetermined"), {"these_pairs": True}, "rising (these pairs)"),
        (("undetermined", "undetermined", "rising"), {"these_pairs": True}, "rising (these runs)"),
        (
            ("U-shaped", "rising", "U-shaped"),
            {"runs": 2, "both": True},
            "U-shaped, also inverted-U (2 runs: indicative)",
        ),
        (("falling", "not tested", "falling"), {"runs": 1}, "falling (this run)"),
    ],
)
def test_labels_have_the_widest_class_and_what_is_shown_beside_it(classes, numbers, label):
    names = ("class", "class_these_pairs", "class_these_runs")
    row = {"runs": 3, "dip": 0.01, "bump": 0.01, "both": False, "these_pairs": False}
    assert labels(pd.DataFrame([row | dict(zip(names, classes, strict=True)) | numbers])) == [label]
