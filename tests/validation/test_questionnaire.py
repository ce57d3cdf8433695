"""The command that makes questionnaires, and the files it writes, the page apart."""

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.validation.making import make, read_items, write_benchmark, write_lines
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.storage.files import sha256_file
from ucurve.validation import questionnaire
from ucurve.validation.questionnaire import page
from ucurve.validation.questionnaire.questions import misspell, scramble
from ucurve.validation.questionnaire.wording import find_wording

FILES = "formats=[pcibex,labelstudio]"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the benchmark ``mine``, as the current one."""
    monkeypatch.chdir(tmp_path)
    write_benchmark(tmp_path / "mine")
    return tmp_path


@pytest.fixture
def call(place, monkeypatch):
    def made(*arguments, out="out"):
        make(monkeypatch, "benchmark=mine", FILES, f"out={out}", *arguments)
        return place / out

    return made


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def kinds(rows, number="1"):
    return Counter(row["kind"] for row in rows if row["list"] == number)


def test_items_are_pairs_of_the_benchmark_and_no_sentence_is_asked_twice(call):
    rows = read_items(call("per_paradigm=4", "controls=2", "training=3"))
    pairs = load_benchmark("mine").set_index("pair")
    assert kinds(rows) == kinds(rows, "2") == {"item": 8, "control": 2, "catch": 3, "training": 3}
    for row in rows:
        if row["kind"] in ("item", "training"):
            pair = pairs.loc[int(row["pair"])]
            for name in ("benchmark", "paradigm", "phenomenon", "good", "bad"):
                assert row[name] == pair[name]
        else:
            assert row["pair"] == row["benchmark"] == row["paradigm"] == ""
            assert row["good"] in set(pairs["good"])
            assert row["bad"] not in set(pairs["good"]) | set(pairs["bad"])
    assert max(Counter(row["good"] for row in rows if row["list"] == "1").values()) == 1


def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_sample(call):
    one, two, other = call(), call(out="two"), call("seed=1", out="other")
    assert content(one) == content(two)
    assert {row["good"] for row in read_items(one)} != {row["good"] for row in read_items(other)}


def test_questionnaire_json_says_how_it_was_made(call):
    about = json.loads((call("lists=4", "shares=2", "seed=3") / "questionnaire.json").read_text())
    assert about["settings"]["seed"] == 3
    assert about["settings"]["lists"] == 4
    assert about["counts"] == {"item": 10, "catch": 2, "training": 10}
    assert about["benchmark"] == "mine"
    assert len(about["data_hash"]) == len(about["items_sha256"]) == 64


def test_only_the_paradigms_that_are_asked_for_are_asked(call):
    rows = read_items(call("paradigms=[past]", "training=0", "catch_per_page=0"))
    assert kinds(rows) == {"item": 5}
    assert {row["paradigm"] for row in rows} == {"past"}


def test_catch_trials_controls_and_training_come_from_files_of_pairs(call, place):
    for name in ("catch", "controls", "training"):
        pairs = [{"sentence_good": f"{name} good {n}", "sentence_bad": f"{name} bad {n}"} for n in range(4)]
        write_lines(place / f"{name}.jsonl", pairs)
    rows = read_items(call(*(f"{name}={name}.jsonl" for name in ("catch", "controls", "training"))))
    assert kinds(rows) == {"item": 10, "control": 4, "catch": 4, "training": 4}
    for row in rows:
        if row["kind"] != "item":
            name = "controls" if row["kind"] == "control" else row["kind"]
            number = row["good"].rpartition(" ")[2]
            assert (row["good"], row["bad"]) == (f"{name} good {number}", f"{name} bad {number}")


def test_instructions_of_the_user_stand_in_the_script_of_the_farm(call, place):
    (place / "own.txt").write_text("First   paragraph.\n\nSecond\nparagraph.\n")
    script = (call("instructions=own.txt") / "pcibex" / "main.js").read_text()
    assert '"First paragraph.",\n' in script
    assert '"Second paragraph."\n' in script


def test_texts_are_in_the_language_of_the_benchmark_where_they_are_there(call, place):
    card = place / "mine" / "card.yaml"
    card.write_text(card.read_text().replace("eng", "nld"))
    assert '"title": "Welke zin klinkt beter?"' in (call() / "pcibex" / "main.js").read_text()
    card.write_text(card.read_text().replace("nld", "swh"))
    assert '"title": "Which sentence sounds better?"' in (call(out="two") / "pcibex" / "main.js").read_text()


@pytest.mark.parametrize(("question", "answers"), [("choose", 0), ("accept", 3)])
def test_texts_of_all_languages_have_the_same_blanks(question, answers):
    languages = ("eng", "fra", "nld", "rus", "swe", "zho")
    wordings = [find_wording(language, None, question) for language in languages]
    assert {len(wording.answers) for wording in wordings} == {answers}
    assert len({wording.title for wording in wordings}) == 6
    assert len({wording.tag for wording in wordings}) == 6
    for name in vars(wordings[0]):
        if not name.startswith("_"):
            assert len({frozenset(re.findall(r"{\w+}", str(getattr(one, name)))) for one in wordings}) == 1


def test_label_studio_gets_a_file_of_tasks_for_each_list_and_a_labeling_interface(call):
    out = call()
    rows = read_items(out)
    for number in ("1", "2"):
        tasks = json.loads((out / "labelstudio" / f"list-{number}.json").read_text())
        key = [row for row in rows if row["list"] == number]
        assert len(tasks) == len(key)
        for task, row in zip(tasks, key, strict=True):
            data = task["data"]
            assert data["item"] == row["item"]
            assert data["kind"] == row["kind"]
            assert data["good_first"] is (row["good_first"] == "true")
            assert data["first" if data["good_first"] else "second"] == row["good"]
            assert data["second" if data["good_first"] else "first"] == row["bad"]
    config = ET.fromstring((out / "labelstudio" / "config.xml").read_text())  # noqa: S314 - written by us
    shown = {text.get("name"): text.get("value") for text in config.iter("Text")}
    assert shown == {"first": "$first", "second": "$second"}
    assert [choice.get("value") for choice in config.iter("Choice")] == ["first", "second"]


FARM = """
const chosen = [];
const chain = new Proxy(() => chain, { get: (_, name) => (name === Symbol.toPrimitive ? () => "" : chain) });
const trials = [];
const texts = {};
const rows = JSON.parse(process.argv[1]);
Object.assign(globalThis, {
  PennController: chain, DebugOff: chain, SetCounter: chain, SendResults: chain, Sequence: chain, newTimer: chain,
  getTimer: chain, newButton: chain, getSelector: chain, GetURLParameter: () => "ann",
  newText: (name, text) => { (texts[name] ??= []).push(text); return chain; },
  getText: (name) => name,
  newSelector: () => ({ add: (...names) => { chosen.push(names); return chain; } }),
  GetTable: (name) => ({ setGroupColumn: (column) => [name, column] }),
  newTrial: (label) => {
    const logged = {};
    const trial = { log: (name, value) => { logged[name] = value; return trial; } };
    trials.push({ label, logged });
    return trial;
  },
  Template: (table, make) => { globalThis.table = table; rows.forEach((row) => make(row)); },
});
require(process.argv[2]);
console.log(JSON.stringify({ table, chosen, trials, texts }));
"""


def test_the_script_of_the_farm_names_elements_by_side_and_logs_what_answers_need(place, monkeypatch, call):
    """The script runs with stand-ins for PennController's functions, which note what it asks them for."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on PATH")
    out = call("training=1", "per_paradigm=1", "catch_per_page=0")
    table = (out / "pcibex" / "pairs.csv").read_text()
    header = "item,kind,list,page,position,good_first,good,bad"
    assert table.startswith(header + "\n")
    rows = [dict(zip(header.split(","), line.split(","), strict=True)) for line in table.splitlines()[1:]]
    rows[0]["good"] = "a <b> & c"
    command = [node, "-e", FARM, json.dumps(rows), str(out / "pcibex" / "main.js")]
    done = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert done["table"] == ["pairs.csv", "list"]
    assert done["chosen"] == [["good", "bad"] if row["good_first"] == "true" else ["bad", "good"] for row in rows]
    asked = [trial for trial in done["trials"] if trial["logged"]]
    names = ("item", "kind", "list", "position", "page", "good_first")
    assert [trial["logged"] for trial in asked] == [
        {"annotator": "ann"} | {name: row[name] for name in names} for row in rows
    ]
    assert done["texts"]["good"] == ["a &lt;b&gt; &amp; c", *[row["good"] for row in rows[1:]]]
    assert {trial["label"] for trial in done["trials"]} == {"instructions", "over", "training", "question", "end"}


@pytest.mark.parametrize(
    "sentence", ["The old cat sleeps under that tree.", "小猫今天睡在那棵树下。", "a b c d e", "it is"]
)
def test_a_scrambled_sentence_has_the_same_parts_in_another_order(sentence):
    scrambled = scramble(sentence, 0)
    assert scrambled != sentence
    assert sorted(scrambled) == sorted(sentence)
    assert scrambled[-1] == sentence[-1] or sentence[-1] not in ".。"
    assert scrambled == scramble(sentence, 0)


def test_a_control_has_one_word_that_does_not_exist():
    sentence = "The old cat disappeared under that tree."
    words, changed = sentence.split(), misspell(sentence, 0).split()
    assert [place for place, word in enumerate(words) if changed[place] != word] == [3]
    assert sorted(changed[3]) == sorted(words[3])


MISTAKES = {
    "unknown benchmark": (["benchmark=blimb"], r"unknown benchmark 'blimb'.*Did you mean 'blimp'"),
    "folder without a card": (["benchmark=empty"], r"the folder empty holds no card\.yaml"),
    "unknown paradigm": (["paradigms=[pasd]"], r"unknown paradigm 'pasd' in paradigms.*Did you mean 'past'\?"),
    "unknown format": (["formats=[pcibexx]"], r"formats.*'pcibexx'"),
    "no format": (["formats=[]"], r"formats"),
    "unknown key": (["list=3"], r"list.*Did you mean 'lists'\?"),
    "lists and shares": (["lists=3", "shares=2"], r"lists=3 is no multiple of 2"),
    "too many shares": (["lists=11", "shares=11"], r"shares=11: there are only 10 items"),
    "no room on a page": (
        ["pairs_per_page=1"],
        r"catch_per_page=1 leaves none of the pairs_per_page=1 for an item",
    ),
    "too few for training": (
        ["per_paradigm=8", "training=10"],
        r"8 pairs left for 10 pairs of training \(training=\)",
    ),
    "too few for catch trials": (["per_paradigm=12", "training=0"], r"0 pairs left for 6 catch trials"),
    "too few for controls": (
        ["per_paradigm=11", "training=0", "controls=3"],
        r"2 pairs left for 3 controls \(controls=\)",
    ),
    "too few pairs in a file": (["catch=one.jsonl"], r"catch: one\.jsonl has 1 pairs, and a list needs 3"),
    "no such file": (["training=two.jsonl"], r"training: no file two\.jsonl"),
    "broken line": (["catch=broken.jsonl"], r"catch: .*/broken\.jsonl:2: not JSON"),
    "equal members": (["controls=equal.jsonl"], r"controls: equal\.jsonl: both sentences of pair 1 are 'a b'"),
    "missing column": (["training=keys.jsonl"], r"training: .*no column 'sentence_bad' at .*/keys\.jsonl:1"),
    "nobody knows what to accept": (
        ["question=accept"],
        r"question=accept: catch needs a file of pairs, which says in",
    ),
    "acceptance elsewhere": (
        ["question=accept", "catch_per_page=0", "training=0"],
        r"question=accept is asked by formats=jspsych alone, not by",
    ),
    "neither yes nor no": (
        ["training=maybe.jsonl"],
        r"training: maybe\.jsonl: plausible of pair 1 is 'maybe'; allowed: yes, no",
    ),
    "no instructions": (["instructions=blank.txt"], r"instructions: blank\.txt is empty"),
    "instructions not there": (["instructions=none.txt"], r"cannot read none\.txt"),
    "folder is there": (["out=mine"], r"out=mine exists already"),
    "a file is there": (["out=blank.txt"], r"out=blank\.txt exists already"),
    "address": (["formats=jspsych", "post=nowhere"], r"post"),
    "seconds": (["min_seconds=-1"], r"min_seconds"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_message_and_leaves_nothing(mistake, place, monkeypatch, capsys):
    arguments, message = MISTAKES[mistake]
    pair = {"sentence_good": "a b", "sentence_bad": "b a"}
    write_lines(place / "one.jsonl", [pair])
    (place / "broken.jsonl").write_text(json.dumps(pair) + "\n{\n")
    write_lines(place / "equal.jsonl", [pair | {"sentence_bad": "a b"}])
    write_lines(place / "maybe.jsonl", [pair | {"plausible": "maybe"}])
    write_lines(place / "keys.jsonl", [{"sentence_good": "a b"}])
    (place / "blank.txt").write_text(" \n")
    (place / "empty").mkdir()
    before = content(place)
    with pytest.raises(SystemExit) as caught:
        make(monkeypatch, "benchmark=mine", FILES, "out=out", *arguments)
    said = capsys.readouterr().err
    assert caught.value.code == 2
    assert said.startswith("error: ")
    assert said.count("error: ") == 1
    assert "Traceback" not in said
    assert re.search(message, said.replace("\n", " ")), said
    assert content(place) == before


def test_the_page_is_made_without_npm_and_without_a_network(place, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("asked the network"))
    make(monkeypatch, "benchmark=mine", "formats=jspsych", "out=out")
    made = (place / "out" / "index.html").read_text(encoding="utf-8")
    assert "var jsPsychModule=" in made
    assert "Copyright (c) 2014-2022 Joshua R. de Leeuw" in made


def test_the_files_of_jspsych_are_those_of_the_registry():
    folder = Path(questionnaire.__file__).parent / "jspsych"
    sums = dict(line.split()[::-1] for line in (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines())
    assert sums == {file.name: sha256_file(file) for file in folder.glob("*.js")}
    assert set(sums) == set(page._JSPSYCH)


def test_a_paradigm_with_too_few_pairs_gives_all_and_says_so(call, capsys):
    out = call("per_paradigm=13", "training=0", "catch_per_page=0")
    assert kinds(read_items(out)) == {"item": 24}
    assert "agreement: only 12 pairs with different good sentences" in capsys.readouterr().err
