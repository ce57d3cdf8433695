import json

import pytest

from ucurve.errors import UserError
from ucurve.templates.rules import Direct, Phrase, Relation, Word
from ucurve.templates.template import read_patterns, read_phrases, read_template, read_templates

RECORD = {
    "uid": "order",
    "phenomenon": "verb_phrase",
    "strict_MP": True,
    "sep": "",
    "good_rule": ["pos:NN", "了"],
    "bad_rule": ["了", "pos:NN"],
}


@pytest.fixture
def write(tmp_path):
    def to(value, name="t.json"):
        path = tmp_path / name
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return path

    return to


def test_a_template_holds_its_fields_and_slots(write):
    template = read_template(write(RECORD))
    assert (template.uid, template.phenomenon, template.strict_length, template.separator) == (
        "order",
        "verb_phrase",
        True,
        "",
    )
    assert template.good == ((Word((("pos", ("NN",)),)),), (Direct(("了",)),))
    assert template.bad == template.good[::-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"uid": None}, r"t.json: field 'uid' must be a str, found None"),
        ({"uid": ""}, r"t.json: the uid names a file"),
        ({"uid": "../x"}, r"t.json: the uid names a file and must not be empty or hold '/', found '../x'"),
        ({"strict_MP": "true"}, r"t.json: field 'strict_MP' must be a bool, found 'true'"),
        ({"bad_rule": ["了"]}, r"t.json: good_rule has 2 slots and bad_rule 1; they must be equally many"),
        ({"good_rule": ["pos:NN", 3]}, r"t.json: good_rule\[1\]: a slot is a text, found 3"),
        ({"bad_rule": ["了 pos:NN", "了"]}, r"t.json: bad_rule\[0\]: cannot read '了 pos:NN'"),
    ],
)
def test_a_broken_field_is_named(write, change, message):
    with pytest.raises(UserError, match=message):
        read_template(write(RECORD | change))


def test_a_missing_field_is_named(write):
    record = {name: value for name, value in RECORD.items() if name != "sep"}
    with pytest.raises(UserError, match=r"t.json: field 'sep' must be a str, found nothing"):
        read_template(write(record))


@pytest.mark.parametrize(
    ("text", "message"),
    [("[1, 2]", "a template is a JSON object with the fields uid"), ('{\n"uid": }', r"t.json:2: not JSON \(")],
)
def test_what_is_no_template_is_an_error(write, text, message):
    with pytest.raises(UserError, match=message):
        read_template(write(text))


def test_templates_come_in_the_order_of_their_names(write, tmp_path):
    for name in ("b", "a", "c"):
        write(RECORD | {"uid": name}, f"{name}.json")
    assert [template.uid for template in read_templates(tmp_path)] == ["a", "b", "c"]


def test_all_broken_templates_are_in_one_message(write, tmp_path):
    write(RECORD, "fine.json")
    write(RECORD | {"good_rule": ["pos:", ":x"]}, "one.json")
    write(RECORD | {"uid": 3}, "two.json")
    with pytest.raises(UserError) as error:
        read_templates(tmp_path)
    assert [line.split(": ")[0].split("/")[-1] for line in str(error.value).splitlines()] == [
        "one.json",
        "one.json",
        "two.json",
    ]


def test_a_folder_that_is_missing_or_empty_is_named(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        read_templates(tmp_path / "none")
    with pytest.raises(UserError, match=r"holds no templates \(\*.json\)"):
        read_templates(tmp_path)


def test_phrases_are_lists_of_typed_elements(write):
    elements = [
        {"type": "Direct", "rule": ["很", "太"]},
        {"type": "Lexical", "rule": {"pos": "NN", "subcat": "a/b"}},
        {"type": "Matched", "rule": {"pos": "M", "matchedPosition": "1", "matchedProperties": ["classifier"]}},
        {"type": "Matched", "rule": {"mmPos": 1, "mmPro": "gender"}},
        {"type": "Phrase", "rule": {"name": "Other"}},
    ]
    phrases = read_phrases(write({"Name": [elements, []]}))
    assert phrases["Name"] == (
        (
            (Direct(("很", "太")),),
            (Word((("pos", ("NN",)), ("subcat", ("a", "b")))),),
            (Word((("pos", ("M",)),), (Relation(1, ("classifier",), True),)),),
            (Word((), (Relation(1, ("gender",), False),)),),
            (Phrase("Other"),),
        ),
        (),
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "phrases are a JSON object from name to a list of expansions"),
        ({"A": []}, "phrase 'A' must be a list of expansions"),
        ({"A": [[{"type": "lexical", "rule": {}}]]}, "unknown element type 'lexical'.*Did you mean 'Lexical'"),
        ({"A": [[3]]}, "phrase 'A', expansion 0, element 0; allowed: Direct, Lexical, Matched, Phrase"),
        (
            {"A": [[], [{"type": "Direct", "rule": "了"}]]},
            "phrase 'A', expansion 1, element 0: cannot read the rule '了'",
        ),
        ({"A": [[{"type": "Phrase", "rule": {}}]]}, "cannot read the rule {} of a Phrase element"),
        (
            {"A": [[{"type": "Lexical", "rule": {"pos": []}}]]},
            r"a condition's value is a text or a list.*found \[\]",
        ),
    ],
)
def test_a_broken_phrase_is_named(write, value, message):
    with pytest.raises(UserError, match=message):
        read_phrases(write(value))


def test_patterns_are_named_slots(write):
    (pattern,) = read_patterns(write({"short": ["pos:NN", "。"]}))
    assert pattern.good == pattern.bad == ((Word((("pos", ("NN",)),)),), (Direct(("。",)),))
    with pytest.raises(UserError, match="patterns are a JSON object from name to a list of slots"):
        read_patterns(write({"short": "pos:NN"}))
