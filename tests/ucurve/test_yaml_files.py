import time
from typing import Any

import pytest
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.yaml_files import read_yaml


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Part:
    name: str
    size: int = 1


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Whole:
    title: str
    parts: tuple[Part, ...] = ()


TABLE = dict[str, dict[str, tuple[str, str]]]


@pytest.fixture
def read(tmp_path):
    def read(text, kind=Whole):
        path = tmp_path / "data.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_yaml(path, kind)

    return read


def test_a_file_becomes_its_type(read):
    assert read("title: 甲\nparts:\n  - name: a\n  - {name: b, size: 2}\n") == Whole(
        "甲", (Part("a"), Part("b", 2))
    )
    assert read("a/b:\n  x: [one, two]\n", TABLE) == {"a/b": {"x": ("one", "two")}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("titel: x\ntitle: y\n", r"data\.yaml:1: titel: unknown key\. Did you mean 'title'\?$"),
        ("title: x\nparts:\n  - name: a\n    siez: 2\n", r"data\.yaml:4: parts\.0\.siez: unknown key\. Did you mean 'size'\?$"),
        ("title: x\nqqq: 1\n", r"data\.yaml:2: qqq: unknown key$"),
        ("parts: []\n", r"data\.yaml:1: title: no value given$"),
        ("title: x\nparts:\n  - name: a\n  - size: 2\n", r"data\.yaml:4: parts\.1\.name: no value given$"),
        ("title: 3\n", r"data\.yaml:1: title: got 3; a text is expected$"),
        ("title: x\n\nparts: a\n", r"data\.yaml:3: parts: got 'a'; a list is expected, as \[a,b\]$"),
        ("title: x\ntitle: y\n", r"data\.yaml:2: the key 'title' stands there twice$"),
        ("title: x\nparts:\n- name: a\n  name: b\n", r"data\.yaml:4: the key 'name' stands there twice$"),
        ("title: [x\nparts: []\n", r"data\.yaml:2: not YAML \("),
        ("", r"data\.yaml:1: configuration: got None"),
        (b"title: \xff\n", r"data\.yaml:1: not UTF-8"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line(read, text, message):
    with pytest.raises(UserError, match=message):
        read(text)


def test_all_mistakes_are_named_at_once(read):
    with pytest.raises(
        UserError, match=r"yaml:1: title: .*\n  .*yaml:2: parts\.0\.name: got 1.*\n  .*yaml:1: titel: "
    ):
        read("titel: x\nparts: [{name: 1}]\n")


def test_a_table_of_another_shape(read):
    with pytest.raises(UserError, match=r"data\.yaml:2: a\.x\.1: no value given$"):
        read("a:\n  x: [one]\n", TABLE)
    with pytest.raises(UserError, match=r"data\.yaml:1: a: got 'x'; a mapping is expected, as {a: b}$"):
        read("a: x\n", TABLE)


def test_no_file(tmp_path):
    with pytest.raises(UserError, match=r"cannot read .*none\.yaml \(No such file"):
        read_yaml(tmp_path / "none.yaml", Whole)


def test_objects_are_not_made(read):
    with pytest.raises(UserError, match=r"data\.yaml:1: not YAML \("):
        read("title: !!python/object/apply:os.getcwd []\n")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("2001-99-99", r"'2001-99-99' cannot be read as the type 'timestamp'"),
        ("2001-01-01 01:01:01 -99:00", r"cannot be read as the type 'timestamp'"),
        ("!!timestamp x", r"'x' cannot be read as the type 'timestamp'"),
        ("!!float abc", r"'abc' cannot be read as the type 'float'"),
        ("!!int '0x'", r"'0x' cannot be read as the type 'int'"),
        ("!!int ''", r"'' cannot be read as the type 'int'"),
        ("!!bool x", r"'x' cannot be read as the type 'bool'"),
        ("9" * 5000, r"'9{40}\.\.\.' cannot be read as the type 'int'"),
        ("0x" + "f" * 5000, r"'0xf{38}\.\.\.' is an integer of over 1000 bits"),
        ("1" + ":59" * 5000, r"is an integer of over 1000 bits"),
        ('"\\ud800"', r"half a surrogate pair"),
        ("&a [1, *a]", r"\*a stands inside of &a"),
        ("&a {b: *a}", r"\*a stands inside of &a"),
        ("*b", r"undefined alias 'b'"),
        ("[" * 30_000, r"more than 100 lists and mappings in one another"),
        ("{b: " * 30_000, r"more than 100 lists and mappings in one another"),
        ("{[1]: 2}", r"unhashable key"),
        ("\x07", r"the character U\+0007"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_made_is_named_with_its_line(read, value, message):
    with pytest.raises(UserError, match=rf"data\.yaml:2: not YAML \(.*{message}"):
        read(f"title: x\nparts: {value}\n", Any)


def test_block_lists_have_a_depth_too(read):
    with pytest.raises(UserError, match=r"data\.yaml:1: not YAML \(more than 100 lists"):
        read("- " * 30_000 + "x", Any)
    assert read("- " * 99 + "x", Any) is not None


def aliases(levels):
    """A file in which every list stands nine times in the next one."""
    lines = [f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * 9)}]" for level in range(1, levels)]
    return "\n".join(["a0: &a0 [x]", *lines])


def test_aliases_that_stand_for_billions_of_values_are_refused_at_once(read):
    started = time.process_time()
    message = r"data\.yaml:6: not YAML \(the aliases up to \*a4 stand for over 100,000 values\)"
    with pytest.raises(UserError, match=message):
        read(aliases(12), Any)
    assert time.process_time() - started < 2


def test_a_few_aliases_and_merged_keys_are_read(read):
    assert len(read(aliases(4), Any)["a3"]) == 9
    text = "base: &b {name: a, size: 1}\nother:\n  <<: *b\n  size: {size}\n"
    assert read(text.replace("{size}", "2"), Any)["other"] == {"name": "a", "size": 2}
    with pytest.raises(UserError, match=r"data\.yaml:4: other\.size: got 'x'"):
        read(text.replace("{size}", "x"), dict[str, Part])


def test_a_key_that_stands_twice_is_found_below_aliases(read):
    with pytest.raises(UserError, match=r"data\.yaml:1: the key 'x' stands there twice"):
        read("a: &a {x: 1, x: 2}\nb: [*a, *a]\n", Any)


def test_a_long_value_is_shortened_in_the_message(read):
    with pytest.raises(UserError, match=r"title: got \['x', .{480,500}\.\.\.; a text is expected$"):
        read(f"title: [{','.join('x' * 2000)}]\n")
