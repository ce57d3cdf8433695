"""Benchmarks of the user's own: a card of a few lines beside files in every form that the field publishes."""

import gzip
import io
import json
import sys
import zipfile
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pytest

from tests.archives import tarred, zipped
from ucurve.errors import UserError
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import expand_benchmarks

GOOD, BAD = ["The cat sits.", "The cats sit."], ["The cat sit.", "The cats sits."]
ROWS = [{"sentence_good": good, "sentence_bad": bad} for good, bad in zip(GOOD, BAD, strict=True)]
HEAD = "name: own\nlanguage: eng\n"


@pytest.fixture
def own(tmp_path):
    """Write files and a card that says ``more`` beside name and language; returns the path of the card."""

    def write(files, more="", folder="own"):
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        for name, content in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content.encode() if isinstance(content, str) else content)
        card = place / "card.yaml"
        card.write_text(HEAD + more, encoding="utf-8")
        return str(card)

    return write


def lines(rows=ROWS):
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(delimiter=",", rows=ROWS):
    return (
        "\n".join(delimiter.join(map(str, fields)) for fields in (rows[0], *(row.values() for row in rows)))
        + "\n"
    )


def workbook(rows=ROWS):
    content = io.BytesIO()
    pd.DataFrame(rows).to_excel(content, index=False)
    return content.getvalue()


def workbook_of_broken(member):
    """Return a workbook of which one member breaks off."""
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook())) as whole, zipfile.ZipFile(content, "w") as broken:
        for name in whole.namelist():
            held = whole.read(name)
            broken.writestr(name, held[: len(held) // 2] if name.endswith(member) else held)
    return content.getvalue()


def parquet(rows=ROWS):
    content = io.BytesIO()
    pd.DataFrame(rows).to_parquet(content)
    return content.getvalue()


def zstandard(content):
    return pa.compress(content.encode(), codec="zstd", asbytes=True)


TWO_LINES = "header: [text]\nquotes: text\nrows: ucurve.eval.benchmarks.rows:bad_line_first\n"
LONG = "sentences: {sentence: s, grammatical: ok, item: id}\n"
LONG_ROWS = [(7, 1, GOOD[0]), (8, 0, BAD[1]), (7, 0, BAD[0]), (8, 1, GOOD[1])]
EITHER = "either: {a: a, b: b, label: which, a_good: first, b_good: second}\n"
FORMS = {
    "JSON lines": ({"p.jsonl": lines()}, ""),
    "a JSON array of objects": ({"p.json": json.dumps(ROWS)}, ""),
    "nested JSON arrays": (
        {"p.json": json.dumps([[[good], [bad]] for good, bad in zip(GOOD, BAD, strict=True)])},
        'columns: {good: "0.0", bad: "1.0"}\n',
    ),
    "CSV": ({"p.csv": table()}, ""),
    "CSV with semicolons": ({"p.csv": table(";")}, ""),
    "CSV with a byte order mark": ({"p.csv": "\ufeff" + table()}, ""),
    "a tab-separated table": ({"p.tsv": table("\t")}, ""),
    "Parquet": ({"p.parquet": parquet()}, ""),
    "a workbook": ({"p.xlsx": workbook()}, ""),
    "a workbook with blank rows": ({"p.xlsx": workbook([ROWS[0], dict.fromkeys(ROWS[0]), ROWS[1], dict.fromkeys(ROWS[0], " ")])}, ""),
    "two lines a pair, the bad one first": (
        {"p.txt": "".join(f"{bad}\n{good}\n\n" for good, bad in zip(GOOD, BAD, strict=True))}, TWO_LINES,
    ),
    "two lines a pair, the good one first": (
        {"p.txt": "".join(f"{good}\n{bad}\n" for good, bad in zip(GOOD, BAD, strict=True))}, "header: [text]\nquotes: text\nsentences: {sentence: text}\n",
    ),
    "gzip": ({"p.jsonl.gz": gzip.compress(lines().encode())}, ""),
    "zstandard": ({"p.csv.zst": zstandard(table())}, ""),
    "a zip": ({"all.zip": zipped([("folder/p.csv", table())])}, ""),
    "a tar.gz": ({"all.tar.gz": tarred([("folder/p.jsonl", lines())])}, ""),
    "a folder, found by a pattern": ({"data/x/p.csv": table(), "other.csv": "a,b\n1,2\n"}, 'files: "data/**/*.csv"\n'),
    "a row a sentence, by item": (
        {"p.csv": "id,ok,s\n" + "".join(f"{item},{ok},{text}\n" for item, ok, text in LONG_ROWS)}, LONG,
    ),
    "a row a sentence, in turn": (
        {"p.tsv": "s\n" + "".join(f"{good}\n{bad}\n" for good, bad in zip(GOOD, BAD, strict=True))},
        "sentences: {sentence: s}\n",
    ),
    "two sentences and a label": (
        {"p.csv": f"a,b,which\n{GOOD[0]},{BAD[0]},first\n{BAD[1]},{GOOD[1]},second\n"}, EITHER,
    ),
    "composed by a pattern": (
        {"p.csv": "start,right,wrong\nThe cat,sits.,sit.\nThe cats,sit.,sits.\n"},
        'columns: {good: "{start} {right}", bad: "{start} {wrong}"}\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_each_form(own, form):
    pairs = load_benchmark(own(*FORMS[form]))
    assert pairs["good"].tolist() == GOOD
    assert pairs["bad"].tolist() == BAD
    assert set(pairs["paradigm"]) == {"p"}
    assert set(pairs["benchmark"]) == {"own"}


def test_two_contexts_and_one_target(own):
    rows = [{"c1": "It rained, so", "c2": "It shone, so", "t": "we got wet."}]
    short = "scorer: conditional\ncolumns: {condition_good: c1, condition_bad: c2, target: t}\n"
    assert load_benchmark(own({"p.jsonl": lines(rows)}, short))["bad"].tolist() == ["It shone, so we got wet."]
    more = (
        "scorer: conditional\ncolumns:\n  condition_good: c1\n  condition_bad: c2\n"
        '  good: "{condition_good} {t}"\n  bad: "{condition_bad} {t}"\n'
    )
    pair = load_benchmark(own({"p.jsonl": lines(rows)}, more)).iloc[0]
    assert (pair["good"], pair["bad"]) == ("It rained, so we got wet.", "It shone, so we got wet.")
    assert (pair["condition_good"], pair["condition_bad"]) == ("It rained, so", "It shone, so")


def test_a_data_set_of_the_hub(own, monkeypatch):
    asked = []

    def load(source, part, split, revision, **_):
        asked.append((source, part, split, revision))
        return ROWS

    monkeypatch.setattr("ucurve.eval.benchmarks.load.find_commit", lambda *asked: f"commit of {asked[2]}")
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load))
    pairs = load_benchmark(own({}, "hub: {name: me/pairs, revision: v1, split: test, parts: [x]}\n"))
    assert asked == [("me/pairs", "x", "test", "commit of v1")]
    assert pairs["good"].tolist() == GOOD
    assert pairs.attrs["commit"] == "commit of v1"


def test_several_pairs_from_one_row(own):
    rows = [{"c1": "A", "c2": "B", "t1": "x", "t2": "y"}]
    more = 'each:\n  - {good: "{c1} {t1}", bad: "{c2} {t1}"}\n  - {good: "{c2} {t2}", bad: "{c1} {t2}"}\n'
    pairs = load_benchmark(own({"p.jsonl": lines(rows)}, more))
    assert pairs[["good", "bad"]].to_numpy().tolist() == [["A x", "B x"], ["B y", "A y"]]


def test_regions_by_offsets_and_by_text(own):
    rows = [ROWS[0] | {"r": "8:12", "cue": "sit"}]
    pairs = load_benchmark(own({"p.jsonl": lines(rows)}, "columns: {region_good: r, region_bad: cue}\n"))
    assert pairs[["region_good", "region_bad"]].to_numpy().tolist() == [["8:12", "8:11"]]


def test_more_than_two_candidates_are_a_set(own):
    rows = [{"g": "a", "b1": "b", "b2": "c"}, {"g": "d", "b1": "e", "b2": "f"}]
    pairs = load_benchmark(own({"p.jsonl": lines(rows)}, "columns: {good: g, bad: [b1, b2]}\n"))
    assert pairs["bad"].tolist() == ["b", "c", "e", "f"]
    assert pairs["set"].tolist() == ["0", "0", "1", "1"]


def test_an_item_of_several_bad_sentences_is_a_set_and_sentences_in_turn_are_none(own):
    rows = "id,ok,s\n7,1,a\n7,0,b\n7,0,c\n8,1,d\n8,0,e\n"
    by_item = load_benchmark(own({"p.csv": rows}, LONG))
    assert by_item["bad"].tolist() == ["b", "c", "e"]
    assert by_item["set"].fillna("").tolist() == ["0", "0", ""]
    in_turn = load_benchmark(own({"p.csv": rows}, "sentences: {sentence: s, grammatical: ok}\n"))
    assert in_turn["bad"].tolist() == ["b", "c", "e"]
    assert "set" not in in_turn


def test_items_and_sets_are_of_one_file_even_where_folders_hold_files_of_the_same_name(own):
    rows = "id,ok,s\n7,1,{0}1\n7,0,{0}2\n7,0,{0}3\n"
    files = {"x/p.csv": rows.format("a"), "y/p.csv": rows.format("b")}
    pairs = load_benchmark(own(files, 'files: "*/*.csv"\n' + LONG))
    assert pairs[["good", "bad"]].to_numpy().tolist() == [["a1", "a2"], ["a1", "a3"], ["b1", "b2"], ["b1", "b3"]]
    assert pairs["set"].tolist() == ["0", "0", "1", "1"]


def test_what_counts_what_is_left_out_and_what_a_file_name_says(own):
    more = (
        'file_names: "(?P<kind>[a-z]+)-(?P<paradigm>.+)"\ncolumns: {phenomenon: {of: kind, map: {"sv*": agreement}}}\n'
        'omit: ["x*"]\nnot_counted: [{paradigm: "old*"}]\n'
    )
    rows = [row | {"x1": 1, "y": 2} for row in ROWS]
    pairs = load_benchmark(own({"svn-new.jsonl": lines(rows), "np-old_1.jsonl": lines(rows)}, more))
    assert pairs["phenomenon"].tolist() == ["np", "np", "agreement", "agreement"]
    assert pairs["counted"].tolist() == [False, False, True, True]
    assert "x1" not in pairs
    assert "y" in pairs


def test_pairs_that_stand_in_several_files_are_said(own, capsys):
    load_benchmark(own({"a.jsonl": lines(), "b.jsonl": lines(ROWS[:1])}))
    assert "own: 1 pairs are in several files, and each counts as often as it occurs" in capsys.readouterr().err


def test_a_family_and_several_cards_at_once(own, tmp_path):
    other = own({"a.jsonl": lines()})
    family = tmp_path / "family.yaml"
    family.write_text('name: kin\nlanguages: [nld, deu]\nfiles: "own/{language}.csv"\n')
    (tmp_path / "own" / "nld.csv").write_text(table())
    cards = expand_benchmarks([str(family), str(tmp_path / "own"), other])
    assert [card.name for card in cards] == ["kin/nld", "own"]
    assert set(load_benchmark(cards[0])["language"]) == {"nld"}


BROKEN = {
    "missing column": ({"p.csv": table()}, "columns: {good: sentence_god}\n",
        r"card\.yaml: columns\.good: no column 'sentence_god' at .*p\.csv:2; .*Write \{good: sentence_good\} under"),
    "JSON lines": ({"p.jsonl": lines() + "{broken\n"}, "", r"p\.jsonl:3: not JSON"),
    "uneven rows": ({"p.csv": table() + "one\n"}, "", r"p\.csv:4: 1 fields; the header has 2: sentence_good"),
    "no column of a pattern": ({"p.jsonl": lines()}, 'columns: {good: "{sentence_godo} x"}\n',
        r"no column 'sentence_godo' at .*p\.jsonl:1"),
    "wrong label": ({"p.csv": f"a,b,which\n{GOOD[0]},{BAD[0]},third\n"}, EITHER,
        r"p\.csv:2: 'which' is 'third'; allowed: 'first', 'second'"),
    "odd number of lines": ({"p.txt": "a\nb\nc\n"}, TWO_LINES, r"p\.txt:3: a line without its partner; two lines, bad and good"),
    "two good members": ({"p.csv": "id,ok,s\n7,1,a\n7,0,b\n7,1,c\n"}, LONG,
        r"p\.csv:4: a second grammatical sentence in one item; one is expected"),
    "no bad member": ({"p.csv": "id,ok,s\n7,1,a\n7,0,b\n8,1,c\n"}, LONG, r"p\.csv:4: a sentence without its partner"),
    "grammaticality that is no such value": ({"p.csv": "id,ok,s\n7,yes,a\n"}, LONG, r"p\.csv:2: 'ok' is 'yes'; allowed: '1', '0'"),
    "mixed encodings": ({"p.csv": table().encode() + "é,e\n".encode("latin-1")}, "", r"p\.csv:4: not UTF-8 .*at byte \d+ of the file"),
    "UTF-16": ({"p.csv": table().encode("utf-16")}, "", r"p\.csv:1: UTF-16; the file must be UTF-8"),
    "JSON lines in UTF-16": ({"p.jsonl": lines().encode("utf-16")}, "", r"p\.jsonl:1: UTF-16; the file must be UTF-8"),
    "JSON lines of mixed encodings": ({"p.jsonl": lines().encode() + "é".encode("latin-1")}, "",
        rf"p\.jsonl:3: not UTF-8 .*at byte {len(lines())} of the file"),
    "an odd number of sentences, in turn": ({"p.csv": "s\na\nb\nc\n", "q.csv": "s\nd\ne\nf\n"}, "sentences: {sentence: s}\n",
        r"p\.csv:4: a sentence without its partner; a grammatical one and an ungrammatical one make a pair"),
    "a file that begins with a bad member": ({"a/p.csv": "ok,s\n1,a\n0,b\n", "c/p.csv": "ok,s\n0,x\n1,d\n0,e\n"},
        'files: "*/*.csv"\nsentences: {sentence: s, grammatical: ok}\n', r"c.p\.csv:2: a sentence without its partner"),
    "broken gzip": ({"p.csv.gz": b"no"}, "", r"p\.csv\.gz: not a gzip file"),
    "broken zstandard": ({"p.csv.zst": b"nothing at all"}, "", r"p\.csv\.zst: not a zstd file"),
    "broken zip": ({"p.zip": b"no"}, "", r"p\.zip: not a zip file"),
    "broken tar": ({"p.tar.gz": b"no"}, "", r"p\.tar\.gz: not a tar archive"),
    "broken workbook": ({"p.xlsx": b"no"}, "", r"p\.xlsx: not an xlsx file"),
    "a workbook of broken XML": ({"p.xlsx": workbook_of_broken("sheet1.xml")}, "", r"p\.xlsx: not an xlsx file"),
    "broken Parquet": ({"p.parquet": b"no"}, "", r"p\.parquet: not a parquet file"),
    "empty file": ({"p.csv": ""}, "", r"p\.csv: the file is empty; at least one pair is expected"),
    "an empty file beside a full one": ({"o.csv": table(), "p.csv.gz": gzip.compress(b"\n")}, 'files: "*.csv*"\n', r"p\.csv\.gz: the file is empty"),
    "a header alone": ({"p.csv": "sentence_good,sentence_bad\n"}, "", r"benchmark 'own' has no pairs in .*own"),
    "an archive without tables": ({"p.zip": zipped([("readme.md", "x")])}, "", r"benchmark 'own' has no pairs in .*own"),
    "JSON that is no array": ({"p.json": "{}"}, "", r"p\.json:1: an array of pairs is expected, not dict"),
    "a key that stands twice in an array": ({"p.json": json.dumps(ROWS)[:-2] + ', "sentence_bad": "x"}]'}, "",
        r"p\.json: the key 'sentence_bad' occurs twice in one object, \('sentence_good', 'The cats sit\.'\)"),
    "an integer of 5,000 digits": ({"p.json": '[{"sentence_good": "a", "sentence_bad": "b", "n": ' + "1" * 5000 + "}]"}, "",
        r"p\.json: an integer of 5,000 digits, 111+\.\.\.; at most 4,300 are read"),
    "half a character in an array": ({"p.json": '[{"sentence_good": "\\ud800", "sentence_bad": "b"}]'}, "",
        r"p\.json: '\\ud800' is half a character, a lone surrogate, and no text"),
    "an array of numbers": ({"p.json": "[1]"}, "", r"p\.json:pair 1: an object or an array is expected, not 1"),
    "a sentence that is a number": ({"p.jsonl": lines([{"sentence_good": 1, "sentence_bad": "b"}])}, "",
        r"p\.jsonl:1: 'sentence_good' must be text, not 1"),
    "an empty sentence": ({"p.jsonl": lines([{"sentence_good": " ", "sentence_bad": "b"}])}, "", r"p\.jsonl:1: 'sentence_good' is empty"),
    "a region that stands twice": ({"p.jsonl": lines([{"sentence_good": "a a", "sentence_bad": "b", "r": "a"}])},
        "columns: {region_good: r}\n", r"p\.jsonl:1: the region 'a' occurs 2 times in 'a a'; give FROM:TO instead"),
    "another text where one is expected": ({"p.jsonl": lines([ROWS[0] | {"0.0": "x", "0.1": "y"}])}, "rows: ucurve.eval.benchmarks.rows:same_condition\n",
        r"p\.jsonl:1: the same text is expected in 0\.0, 0\.1, not 'x', 'y'"),
    "a context that is not the beginning": ({"p.jsonl": lines()}, "columns: {condition: sentence_bad}\n",
        r"p\.jsonl:1: the good sentence .* must start with its condition 'The cat sit\.' and go on"),
    "no file": ({}, "", r"benchmark 'own': no files of a form that is read in .*own"),
    "a misspelt key": ({"p.jsonl": lines()}, "colums: {good: a}\n", r"card\.yaml:3: colums: unknown key\. Did you mean 'columns'\?"),
    "a misspelt key inside": ({"p.jsonl": lines()}, "columns:\n  paradigm: {of: a, maap: b}\n",
        r"card\.yaml:4: columns\.paradigm\.maap: unknown key\. Did you mean 'map'\?"),
    "good and bad in one column": (
        {"p.jsonl": lines()}, "columns: {bad: sentence_good}\n", r"columns: good and bad are both 'sentence_good'"
    ),
    "two ways at once": ({"p.jsonl": lines()}, EITHER + LONG, r"give at most one of sentences and either"),
    "a column made in two ways": ({"p.jsonl": lines()}, "columns: {paradigm: {of: a, text: b}}\n",
        r"give exactly one of of, first_of and text"),
    "rows of another package": ({"p.jsonl": lines()}, "rows: os:system\n",
        r"card\.yaml:3: rows: 'os:system': ucurve\.eval\.benchmarks\.MODULE:FUNCTION is expected, as ucurve\.eval.*; no other code is run"),
    "rows of a path": ({"p.jsonl": lines()}, "rows: eval.benchmarks.../own/x:f\n", r"no other code is run"),
    "rows of no module": ({"p.jsonl": lines()}, "rows: ucurve.eval.benchmarks.rovs:f\n", r"there is no module ucurve\.eval\.benchmarks\.rovs"),
    "rows by a function of another kind": ({"p.jsonl": lines()}, "rows: ucurve.eval.benchmarks.rows:import_module\n",
        r"eval\.benchmarks\.rows has no such function; it has bad_line_first, same_condition, "),
    "rows without the column": ({"p.jsonl": lines()}, TWO_LINES.splitlines()[-1] + "\n", r"p\.jsonl:\d: no key 'text'; the keys are"),
    "an expression": ({"p.jsonl": lines()}, 'file_names: "("\n', r"card\.yaml:3: file_names: '\(' is not a regular expression"),
    "not YAML": ({"p.jsonl": lines()}, "columns: {\n", r"card\.yaml:\d+: not YAML"),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_each_fault_is_one_message(own, fault):
    files, more, message = BROKEN[fault]
    with pytest.raises(UserError, match=message):
        load_benchmark(own(files, more))


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ("language: eng\n", r"x\.yaml:1: name: no value given"),
        ("name: blimp\nlanguage: eng\n", r"x\.yaml: name: 'blimp' is the name of a published benchmark"),
        ("name: a/b\nlanguage: eng\n", r"'a/b' is not a name: letters, digits"),
        ("name: own\nlanguage: english\n", r"language: 'english' is not a code of ISO 639-3, such as eng"),
        ("name: own\n", r"give exactly one of language and languages"),
        ("name: own\nlanguages: [[nld]]\n", r"languages: got "),
        ("name: own\nlanguages: [{eus: {}}]\n", r"languages: got "),
        ("- a\n", r"x\.yaml"),
    ],
)
def test_a_card_that_cannot_be(tmp_path, card, message):
    (tmp_path / "x.yaml").write_text(card)
    with pytest.raises(UserError, match=message):
        expand_benchmarks([str(tmp_path / "x.yaml")])


def test_two_cards_of_one_name(own):
    with pytest.raises(UserError, match=r"name: 'own' is the name of the benchmark in .*first.card\.yaml too"):
        expand_benchmarks([own({}, folder="first"), own({}, folder="second")])


def test_a_path_without_a_card(own, tmp_path):
    own({})
    with pytest.raises(UserError, match=r"^no card .*crad\.yaml\. Did you mean '.*card\.yaml'\?"):
        expand_benchmarks([str(tmp_path / "own" / "crad.yaml")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        UserError, match=r"^the folder .*empty holds no card\.yaml.* benchmarks=custom custom\.path=.*empty$"
    ):
        expand_benchmarks([str(tmp_path / "empty")])
