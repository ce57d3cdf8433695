import json
import re

import pytest

from ucurve.eval.benchmarks.load import load_benchmark

VOCABULARY = "expression\tpos\n" + "".join(f"{word}\tN\n" for word in "甲乙丙丁戊") + "跑\tV\n走\tV\n"
PHRASES = {"Act": [[{"type": "Lexical", "rule": {"pos": "V"}}, {"type": "Direct", "rule": ["了"]}]]}
TEMPLATE = {"phenomenon": "verb_phrase", "strict_MP": True, "sep": "",
            "good_rule": ["pos:N", "phrase:Act", "。"], "bad_rule": ["phrase:Act", "pos:N", "。"]}  # fmt: skip


@pytest.fixture
def project(tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "vocabulary.tsv").write_text(VOCABULARY, encoding="utf-8")
    (tmp_path / "phrases.json").write_text(json.dumps(PHRASES), encoding="utf-8")
    write_template(tmp_path, "a_order", uid="order")
    return tmp_path


def write_template(project, name, **fields):
    (project / "templates" / f"{name}.json").write_text(json.dumps(TEMPLATE | fields), encoding="utf-8")


@pytest.fixture
def command(project, run_command):
    """A function that runs ``generate.py source=templates``, checks its exit code and returns its messages."""

    def call(*more, out="out", code=0):
        places = {"templates": "templates", "vocabulary": "vocabulary.tsv", "phrases": "phrases.json", "out": out}
        given = [f"{key}={project / name}" for key, name in places.items()]
        ended, _, said = run_command("generate", "source=templates", *given, *more)
        assert ended == code
        return said

    return call


@pytest.fixture
def refused(command):
    """A function that runs the command and returns the message of exit code 2."""

    def call(*more, **options):
        text = command(*more, code=2, **options)
        assert text.count("error: ") == 1
        return text

    return call


def report(project):
    return json.loads((project / "out" / "report.json").read_text(encoding="utf-8"))


def test_pairs_are_written_in_the_published_line_format(project, command):
    command("pairs=4")
    lines = (project / "out" / "order.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert [list(record) for record in records] == [
        ["UID", "phenomenon", "sentence_good", "sentence_bad", "pairID"]
    ] * 4
    assert [record["pairID"] for record in records] == [0, 1, 2, 3]
    first = records[0]["sentence_good"]
    assert records[0] == {"UID": "order", "phenomenon": "verb_phrase", "sentence_good": first,
                          "sentence_bad": first[1:3] + first[0] + "。", "pairID": 0}  # fmt: skip


def test_what_is_made_is_a_benchmark(project, command):
    command("pairs=4", "language=yue")
    pairs = load_benchmark(str(project / "out"))
    assert set(pairs["benchmark"]) == {"out"}
    assert set(pairs["language"]) == {"yue"}
    assert list(pairs["paradigm"]) == ["order"] * 4
    assert "UID" not in pairs


def test_the_same_seed_gives_the_same_bytes(project, command):
    for out, seed in (("one/x", 0), ("two/x", 0), ("three/x", 1)):
        command("pairs=4", f"seed={seed}", out=out)
    one, two, three = (
        {file.name: file.read_bytes() for file in (project / name / "x").iterdir()}
        for name in ("one", "two", "three")
    )
    assert one == two
    assert set(one) == {"order.jsonl", "card.yaml", "report.json"}
    assert one["order.jsonl"] != three["order.jsonl"]
    assert str(project).encode() not in b"".join(one.values())


def test_the_report_gives_yield_and_reasons(project, command):
    write_template(project, "b_long", uid="long", bad_rule=["pos:N", "phrase:Act", "呢。"])
    said = command("pairs=12")
    table = said.partition(
        "0 of 2 paradigms have 12 pairs; the source gives these fewer, and all of them are kept:\n"
    )[2]
    assert [line.split(maxsplit=3) for line in table.splitlines()[:3]] == [
        ["paradigm", "pairs", "candidates", "why not more"],
        ["order", "10", "600", "too few different sentences (590 times)"],
        ["long", "0", "600", "most often length (600 times)"],
    ]
    assert "10 pairs of 1 paradigm; see" in said
    found = report(project)
    assert {name: found[name] for name in ("source", "seed", "pairs", "candidates", "kept")} == {
        "source": "templates", "seed": 0, "pairs": 12, "candidates": 1200, "kept": 10}  # fmt: skip
    assert found["paradigms"] == [
        {"paradigm": "order", "phenomenon": "verb_phrase", "candidates": 600, "kept": 10,
         "reasons": {"duplicate": 590}, "good_longer": 0, "bad_longer": 0, "equally_long": 10, "accuracy_of_shorter": 50.0,
         "several_places": 0, "unequal_length": 0, "note": ""},
        {"paradigm": "long", "phenomenon": "verb_phrase", "candidates": 600, "kept": 0,
         "reasons": {"length": 600}, "good_longer": 0, "bad_longer": 0, "equally_long": 0, "accuracy_of_shorter": None,
         "several_places": 0, "unequal_length": 0, "note": ""},
    ]  # fmt: skip
    assert sorted(file.name for file in (project / "out").iterdir()) == [
        "card.yaml",
        "order.jsonl",
        "report.json",
    ]


def test_paradigms_whose_pairs_differ_in_few_ways_are_named(project, command):
    write_template(
        project,
        "b_fixed",
        uid="fixed",
        good_rule=["pos:N", "跑", "了", "。"],
        bad_rule=["pos:N", "了", "跑", "。"],
    )
    said = command("pairs=5")
    assert "in 1 of 2 paradigms good and bad sentence differ in fewer than 4 different ways: fixed (1)." in said
    assert "more pairs do not help, other words" in said
    # Of three pairs it is not known whether more would differ in more ways.
    said = command("pairs=3", out="few")
    assert "in 2 of 2 paradigms" in said and "more pairs may help, or other words" in said


def test_the_last_of_several_templates_of_one_uid_makes_the_pairs(project, command):
    write_template(
        project, "b_order", uid="order", good_rule=["pos:N", "也", "。"], bad_rule=["也", "pos:N", "。"]
    )
    note = "a_order.json: not used: b_order.json has the same uid"
    assert note in command("pairs=4")
    assert report(project)["notes"] == [note]
    assert "也" in (project / "out" / "order.jsonl").read_text(encoding="utf-8")


def test_all_templates_that_do_not_fit_are_in_one_message_and_nothing_is_written(project, refused):
    write_template(project, "b", uid="b", good_rule=["poss:N", "x", "。"])
    write_template(project, "c", uid="c", bad_rule=["phrase:Act", "phrase:Acts", "。"])
    message = refused()
    assert re.search(r"(?s)b.json: good_rule\[0\].*\n.*'Acts' in .*c.json: bad_rule\[1\]", message)
    assert sorted(path.name for path in project.iterdir()) == ["phrases.json", "templates", "vocabulary.tsv"]


def test_no_pair_at_all(project, refused):
    write_template(project, "a_order", uid="order", bad_rule=["pos:N", "phrase:Act", "呢。"])
    assert "no pairs: order: most often length (200 times)" in refused("pairs=4")
    assert not (project / "out").exists()


def test_a_broken_slot(project, refused):
    write_template(project, "b", uid="b", good_rule=["pos:", "x", "。"])
    assert "b.json: good_rule[0]" in refused()
    assert not (project / "out").exists()


FORMS = "expression\tpos\tlemma\tnumber\n" + "".join(
    f"{verb}s\tV\t{verb}\tone\n{verb}\tV\t{verb}\tmany\n" for verb in ("sing", "run", "wait", "work")
)
VERBS = {"sep": " ", "good_rule": ["they", "pos:V number:many"]}


def test_pairs_with_another_lemma_are_told_where_they_are_made_and_where_they_are_checked(
    project, command, run_command
):
    (project / "vocabulary.tsv").write_text(FORMS, encoding="utf-8")
    write_template(project, "a_order", uid="other", **VERBS, bad_rule=["they", "pos:V number:one"])
    write_template(project, "b", uid="same", **VERBS, bad_rule=["they", "keep:lemma change:number"])
    said = command("pairs=4")
    assert "of 8 pairs have another word, not another form of one lemma, where they differ: " in said
    other, same = report(project)["paradigms"]
    assert other["other_lemma"] > 0
    assert same["other_lemma"] == same["several_places"] == 0
    keys = ["source=templates", f"vocabulary={project / 'vocabulary.tsv'}"]
    _, checked, _ = run_command("generate", f"check={project / 'out'}", *keys)
    assert f"{other['other_lemma']} of 8 pairs have another word" in checked
    assert "another word" not in run_command("generate", f"check={project / 'out'}")[1]


def test_a_vocabulary_without_lemmas_is_named_where_words_are_drawn_anew(project, command):
    (project / "vocabulary.tsv").write_text(FORMS.replace("lemma", "stem"), encoding="utf-8")
    write_template(project, "a_order", uid="other", **VERBS, bad_rule=["they", "pos:V number:one"])
    write_template(project, "b", uid="same", **VERBS, bad_rule=["they", "keep:stem change:number"])
    assert "\nother: a word of the bad sentence is drawn anew and need not be a form" in f"\n{command('pairs=4')}"
    assert "other_lemma" not in report(project)["paradigms"][0]
