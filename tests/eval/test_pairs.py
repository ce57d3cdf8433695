import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ucurve.errors import UserError
from ucurve.eval.pairs import (
    PAIR_COLUMNS,
    Subset,
    data_hash,
    full_name,
    identical,
    pair_table,
    parse_json_lines,
    parse_subset,
    score_arguments,
    subset_pairs,
)


def record(**changes):
    return {"UID": "a", "phenomenon": "p", "sentence_good": "好", "sentence_bad": "坏", "pairID": 7} | changes


def table(*records, **options):
    return pair_table(((f"f.jsonl:{line}", item) for line, item in enumerate(records, 1)), "b", "zho", **options)


def test_columns_and_numbers():
    pairs = table(record(), record(sentence_good="行", extra=[1, 2]))
    assert tuple(pairs.columns) == (*PAIR_COLUMNS, "pairID", "extra")
    assert pairs["pair"].tolist() == [0, 1]
    assert pairs["pair"].dtype == np.int64
    assert pairs.loc[1, ["benchmark", "language", "paradigm", "phenomenon", "good", "bad"]].tolist() == [
        "b", "zho", "a", "p", "行", "坏",
    ]  # fmt: skip
    assert pairs["pairID"].tolist() == [7, 7]


def test_other_keys():
    published = {"id": "a", "field": "p", "right": "x", "wrong": "y", "pair": 3}
    pairs = table(published, keys=("id", "field", "right", "wrong"))
    assert pairs.loc[0, "good"] == "x"
    assert pairs.loc[0, "published_pair"] == 3


def test_phenomenon_may_be_empty_but_not_in_the_table():
    assert table(record(phenomenon="")).loc[0, "phenomenon"] == "unnamed"


def test_column_of_several_kinds_is_stored_as_json(tmp_path):
    pairs = table(record(note=1), record(note="x"), record(note=[2]), record())
    pairs.to_parquet(tmp_path / "pairs.parquet")
    assert pd.read_parquet(tmp_path / "pairs.parquet")["note"].tolist()[:3] == ["1", '"x"', "[2]"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sentence_good": " "}, r"f\.jsonl:2: 'sentence_good' is empty"),
        ({"sentence_bad": ""}, r"f\.jsonl:2: 'sentence_bad' is empty"),
        ({"UID": ""}, r"f\.jsonl:2: 'UID' is empty"),
        ({"sentence_good": 3}, r"f\.jsonl:2: 'sentence_good' must be text, not 3"),
        (
            {"UID": "macro"},
            r"f\.jsonl:2: 'UID' is 'macro', a name kept for aggregates \(all, macro, macro_phenomena\)",
        ),
        ({"phenomenon": "all"}, r"f\.jsonl:2: 'phenomenon' is 'all', a name kept"),
        ({"phenomenon": " all"}, r"f\.jsonl:2: 'phenomenon' is ' all', a name kept"),
    ],
)
def test_broken_record_names_its_line(changes, message):
    with pytest.raises(UserError, match=message):
        table(record(), record(**changes))


def test_missing_key_names_the_nearest():
    broken = record()
    broken["sentence_god"] = broken.pop("sentence_good")
    with pytest.raises(UserError, match=r"f\.jsonl:1: no key 'sentence_good'.*Did you mean 'sentence_god'\?"):
        table(broken)


def test_no_pairs():
    with pytest.raises(UserError, match="benchmark 'b' has no pairs"):
        table()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"UID": ', r"x\.jsonl:3: not JSON"),
        (b"[" * 100_000, r"x\.jsonl:3: not JSON \(maximum recursion"),
        (b"[1]", r"x\.jsonl:3: a JSON object is expected, with one pair; this is a list"),
        (b'{"UID": "\xff"}', r"x\.jsonl:3: not UTF-8"),
        (b'{"UID": "\\ud800"}', r"x\.jsonl:3: '\\ud800' is half a character"),
        (
            b'{"a": 1, "b": 2, "a": 3}',
            r"x\.jsonl:3: the key 'a' occurs twice in one object, \('a', 1\), \('b', 2\)",
        ),
        (b'{"m": {"a": 1, "a": 1}}', r"x\.jsonl:3: the key 'a' occurs twice in one object"),
        (
            b'{"a": -' + b"7" * 5000 + b"}",
            r"x\.jsonl:3: an integer of 5,001 digits, -777+\.\.\.; at most 4,300 are read",
        ),
    ],
)
def test_broken_line_names_file_and_line(tmp_path, line, message):
    (tmp_path / "x.jsonl").write_bytes(b'{"a": 1}\n\n' + line + b"\n")
    with pytest.raises(UserError, match=message):
        parse_json_lines((tmp_path / "x.jsonl").read_bytes(), "x.jsonl")


def test_lines_end_at_newlines_only(tmp_path):
    (tmp_path / "x.jsonl").write_text('\ufeff{"a": "one\u2028two"}\r\n\n{"a": "three"}', encoding="utf-8")
    places, records = zip(*parse_json_lines((tmp_path / "x.jsonl").read_bytes(), "x.jsonl"), strict=True)
    assert [item["a"] for item in records] == ["one\u2028two", "three"]
    assert [place.rpartition(":")[2] for place in places] == ["1", "3"]


def test_identical():
    assert identical(table(record(), record(sentence_bad="好"))).tolist() == [False, True]


def test_data_hash_follows_every_value_and_survives_storage(tmp_path):
    pairs = table(record(spans=[1, 2]), record(sentence_good="行", spans=[3]))
    pairs.to_parquet(tmp_path / "pairs.parquet", index=False)
    assert data_hash(pd.read_parquet(tmp_path / "pairs.parquet")) == data_hash(pairs)
    changed = {
        data_hash(pairs.assign(**{name: pairs[name].iloc[::-1].tolist()})) for name in ("pair", "good", "spans")
    }
    assert len(changed | {data_hash(pairs)}) == 4


COLUMNS = {
    "lists": ([[1, 2], [0.5], []], ["[1, 2]", "[0.5]", "[]"]),
    "objects": ([{}, {"a": 1}, {"b": 2.5}], ["{}", '{"a": 1}', '{"b": 2.5}']),
    "several kinds": ([1, "x", None], ["1", '"x"', None]),
    "truth with missing": ([True, None, False], [True, None, False]),
    "truth and numbers": ([True, 1, 0], ["true", "1", "0"]),
    "integers with missing": ([2**62 + 1, None, 3], [2**62 + 1, None, 3]),
    "large integers": ([2**70, 1, -(2**63) - 1], [str(2**70), "1", str(-(2**63) - 1)]),
    "large integers and fractions": ([2**53 + 1, 0.5, None], [str(2**53 + 1), "0.5", None]),
    "numbers": ([1, 0.5, None], [1.0, 0.5, None]),
    "no number in a list": ([[float("nan")], [1], None], ["[NaN]", "[1]", None]),
    "text with missing": (["x", None, "y"], ["x", None, "y"]),
    "nothing": ([None, None, None], [None, None, None]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_published_values_survive_storage(tmp_path, name):
    values, wanted = COLUMNS[name]
    pairs = table(*(record(extra=value) for value in values))
    pairs.to_parquet(tmp_path / "pairs.parquet", index=False)
    stored = pd.read_parquet(tmp_path / "pairs.parquet")
    assert [None if pd.isna(value) else value for value in stored["extra"].tolist()] == wanted
    assert data_hash(stored) == data_hash(pairs)


def test_a_key_that_some_records_lack_survives_storage(tmp_path):
    pairs = table(record(), record(spans=[{"from": 1}]), record(flag=True), record(count=3))
    pairs.to_parquet(tmp_path / "pairs.parquet", index=False)
    assert data_hash(pd.read_parquet(tmp_path / "pairs.parquet")) == data_hash(pairs)
    assert json.loads(pairs.loc[1, "spans"]) == [{"from": 1}]


def paradigms(**sizes):
    items = [
        record(UID=name, sentence_good=f"{name} {item}") for name, size in sizes.items() for item in range(size)
    ]
    return table(*items)


def test_subset_keeps_numbers_and_whole_small_paradigms():
    pairs = paradigms(a=50, b=3, c=10)
    subset = subset_pairs(pairs, 5)
    assert subset.groupby("paradigm").size().to_dict() == {"a": 5, "b": 3, "c": 5}
    assert subset["pair"].is_monotonic_increasing
    whole = pairs.set_index("pair").loc[subset["pair"]].reset_index()
    pd.testing.assert_frame_equal(subset, whole[subset.columns])


def test_subset_of_a_paradigm_does_not_depend_on_the_others():
    alone, among = subset_pairs(paradigms(b=40), 7), subset_pairs(paradigms(a=13, b=40, c=2), 7)
    assert alone["good"].tolist() == among.loc[among["paradigm"] == "b", "good"].tolist()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 5))
def test_smaller_subset_is_part_of_a_larger_one(size, more, seed):
    pairs = paradigms(a=20, b=9)
    smaller, larger = (set(subset_pairs(pairs, count, seed)["pair"]) for count in (size, size + more))
    assert smaller <= larger
    assert smaller == set(subset_pairs(pairs, size, seed)["pair"])


def test_subset_follows_the_seed():
    pairs = paradigms(a=60)
    assert subset_pairs(pairs, 10, 0)["pair"].tolist() != subset_pairs(pairs, 10, 1)["pair"].tolist()


def test_subset_of_nothing():
    with pytest.raises(UserError, match="subset: got 0; give the number of pairs of each paradigm, at least 1"):
        subset_pairs(paradigms(a=2), 0)


def test_same_paradigm_name_in_two_phenomena_counts_twice():
    pairs = table(*(record(phenomenon=phenomenon) for phenomenon in "pq" for _ in range(4)))
    assert len(subset_pairs(pairs, 3)) == 6


def test_the_first_pairs_of_each_paradigm_are_those_published_first():
    pairs = paradigms(a=7, b=3).sample(frac=1, random_state=0)  # paradigms that are mixed in the file
    first = subset_pairs(pairs, 5, first=True)
    wanted = {name: part["pair"].tolist()[:5] for name, part in pairs.groupby("paradigm")}
    assert {name: part["pair"].tolist() for name, part in first.groupby("paradigm")} == wanted
    assert [len(numbers) for numbers in wanted.values()] == [5, 3]
    with pytest.raises(UserError, match="subset: got 0"):
        subset_pairs(pairs, 0, first=True)


def test_names_of_subsets_tell_a_draw_from_the_first_pairs():
    names = [Subset(20).name("multiblimp/nld"), Subset(20, first=True).name("multiblimp/nld")]
    assert names == ["multiblimp/nld@20", "multiblimp/nld@first20"]
    assert {full_name(name) for name in (*names, "multiblimp/nld")} == {"multiblimp/nld"}


@pytest.mark.parametrize("subset", [100, "first:100"])
def test_a_benchmark_is_asked_for_by_its_name_and_subset(subset):
    assert score_arguments("multiblimp/nld") == "benchmarks=multiblimp/nld"
    assert score_arguments(parse_subset(subset).name("tse/hin")) == f"benchmarks=tse/hin subset={subset}"
