import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from ucurve.errors import UserError
from ucurve.eval.benchmarks.card import Expected
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import find_benchmark
from ucurve.eval.sweep.load import SweepCache


def test_local_files_in_order_of_names(tmp_path, records, write_benchmark):
    pairs = load_benchmark("zhoblimp", write_benchmark(tmp_path, records))
    assert len(pairs) == len(records)
    assert pairs["paradigm"].drop_duplicates().tolist() == [f"paradigm_{number}" for number in range(5)]
    assert pairs["pairID"].tolist()[:3] == [0, 5, 10]


def test_says_when_pairs_are_not_as_many_as_published(tmp_path, records, write_benchmark, capsys):
    load_benchmark("zhoblimp", write_benchmark(tmp_path, records[:7]))
    assert "zhoblimp: 7 pairs; the published benchmark has 35400" in capsys.readouterr().err


def test_says_when_paradigms_are_not_as_many_as_published(tmp_path, records, write_benchmark, capsys):
    card = replace(find_benchmark("zhoblimp"), expected=Expected(pairs=9, paradigms=118))
    load_benchmark(card, write_benchmark(tmp_path, records[:9]))
    assert capsys.readouterr().err == "zhoblimp: 5 paradigms; the published benchmark has 118\n"


def test_only_a_changed_file_is_read_again(tmp_path, records, write_benchmark):
    root, cache, card = write_benchmark(tmp_path, records[:5]), SweepCache(), find_benchmark("zhoblimp")
    first = cache.benchmark(card, root)
    del first["good"]
    assert "good" in cache.benchmark(card, root)
    assert cache.made == {"pairs of zhoblimp": 1}
    write_benchmark(root, records[:10])
    assert len(cache.benchmark(card, root)) == 10
    assert cache.made == {"pairs of zhoblimp": 2}


@pytest.mark.parametrize("name", ["zhoblimp", "demo"])
def test_missing_root(tmp_path, name):
    with pytest.raises(UserError, match=r"benchmark_root: no folder .*nowhere"):
        load_benchmark(name, tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("zhoblimp2", r"no folder .*zhoblimp; .* holds zhoblimp2\. Did you mean .*zhoblimp2"),
        ("zhoblimp", r"no \*\.jsonl files in .*zhoblimp"),
    ],
)
def test_missing_folder_names_the_nearest_and_one_without_files_the_pattern(tmp_path, folder, message):
    (tmp_path / folder).mkdir()
    with pytest.raises(UserError, match=message):
        load_benchmark("zhoblimp", tmp_path)


def test_hub_parts_are_read_in_order(monkeypatch, records):
    parts = {"b": records[1:2], "a": records[:1]}
    hub = SimpleNamespace(
        get_dataset_config_names=lambda _, **__: list(parts), load_dataset=lambda _, part, **__: parts[part]
    )
    monkeypatch.setitem(sys.modules, "datasets", hub)
    monkeypatch.setattr("ucurve.eval.benchmarks.load.find_commit", lambda *_: "c0ffee")
    pairs = load_benchmark("zhoblimp", None)
    assert pairs["pairID"].tolist() == [0, 1]
    assert pairs.attrs["commit"] == "c0ffee"


def test_hub_out_of_reach(monkeypatch):
    def fail(source, revision):
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr("ucurve.eval.benchmarks.load.find_commit", lambda *_: "c0ffee")
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(get_dataset_config_names=fail))
    with pytest.raises(
        UserError, match=r"could not be fetched .* \(ConnectionError: no route\); give benchmark_root="
    ):
        load_benchmark("zhoblimp")


def test_demo_needs_no_files_and_no_root():
    pairs = load_benchmark("demo")
    assert pairs["paradigm"].nunique() >= 15
    assert pairs["phenomenon"].nunique() >= 8
    assert not (pairs["good"] == pairs["bad"]).any()


def test_demo_folder_comes_first(tmp_path, records, write_benchmark):
    root = write_benchmark(tmp_path, records[:5], name="demo")
    assert load_benchmark("demo", root)["good"].iloc[0] == records[0]["sentence_good"]
