"""Every loader on small files in the form its benchmark is published in."""

import csv
import io
import json
import sys
from types import SimpleNamespace

import pytest

from tests.archives import zipped
from ucurve.errors import UserError
from ucurve.eval.benchmarks.load import load_benchmark


@pytest.fixture
def write(tmp_path):
    def write(path, text):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path

    return write


def jsonl(*records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def table(rows, **options):
    text = io.StringIO()
    csv.writer(text, **options).writerows(rows)
    return text.getvalue()


def test_blimp(write):
    record = {"sentence_good": "a", "sentence_bad": "b", "field": "syntax", "UID": "u"}
    root = write(
        "blimp/u.jsonl", jsonl(record | {"linguistics_term": "s-selection"}, record | {"linguistics_term": "x"})
    )
    pairs = load_benchmark("blimp", root)
    assert pairs["phenomenon"].tolist() == ["argument_structure", "x"]
    assert pairs["linguistics_term"].tolist() == ["s-selection", "x"]


def test_sling_in_folders_with_two_spellings(write):
    lower = {"sentence_good": "好", "sentence_bad": "坏", "phenomenon": "Aspect", "paradigm": "p", "pair_ID": 3}
    upper = {"sentence_good": "好", "sentence_bad": "坏", "Phenomenon": "Reflexive_auto", "Paradigm": "p"}
    write("sling/Anaphor/reflexive_auto/animacy.jsonl", jsonl(upper | {"pair_ID": "4"}))
    pairs = load_benchmark("sling", write("sling/Aspect/zai_le.jsonl", jsonl(lower)))
    assert pairs["paradigm"].tolist() == ["animacy", "zai_le"]
    assert pairs["phenomenon"].tolist() == ["Reflexive_auto", "Aspect"]
    assert pairs["published_paradigm"].tolist() == ["p", "p"]
    assert pairs["pair_ID"].tolist() == [4, 3]
    assert pairs["counted"].tolist() == [False, True]


RUBLIMP = ["id", "source_sentence", "target_sentence", "phenomenon", "PID", "subtype", "tree_depth"]


def test_rublimp(write):
    rows = [RUBLIMP, [7, 'Он сказал: "Да, нет".', "Он", "Tense", "p", "p_simple", 3]]
    pairs = load_benchmark("rublimp", write("rublimp/p.csv", table(rows)))
    assert pairs.loc[0, ["good", "paradigm", "phenomenon", "PID", "subtype", "id", "tree_depth"]].tolist() == [
        'Он сказал: "Да, нет".', "p", "Tense", "p", "p_simple", 7, 3,
    ]  # fmt: skip


def test_a_large_column_of_numbers_stays_exact(write):
    rows = [RUBLIMP, ["007", "a", "b", "c", "d", "", 10**17], ["1", "a", "b", "c", "d", "", ""]]
    pairs = load_benchmark("rublimp", write("rublimp/p.csv", table(rows)))
    assert pairs["tree_depth"].tolist()[0] == 10**17
    assert pairs["tree_depth"].isna().tolist() == [False, True]


def test_a_code_with_leading_zeros_stays_text(write):
    rows = [RUBLIMP, [1, "a", "b", "c", "d", "007", 1]]
    assert load_benchmark("rublimp", write("rublimp/p.csv", table(rows)))["subtype"].tolist() == ["007"]


def swe_blimp(*blocks):
    rows = [["phenomenon", "sentence_good", "sentence_bad"]]
    rows += [
        [name, f"{word} {number}", f"{number} {word}"] for name, word, size in blocks for number in range(size)
    ]
    return table(rows, delimiter=";")


def test_swe_blimp_counts_the_last_of_two_blocks(write):
    root = write(
        "swe-blimp/swe_blimp_v1.csv", swe_blimp(("E", "first", 3), ("V3", "other", 12), ("E", "second", 11))
    )
    pairs = load_benchmark("swe-blimp", root)
    assert pairs["paradigm"].tolist() == ["E"] * 3 + ["V3"] * 12 + ["E"] * 11
    assert pairs["good"].iloc[15] == "second 0"
    assert pairs["handmade"].tolist() == [True] * 13 + [False] * 2 + [True] * 10 + [False]
    assert pairs["counted"].tolist() == [False] * 3 + [True] * 23


def test_jblimp(write):
    records = [
        {"ID": 0, "good_sentence": "良い。", "bad_sentence": "悪い。", "type": "acceptability",
         "phenomenon": "binding", "phenomenon-2": second, "paradigm": "anaphor"}
        for second in (None, "filler-gap")
    ]  # fmt: skip
    write("jblimp/data/raw/raw_minimal_pairs.jsonl", jsonl({"ID": 9}))
    pairs = load_benchmark(
        "jblimp", write("jblimp/data/validated/validated_minimal_pairs.jsonl", jsonl(*records))
    )
    assert pairs.loc[0, ["good", "bad", "paradigm", "phenomenon", "type"]].tolist() == [
        "良い。", "悪い。", "anaphor", "binding", "acceptability",
    ]  # fmt: skip
    assert pairs["phenomenon-2"].fillna("").tolist() == ["", "filler-gap"]


MULTIBLIMP = ["", "sen", "wrong_sen", "phenomenon", "feature_vals", "distance", "has_attractors", "cop"]


@pytest.mark.parametrize("path", ["multiblimp/nld/data.tsv", "multiblimp/nld.tsv"])
def test_multiblimp(write, path):
    rows = [
        MULTIBLIMP,
        [0, 'Zij zei: "wij lopen".', 'Zij zei: "wij loopt".', "SV-#", "PL -> SG", 1, True, ""],
        [1, "Hij loopt", "Hij lopen", "SV-#", "SG -> PL", -2, False, "is"],
    ]
    pairs = load_benchmark("multiblimp/nld", write(path, table(rows, delimiter="\t")))
    assert pairs["good"].tolist() == ['Zij zei: "wij lopen".', "Hij loopt"]
    assert pairs["paradigm"].tolist() == ["SV-# PL -> SG SV", "SV-# SG -> PL VS"]
    assert pairs["phenomenon"].tolist() == ["SV-#", "SV-#"]
    assert pairs["distance"].tolist() == [1, -2]
    assert pairs["has_attractors"].tolist() == [True, False]
    assert pairs["column_1"].tolist() == [0, 1]
    assert set(pairs["benchmark"]) == {"multiblimp/nld"}
    assert set(pairs["language"]) == {"nld"}


def test_blimp_nl_with_and_without_columns(write):
    record = {"sentence_good": "Ik zag mezelf.", "sentence_bad": "Ik zag jezelf."}
    root = write("blimp-nl/anaphor_agreement__person.jsonl", jsonl(record))
    assert load_benchmark("blimp-nl", root)[["phenomenon", "paradigm"]].to_numpy().tolist() == [
        ["anaphor_agreement", "person"]
    ]
    named = record | {"linguistic_phenomenon": "Anaphor", "paradigm": "number", "item_id": 4}
    pairs = load_benchmark("blimp-nl", write("blimp-nl/anaphor_agreement__person.jsonl", jsonl(named)))
    assert pairs.loc[0, ["phenomenon", "paradigm", "item_id"]].tolist() == ["Anaphor", "number", 4]


def test_blimp_nl_as_csv(write):
    rows = [["sentence_good", "sentence_bad"], ["Ik zag mezelf.", "Ik zag jezelf."]]
    pairs = load_benchmark("blimp-nl", write("blimp-nl/a__b.csv", table(rows)))
    assert pairs.loc[0, ["phenomenon", "paradigm", "good"]].tolist() == ["a", "b", "Ik zag mezelf."]


@pytest.mark.parametrize("folder", ["de_evalset", "deu"])
def test_clams(write, folder):
    text = (
        "True\tdie Bauern sind alt\nFalse\tdie Bauern ist alt\nTrue\tdie Bauern lachen\nFalse\tdie Bauern lacht\n"
    )
    pairs = load_benchmark("clams/deu", write(f"clams/{folder}/simple_agrmt.txt", text))
    assert pairs[["good", "bad"]].to_numpy().tolist() == [
        ["die Bauern sind alt", "die Bauern ist alt"],
        ["die Bauern lachen", "die Bauern lacht"],
    ]
    assert set(pairs["paradigm"]) == {"simple_agrmt"}
    assert set(pairs["phenomenon"]) == {"subject_verb_agreement"}


def test_clams_english_has_more_phenomena(write):
    for name in ("simple_npi_anim", "reflexives_across", "subj_rel"):
        root = write(f"clams/en_evalset/{name}.txt", "True\ta\r\nFalse\tb\nFalse\tc")
    pairs = load_benchmark("clams/eng", root)
    assert pairs["bad"].tolist() == ["b", "c"] * 3
    assert pairs.drop_duplicates("paradigm")["phenomenon"].tolist() == [
        "reflexive_anaphora",
        "npi_licensing",
        "subject_verb_agreement",
    ]


def test_suites(write):
    pairs = [[["Mutilari ananak gustatu"] * 2, ["zaizkio.", "zaio."]]]
    table = load_benchmark("tse/eus", write("tse/basque-IO-IO_S_V_AUX.json", json.dumps(pairs)))
    row = table.loc[
        0, ["good", "bad", "condition", "target_good", "target_bad", "paradigm", "phenomenon"]
    ].tolist()
    assert row == [
        "Mutilari ananak gustatu zaizkio.", "Mutilari ananak gustatu zaio.", "Mutilari ananak gustatu",
        "zaizkio.", "zaio.", "IO-IO_S_V_AUX", "IO agreement",
    ]  # fmt: skip


CLIMP = table([["phenomenon", "paradigm", "sentence", "label"],
               ["coverb", "coverb_with", "王鑫跟李四跑步", 1], ["coverb", "coverb_with", "王鑫用李四跑步", 0]])  # fmt: skip
CLIMP_BARE = table([["ba construction", "ba", "王鑫把书看了"], ["ba construction", "ba", "王鑫被书看了"]])


def check_climp(pairs):
    assert pairs[["paradigm", "phenomenon", "good", "bad"]].to_numpy().tolist() == [
        ["ba_construction", "ba_construction", "王鑫把书看了", "王鑫被书看了"],
        ["coverb_with", "coverb", "王鑫跟李四跑步", "王鑫用李四跑步"],
    ]
    assert pairs["label_good"].tolist()[1] == 1
    assert pairs["published_phenomenon"].tolist()[0] == "ba construction"


def test_climp_unpacked(write):
    write("climp/CLiMP_corpus/ba_construction_1000.csv", CLIMP_BARE)
    check_climp(load_benchmark("climp", write("climp/CLiMP_corpus/coverb_with_1000.csv", CLIMP)))


def test_climp_in_its_zip(write):
    packed = zipped([
        ("CLiMP_corpus/coverb_with_1000.csv", CLIMP), ("CLiMP_corpus/ba_construction_1000.csv", CLIMP_BARE),
        ("__MACOSX/CLiMP_corpus/._coverb_with_1000.csv", b"\x00\xff"),
    ])  # fmt: skip
    check_climp(load_benchmark("climp", write("climp/CLiMP_corpus.zip", packed)))


BROKEN = {
    ("rublimp", "rublimp/p.csv"): [
        (table([RUBLIMP, [1, "a", "b"]]), r"p\.csv:2: 3 fields; the header has 7: id, source_sentence"),
        (table([RUBLIMP, [1, "a\nb", "b", "c", "d", "e", 1], [1]]), r"p\.csv:2: a quotation mark begins a field"),
        (table([RUBLIMP, [1, "", "b", "c", "d", "e", 1]]), r"p\.csv:2: 'source_sentence' is empty"),
        (table([["a", "a"]]), r"p\.csv:1: two columns are named 'a'"),
        (table([["PID"], ["p"]]), r"p\.csv:2: no key 'phenomenon'; the keys are PID"),
        ('PID\n"a"b\n', r"p\.csv:2: not a table with ',' between fields"),
        ('PID\na\n"a\n', r"p\.csv:3: a quotation mark begins a field that does not end on its line"),
        (b"PID\n\xff\n", r"p\.csv:2: not UTF-8"),
        ("PID\n", r"'rublimp' has no pairs in .*rublimp"),
    ],
    ("clams/fra", "clams/fr_evalset/x.txt"): [
        ("True\ta\nTrue\tb\nFalse\tc\n", r"x\.txt:1: a sentence without its partner"),
        ("False\ta\n", r"x\.txt:1: a sentence without its partner"),
        ("True\ta\nFalse\tb\n\nTrue\tc\n", r"x\.txt:4: a sentence without its partner"),
        ("True a\n", r"x\.txt:1: 'label' is 'True a'; allowed: 'True', 'False'"),
        ("true\ta\n", r"x\.txt:1: 'label' is 'true'; allowed: 'True', 'False'"),
        ("True\ta\nFalse\t \n", r"x\.txt:2: the sentence is empty"),
        ("", r"fr_evalset/x\.txt: the file is empty; at least one pair is expected"),
    ],
    ("tse/hin", "tse/hindi-S_O_V.json"): [
        (
            '[[["a", "b"], ["c", "d"]]]',
            r"hindi-S_O_V\.json:pair 1: the same text is expected in 0\.0, 0\.1, not 'a', 'b'",
        ),
        ('[[["a", "a"], ["c", "d"]], [["a", "a"], ["c"]]]', r"hindi-S_O_V\.json:pair 2: "),
        ('[[["a", "a"], ["c", " "]]]', r"pair 1: the bad sentence 'a  ' must start with its condition 'a' and go on"),
        ('[\n[["a",', r"hindi-S_O_V\.json:2: not JSON"),
        ("[" * 100_000, r"hindi-S_O_V\.json: not JSON \(maximum recursion"),
        ("{}", r"hindi-S_O_V\.json:1: an array of pairs is expected, not dict"),
        ("[]", r"'tse/hin' has no pairs"),
    ],
    ("climp", "climp/x.csv"): [
        (CLIMP + "coverb,coverb_with,王鑫,1\n", r"x\.csv:4: a sentence without its partner"),
        ("a,b,王鑫,1\na,b,李四,1\n", r"x\.csv:1: both rows of the pair have 'label' '1'"),
        ("a,b,王鑫,1\na,b,李四\n", r"x\.csv:2: 3 fields; the header has 4: phenomenon"),
        (
            "h,i,j\na,b,none\na,b,李四\n",
            r"x\.csv:2: no field that .* matches is the sentence; the fields are 'a', 'b', 'none'",
        ),
    ],
    ("blimp", "blimp/u.jsonl"): [
        (jsonl({"sentence_good": "a", "sentence_bad": "b", "field": "f", "UID": "u", "linguistic_term": "x"}),
         r"u\.jsonl:1: no key 'linguistics_term'.*Did you mean 'linguistic_term'\?"),
    ],
    ("swe-blimp", "swe-blimp/x.csv"): [("a;b\n1;2\n", r"x\.csv:2: no key 'phenomenon'; the keys are a, b")],
    ("climp", "climp/CLiMP_corpus.zip"): [(b"nothing", r"CLiMP_corpus\.zip: not a zip file")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "file", "text", "message"),
    [(*where, *fault) for where, faults in BROKEN.items() for fault in faults],
)
def test_a_broken_file_is_named_with_its_line(write, name, file, text, message):
    with pytest.raises(UserError, match=message):
        load_benchmark(name, write(file, text))


HUB = {
    "blimp": {"u": {"sentence_good": "a", "sentence_bad": "b", "field": "f", "linguistics_term": "t", "UID": "u", "pair_id": 0}},
    "rublimp": {"p": {"source_sentence": "a", "target_sentence": "b", "PID": "p", "phenomenon": "t", "subtype": "s", "id": 1}},
    "jblimp": {"default": {"good_sentence": "a", "bad_sentence": "b", "phenomenon": "t", "paradigm": "p", "phenomenon-2": None}},
    "blimp-nl": {"t": {"sentence_good": "a", "sentence_bad": "b", "linguistic_phenomenon": "t", "paradigm": "p", "item_id": 1}},
    "multiblimp/nld": {"nld": {"sen": "a", "wrong_sen": "b", "phenomenon": "t", "feature_vals": "SG -> PL", "distance": 1}},
}  # fmt: skip


@pytest.fixture
def hub(monkeypatch):
    """Stand in for the hub's client by two functions; everything is of one commit."""

    def install(names, load):
        monkeypatch.setattr("ucurve.eval.benchmarks.load.find_commit", lambda *_: "c0ffee")
        client = SimpleNamespace(get_dataset_config_names=names, load_dataset=load)
        monkeypatch.setitem(sys.modules, "datasets", client)

    return install


@pytest.mark.parametrize("name", HUB)
def test_the_hub_has_the_same_records(hub, name):
    asked = []

    def load(source, part, split, revision, **_):
        asked.append((source, part, split, revision))
        return [HUB[name][part]]

    hub(lambda *_, **__: list(HUB[name]), load)
    pairs = load_benchmark(name)
    assert pairs.attrs["commit"] == "c0ffee"
    assert pairs.loc[0, ["good", "bad", "phenomenon"]].tolist() == ["a", "b", "t"]
    assert len(pairs) == 1
    assert asked[0][1:] == (next(iter(HUB[name])), "train", "c0ffee")


def test_one_language_is_fetched_alone(hub):
    def names(*_, **__):
        raise AssertionError("the other languages are not needed")

    rows = list(HUB["multiblimp/nld"].values())
    hub(names, lambda *_, **__: rows)
    assert set(load_benchmark("multiblimp/ces")["language"]) == {"ces"}


@pytest.mark.parametrize("name", ["sling", "climp", "swe-blimp", "tse/eus", "clams/eng", "zhoblimp-excluded"])
def test_what_is_not_on_the_hub_says_so(name):
    with pytest.raises(UserError, match=rf"benchmark '{name}' is not on the hub; give benchmark_root=DIR"):
        load_benchmark(name)
