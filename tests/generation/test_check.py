import json

import pytest

from ucurve.errors import UserError
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import find_benchmark
from ucurve.generation.check import check_folder, find_broken


@pytest.fixture
def folder(tmp_path):
    def make(pairs, card="name: mine\nlanguage: eng\ncolumns: {paradigm: UID}\n", name="mine"):
        (tmp_path / name).mkdir()
        lines = [
            json.dumps({"UID": uid, "phenomenon": "f", "sentence_good": good, "sentence_bad": bad})
            for uid, good, bad in pairs
        ]
        (tmp_path / name / "pairs.jsonl").write_text("\n".join(lines))
        if card:
            (tmp_path / name / "card.yaml").write_text(card)
        return tmp_path / name

    return make


def test_faults_of_all_pairs_are_counted_and_placed(folder, run_command):
    made = folder([("a", "x", "y"), ("a", "x", "z"), ("b", "x", "y"), ("b", "q", "q"), ("b", "y", "x")])
    code, text, _ = run_command("generate", f"check={made}")
    assert code == 0
    rows = {
        line.split("  ")[0]: line.split()
        for line in text.splitlines()
        if line.startswith(("the two", "a good", "a pair", "no bad"))
    }
    assert rows["the two sentences differ"][-7:] == ["1", "5", "b:", "1,", "first", "pair", "3"]
    assert rows["a good sentence stands once in its paradigm"][-7:] == [
        "1",
        "5",
        "a:",
        "1,",
        "first",
        "pair",
        "1",
    ]
    assert rows["a pair stands in one paradigm"][-7:] == ["1", "5", "b:", "1,", "first", "pair", "2"]
    assert rows["no bad sentence is a good one of its paradigm"][-7:] == [
        "3",
        "5",
        "b:",
        "3,",
        "first",
        "pair",
        "2",
    ]


def test_a_pair_can_be_asked_what_it_breaks(folder):
    made = folder([("a", "x", "y"), ("a", "x", "z"), ("b", "q", "q")])
    broken = find_broken(load_benchmark(find_benchmark(str(made))), None)
    assert {name: column.tolist() for name, column in broken.items()} == {
        "the two sentences differ": [False, False, True],
        "a good sentence stands once in its paradigm": [False, True, False],
        "a pair stands in one paradigm": [False, False, False],
        "no bad sentence is a good one of its paradigm": [False, False, True],
    }


def test_a_published_benchmark_is_known_by_the_name_of_its_folder(shared):
    text = check_folder(shared / "benchmarks" / "zhoblimp-excluded")
    assert text.startswith("zhoblimp-excluded: 3,300 pairs")


def test_folders_that_are_no_benchmark(folder, tmp_path):
    with pytest.raises(UserError, match=r"benchmark: no folder .*mien.*Did you mean .*mine'"):
        folder([("a", "x", "y")])
        check_folder(tmp_path / "mien")
    with pytest.raises(
        UserError, match=r"holds no card.yaml, and 'other' is not the name of a published benchmark"
    ):
        check_folder(folder([("a", "x", "y")], card="", name="other"))
