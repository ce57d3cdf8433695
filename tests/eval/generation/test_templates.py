import json
import sys

import pytest

from eval.generation.build import GenerateSettings, build_benchmark
from ucurve import cli
from ucurve.errors import UserError

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


def build(project, out="out", pairs=4, seed=0):
    places = (project / "templates", project / "vocabulary.tsv", project / "phrases.json", project / out)
    return build_benchmark(GenerateSettings(*places, pairs, seed))


@pytest.fixture
def command(project, monkeypatch):
    """A function that runs ``python -m eval.generation`` in this process and returns its exit code."""

    def call(*more):
        places = {"templates": "templates", "vocabulary": "vocabulary.tsv", "phrases": "phrases.json", "out": "out"}
        given = [f"{key}={project / name}" for key, name in places.items()]
        monkeypatch.setattr(sys, "argv", ["eval.generation", *given, *more])
        try:
            cli.run("generate")
        except SystemExit as stop:
            return stop.code
        return 0

    return call


def test_pairs_are_written_in_the_published_line_format(project):
    (outcome,) = build(project)
    lines = (project / "out" / "order.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert [list(record) for record in records] == [
        ["UID", "phenomenon", "sentence_good", "sentence_bad", "pairID"]
    ] * 4
    assert [record["pairID"] for record in records] == [0, 1, 2, 3]
    first = records[0]["sentence_good"]
    assert records[0] == {"UID": "order", "phenomenon": "verb_phrase", "sentence_good": first,
                          "sentence_bad": first[1:3] + first[0] + "。", "pairID": 0}  # fmt: skip
    assert (outcome.pairs, outcome.wanted, outcome.note) == (4, 4, "")


def test_the_same_seed_gives_the_same_bytes(project):
    for out, seed in (("one", 0), ("two", 0), ("three", 1)):
        build(project, out, seed=seed)
    one, two, three = ((project / out / "order.jsonl").read_bytes() for out in ("one", "two", "three"))
    assert one == two != three


def test_the_report_gives_yield_and_reasons(project):
    write_template(project, "b_long", uid="long", bad_rule=["pos:N", "phrase:Act", "呢。"])
    build(project, pairs=12)
    report = {entry["uid"]: entry for entry in json.loads((project / "out" / "report.json").read_text())}
    assert report["order"]["pairs"] == 10
    assert report["order"]["note"].startswith("only 10 of 12 pairs in 600 draws: vocabulary too small (")
    assert report["order"]["failures"] == {"duplicate": 590}
    assert report["long"]["failures"] == {"length": 600}
    assert report["long"]["note"] == "only 0 of 12 pairs in 600 draws: most often length (600 draws)"


def test_the_last_of_several_templates_of_one_uid_makes_the_pairs(project):
    write_template(project, "b_order", uid="order", good_rule=["pos:N", "也", "。"], bad_rule=["也", "pos:N", "。"])
    outcomes = build(project)
    assert [(outcome.file, outcome.pairs) for outcome in outcomes] == [("a_order.json", 0), ("b_order.json", 4)]
    assert outcomes[0].note == "not used: b_order.json has the same uid"
    assert "也" in (project / "out" / "order.jsonl").read_text(encoding="utf-8")


def test_all_templates_that_do_not_fit_are_in_one_message_and_nothing_is_written(project):
    write_template(project, "b", uid="b", good_rule=["poss:N", "x", "。"])
    write_template(project, "c", uid="c", bad_rule=["phrase:Act", "phrase:Acts", "。"])
    with pytest.raises(UserError, match=r"(?s)b.json: good_rule\[0\].*\n.*'Acts' in .*c.json: bad_rule\[1\]"):
        build(project)
    assert sorted(path.name for path in project.iterdir()) == ["phrases.json", "templates", "vocabulary.tsv"]


def test_a_folder_that_holds_something_is_not_written_over(project):
    (project / "out").mkdir()
    (project / "out" / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="out exists already"):
        build(project)
    assert [path.name for path in (project / "out").iterdir()] == ["mine.txt"]


def test_a_folder_below_a_file_is_a_mistake(project):
    (project / "out").touch()
    with pytest.raises(UserError, match=r"out/deep/er lies below a file"):
        build(project, "out/deep/er")


def test_no_pairs_at_all_is_a_mistake(project):
    with pytest.raises(UserError, match="pairs must be at least 1, not 0"):
        build(project, pairs=0)


def test_the_command_says_what_it_made(project, command, capsys):
    assert command("pairs=3") == 0
    assert "3 pairs; 1 of 1 paradigms complete; see" in capsys.readouterr().err
    assert len((project / "out" / "order.jsonl").read_text().splitlines()) == 3


def test_a_mistake_is_one_message_and_exit_code_2(project, command, capsys):
    write_template(project, "b", uid="b", good_rule=["pos:", "x", "。"])
    assert command() == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert not (project / "out").exists()
    assert command("pairs=many") == 2
    assert "pairs: got 'many'" in capsys.readouterr().err
