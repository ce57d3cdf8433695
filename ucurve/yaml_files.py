"""YAML files, read into a type and checked, with the line of every mistake and a bound on what aliases may cost."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from ucurve.config import describe_problem
from ucurve.errors import UserError, unknown_name
from ucurve.storage.files import read_utf8

Data = TypeVar("Data")

_DEEPEST = 100  # lists and mappings in one another; more would exceed Python's limit of calls
_TOO_DEEP = f"more than {_DEEPEST} lists and mappings in one another"
_MOST_BY_ALIASES = 100_000  # values that only aliases add to a file
_MOST_BITS = 1_000  # of an integer, so that it fits a float and Python writes it in decimals


def file_names(folder: Path) -> list[str]:
    """Return the names that the YAML files of a folder are asked for by, sorted."""
    return sorted(file.stem for file in folder.glob("*.yaml"))


def read_named(folder: Path, name: str, kind: type[Data], what: str) -> Data:
    """Read the YAML file of a name; the message about an unknown one says what the files are.

    Raises:
        UserError: when there is no file of the name, or naming the line of every mistake.
    """
    if name not in file_names(folder):
        raise unknown_name(what, name, file_names(folder))
    return read_yaml(folder / f"{name}.yaml", kind)


def read_yaml(path: Path, kind: type[Data]) -> Data:
    """Read a YAML file into a type that pydantic can check, such as one of its dataclasses or a ``dict`` of them.

    Raises:
        UserError: naming the line of every mistake.
    """
    tree, values = _load(read_utf8(path), path)
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        details = error.errors(include_url=False)
    raise UserError(
        "\n  ".join(
            f"{path}:{_line(tree, detail['loc'])}: {describe_problem(detail, kind)}" for detail in details
        )
    )


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with bounds, whose errors all have a line."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._open: list[str | None] = []  # the anchors of the nodes that are being read, outermost first
        self._values = self._by_aliases = 0
        self._sizes: dict[str, int] = {}  # of each anchor's node, the aliases in it followed

    def fetch_flow_collection_start(self, TokenClass: type[yaml.Token]) -> None:  # noqa: N803 - as PyYAML calls it
        if self.flow_level == _DEEPEST:  # before the nodes are made: the scanner reads far ahead
            raise _at(self.get_mark(), _TOO_DEEP)
        super().fetch_flow_collection_start(TokenClass)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Make a node, counting the values in it and those that aliases add."""
        event: yaml.NodeEvent = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            # A node that an alias in it stands for would never end.
            if event.anchor in self._open:
                raise _at(event.start_mark, f"*{event.anchor} stands inside of &{event.anchor}")
            size = self._sizes.get(str(event.anchor), 0)  # PyYAML names an unknown anchor itself
            self._values += size
            self._by_aliases += size
            if self._by_aliases > _MOST_BY_ALIASES:
                problem = f"the aliases up to *{event.anchor} stand for over {_MOST_BY_ALIASES:,} values"
                raise _at(event.start_mark, problem)
            return super().compose_node(parent, index)
        if len(self._open) == _DEEPEST:
            raise _at(event.start_mark, _TOO_DEEP)
        before = self._values
        self._values += 1
        self._open.append(event.anchor)
        node = super().compose_node(parent, index)
        self._open.pop()
        if event.anchor is not None:
            self._sizes[event.anchor] = self._values - before
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        """Turn a node into a value; refused are integers that Python would not write, and halves of characters."""
        try:
            value = super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            kind = node.tag.rpartition(":")[2]
            raise _at(node.start_mark, f"{_start_of(node)} cannot be read as the type {kind!r}") from error
        if type(value) is int and value.bit_length() > _MOST_BITS:
            raise _at(node.start_mark, f"{_start_of(node)} is an integer of over {_MOST_BITS} bits")
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            raise _at(node.start_mark, "half a surrogate pair, which is not Unicode text")
        return value


def _at(mark: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def _start_of(node: yaml.Node) -> str:
    text = str(node.value)
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def _load(text: str, path: Path) -> tuple[yaml.Node | None, object]:
    """Return the nodes of a YAML text, which know their lines, and its values."""
    try:
        loader = _Loader(text)
        tree = loader.get_single_node()
        for line, key in _repeated_keys(tree, set()):
            raise UserError(f"{path}:{line}: the key {key!r} stands there twice")
        return tree, None if tree is None else loader.construct_document(tree)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UserError(f"{path}:{line}: not YAML (the character U+{error.character:04X})") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = path if mark is None else f"{path}:{mark.line + 1}"
        raise UserError(f"{place}: not YAML ({error.problem or error.context})") from error


def _entries(node: yaml.Node | None) -> list[tuple[str, int, yaml.Node]]:
    """Return key (or place in a list), line and value of what a node holds."""
    if isinstance(node, yaml.MappingNode):
        return [(str(key.value), key.start_mark.line + 1, value) for key, value in node.value]
    if isinstance(node, yaml.SequenceNode):
        return [(str(place), value.start_mark.line + 1, value) for place, value in enumerate(node.value)]
    return []


def _repeated_keys(node: yaml.Node | None, visited: set[int]) -> Iterator[tuple[int, str]]:
    """Yield line and key of each repetition; a node that aliases repeat is visited once."""
    if id(node) in visited:
        return
    visited.add(id(node))
    seen: set[str] = set()
    for key, line, value in _entries(node):
        if key in seen:
            yield line, key
        seen.add(key)
        yield from _repeated_keys(value, visited)


def _line(node: yaml.Node | None, place: Sequence[int | str]) -> int:
    """Return the line of the key at a place, or of the last one on the way to it."""
    found = 1
    for name in map(str, place):
        for key, line, value in reversed(_entries(node)):  # what a mapping takes over by << stands before its own
            if key == name:
                found, node = line, value
                break
    return found
