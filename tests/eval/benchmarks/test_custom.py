import json

import pandas as pd
import pytest

from tests.settings import custom_benchmark, custom_columns
from ucurve.errors import UserError
from ucurve.eval.benchmarks.custom import custom_card
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.run import load_benchmarks
from ucurve.eval.settings import score_settings

ROWS = [
    {"sentence_good": "The cat sits.", "sentence_bad": "The cat sit.", "group": "sv", "weight": 1.5},
    {"sentence_good": "The cats sit.", "sentence_bad": "The cats sits.", "group": "sv", "weight": 2.0},
]


def write(file, rows=ROWS):
    frame = pd.DataFrame(rows)
    if file.suffix == ".jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif file.suffix == ".parquet":
        frame.to_parquet(file)
    else:
        frame.to_csv(file, sep="\t" if file.suffix == ".tsv" else ",", index=False)
    return file


def load_custom(settings):
    return load_benchmark(custom_card(settings))


def columns(**names):
    return custom_columns(**names)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet"])
def test_each_form(tmp_path, suffix):
    file = write(tmp_path / f"agreement{suffix}")
    pairs = load_custom(custom_benchmark(path=file, language="eng"))
    assert pairs["good"].tolist() == ["The cat sits.", "The cats sit."]
    assert pairs["bad"].tolist() == ["The cat sit.", "The cats sits."]
    assert set(pairs["paradigm"]) == {"agreement"}
    assert set(pairs["phenomenon"]) == {"unnamed"}
    assert set(pairs["benchmark"]) == {"custom"}
    assert set(pairs["language"]) == {"eng"}
    assert pairs["weight"].tolist() == [1.5, 2.0]


def test_column_map(tmp_path):
    rows = [{"ok": "x y", "not": "x z", "uid": "p", "class": "c", "start": "x ", "span": "2:3", "span2": "0:3"}]
    named = columns(
        good="ok", bad="not", paradigm="uid", phenomenon="class", condition="start", region_good="span",
        region_bad="span2",
    )  # fmt: skip
    pairs = load_custom(custom_benchmark(path=write(tmp_path / "x.jsonl", rows), name="mine", columns=named))
    ours = ["benchmark", "paradigm", "phenomenon", "good", "bad", "condition", "region_good", "region_bad", "uid"]
    assert pairs.loc[0, ours].tolist() == ["mine", "p", "c", "x y", "x z", "x ", "2:3", "0:3", "p"]


def test_columns_with_our_names_need_no_map(tmp_path):
    rows = [row | {"paradigm": "p", "phenomenon": "q", "condition": "The"} for row in ROWS]
    pairs = load_custom(custom_benchmark(path=write(tmp_path / "x.csv", rows)))
    assert set(pairs["paradigm"] + pairs["phenomenon"]) == {"pq"}


def test_a_column_called_condition_is_one_only_when_it_is_named(tmp_path):
    file = write(tmp_path / "x.csv", [row | {"condition": "The", "counted": 3} for row in ROWS])
    pairs = load_custom(custom_benchmark(path=file))
    assert {"published_condition", "published_counted"} < set(pairs.columns)
    assert not {"condition", "counted"} & set(pairs.columns)
    assert set(load_custom(custom_benchmark(path=file, columns=columns(condition="condition")))["condition"]) == {
        "The"
    }


def test_folder_of_several_forms(tmp_path):
    write(tmp_path / "b.csv")
    write(tmp_path / "a.jsonl")
    (tmp_path / "notes.txt").write_text("no pairs")
    pairs = load_custom(custom_benchmark(path=tmp_path))
    assert pairs["paradigm"].tolist() == ["a", "a", "b", "b"]


def test_a_column_has_one_type_over_all_files(tmp_path):
    write(tmp_path / "a.csv", [ROWS[0] | {"note": "1"}])
    write(tmp_path / "b.csv", [ROWS[1] | {"note": "x"}])
    assert load_custom(custom_benchmark(path=tmp_path))["note"].tolist() == ["1", "x"]


def test_numbers_that_are_sentences_stay_text(tmp_path):
    rows = [{"sentence_good": "12", "sentence_bad": "013", "paradigm": "7"}]
    pairs = load_custom(custom_benchmark(path=write(tmp_path / "x.csv", rows)))
    assert pairs.loc[0, ["good", "bad", "paradigm"]].tolist() == ["12", "013", "7"]


def test_load_benchmark_follows_the_settings_and_the_file(tmp_path):
    custom = custom_benchmark(path=write(tmp_path / "x.csv"))
    assert len(load_custom(custom)) == 2
    write(tmp_path / "x.csv", ROWS[:1])
    assert len(load_custom(custom)) == 1


def test_no_settings():
    with pytest.raises(UserError, match=r"benchmark 'custom': give custom\.path=FILE_OR_FOLDER"):
        load_custom(custom_benchmark())


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"good": "sentence_god"}, r"custom\.columns\.good: no column 'sentence_god' at .*x\.csv:2; the columns are "
                                   r"sentence_good, sentence_bad, group, weight\. Give custom\.columns\.good=sentence_good"),
        ({"good": "g", "bad": "b"}, r"Give custom\.columns\.good=sentence_good custom\.columns\.bad=sentence_bad"),
        ({"paradigm": "groop"}, r"custom\.columns\.paradigm: no column 'groop'.*Give custom\.columns\.paradigm=group"),
        ({"region_bad": "z"}, r"custom\.columns\.region_bad: no column 'z'"),
        ({"bad": "sentence_good"}, r"custom\.columns: good and bad are both 'sentence_good'"),
        ({"condition": "group"}, r"x\.csv:2: the good sentence 'The cat sits\.' must start with its condition 'sv' and go on"),
        ({"region_good": "group"}, r"x\.csv:2: the region 'sv' of '.*' must be FROM:TO, characters with 0 <= FROM < TO <= 13"),
    ],
)  # fmt: skip
def test_wrong_columns(tmp_path, named, message):
    with pytest.raises(UserError, match=message):
        load_custom(custom_benchmark(path=write(tmp_path / "x.csv"), columns=columns(**named)))


@pytest.mark.parametrize("region", ["3:3", "4:2", "0:14", "0-3", "", 5, None])
def test_regions_lie_in_their_sentence(tmp_path, region):
    rows = [ROWS[0] | {"region_good": region}]
    message = r"x\.jsonl:1: the region .* of '.*' must be FROM:TO, characters with 0 <= FROM < TO <= 13"
    with pytest.raises(UserError, match=message):
        load_custom(custom_benchmark(path=write(tmp_path / "x.jsonl", rows)))


def test_default_columns_that_are_not_there(tmp_path):
    message = r"columns\.good: no column 'sentence_good' at .*x\.jsonl:1; the columns are good, bad"
    with pytest.raises(UserError, match=message):
        load_custom(custom_benchmark(path=write(tmp_path / "x.jsonl", [{"good": "a", "bad": "b"}])))


def test_missing_path_names_the_nearest(tmp_path):
    write(tmp_path / "pairs.csv")
    with pytest.raises(UserError, match=r"benchmarks: no file or folder .*pars\.csv\. Did you mean .*pairs\.csv"):
        load_custom(custom_benchmark(path=tmp_path / "pars.csv"))


def test_unknown_suffix(tmp_path):
    (tmp_path / "pairs.docx").write_text("")
    message = r"pairs\.docx: allowed are files that end in \.jsonl, \.json, \.csv, \.tsv, \.parquet, "
    with pytest.raises(UserError, match=message):
        load_custom(custom_benchmark(path=tmp_path / "pairs.docx"))


def test_broken_parquet(tmp_path):
    (tmp_path / "pairs.parquet").write_text("no")
    with pytest.raises(UserError, match=r"pairs\.parquet: not a parquet file"):
        load_custom(custom_benchmark(path=tmp_path / "pairs.parquet"))


def test_parquet_with_dates_and_lists(tmp_path):
    rows = [ROWS[0] | {"when": pd.Timestamp("2024-01-02"), "tags": ["a", "b"]}]
    pairs = load_custom(custom_benchmark(path=write(tmp_path / "x.parquet", rows)))
    assert pairs.loc[0, "when"].startswith("2024-01-02")
    assert json.loads(pairs.loc[0, "tags"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("blimp", "'blimp' is the name of a published benchmark"), ("a/b", "'a/b' is not a name")],
)
def test_name_of_its_own(name, message):
    with pytest.raises(UserError, match=message):
        custom_benchmark(name=name)


def loaded(*names, **keys):
    return load_benchmarks(score_settings(benchmarks=names, custom=custom_benchmark(**keys)))


def test_a_file_of_pairs_is_a_benchmark_by_its_path(tmp_path):
    write(tmp_path / "my pairs.csv")
    (table,) = loaded(str(tmp_path / "my pairs.csv"), language="eng")
    assert (table.loc[0, "benchmark"], table.loc[0, "language"], len(table)) == ("my_pairs", "eng", 2)
    (table,) = loaded(str(tmp_path / "my pairs.csv"), name="mine")
    assert table.loc[0, "benchmark"] == "mine"
    write(tmp_path / "others.csv")
    own, others = loaded(
        str(tmp_path / "my pairs.csv"), str(tmp_path / "others.csv"), columns=columns(paradigm="group")
    )
    assert set(own["benchmark"]) | set(others["benchmark"]) == {"my_pairs", "others"}
    assert own.loc[0, "paradigm"] == "sv"


def test_files_of_pairs_that_are_refused(tmp_path):
    write(tmp_path / "pairs.csv")
    write(tmp_path / "pairs.jsonl")
    with pytest.raises(UserError, match=r"benchmarks: no file or folder .*pars\.csv\. Did you mean .*pairs\.csv"):
        loaded(str(tmp_path / "pars.csv"))
    with pytest.raises(UserError, match=r"two of .*pairs\.csv, .*pairs\.jsonl have one name; rename a file"):
        loaded(str(tmp_path / "pairs.csv"), str(tmp_path / "pairs.jsonl"))
    write(tmp_path / "blimp.csv")
    with pytest.raises(UserError, match="'blimp' is the name of a published benchmark"):
        loaded(str(tmp_path / "blimp.csv"))


def test_unknown_setting():
    with pytest.raises(UserError, match="goood"):
        custom_columns(goood="x")
