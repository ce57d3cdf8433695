"""Changes of valid files for ``fuzz_readers``: of characters, lines, cells, or values of JSON and YAML."""

import json
import random
import re
from collections.abc import Callable
from typing import Any

import yaml

HOSTILE = (
    "\x00", "\x07", "\t", "\n", "\r", "\r\n", "\ufeff", "\u2028", "\u0085", "\u00a0", "\u200b", "\U0010ffff", "é", "字",
    '"', '""', "'", ",", ";", "|", "\\", "/", "../", "%", "$", "${x}", "{", "}", "[", "]", "(", ")", "<", "#", "=", "~",
    "*", "**", "&a ", "*a", "&a [*a]", "!!", "!!float x", "!!python/name:os.system", "---\n", ": ", "- ", "? ", "null",
    "true", "nan", "-inf", "1e999", "-1", "0", "0x", "1_0", "2001-99-99", "9" * 30, "9" * 5000, "[" * 300, "{" * 300,
    "[" * 5000, '{"a":' * 3000, "- " * 3000, "x" * 200_000, "\\ud800", "\\u0000", "1-2", "1.1", "1-999999999", "_",
    "SpaceAfter=No", "\t" * 20, "\n\n", "(a+)+$", "(", "[a-", "version https://git-lfs.github.com/spec/v1\n",
)  # fmt: skip
BYTES = (
    b"\xff",
    b"\xfe\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\x1f\x8b\x08",
    b"PK\x03\x04",
    b"\x28\xb5\x2f\xfd",
    b"PAR1",
)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3.5, 1e300, 10**30, "", " ", "x", "good", "字", "\x00", "\u2028", "../x", "/", "*",
    "**", "a**b", ".", "(", "(a+)+$", "{language}", "a/b", "x" * 5000, [], [[]], ["x", "x"], [None], {}, {"x": 1},
    {"": {}}, [["x"] * 50] * 50,
)  # fmt: skip
YAML_BOMB = "\n".join(
    ["a0: &a0 [x]", *(f"a{level}: &a{level} [{','.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 12))]
)
WHOLE = (
    b"", b"\n", b"\x00" * 100, b"\xff" * 50, b"[" * 100_000, b'{"a":' * 100_000, b"- " * 50_000, b"," * 100_000,
    b"\t" * 100_000, b'"' * 100_001, b"{}", b"[]", b"null", b"[[[]]]", b"a\n" * 50_000, b"9" * 100_000,
    b"[" + b"9" * 5000 + b"]", YAML_BOMB.encode(), b"&a [*a]", b"#\n" * 1000,
)  # fmt: skip


def mutate(content: bytes, name: str, draw: random.Random) -> bytes:
    """Change a file once: its characters, its lines or, where it can be read, one of its values."""
    kinds: list[Callable[[bytes, random.Random], bytes]] = [_characters, _bytes, _lines, _token]
    if name.endswith((".json", ".jsonl")):
        kinds += [_json_value] * 3
    elif name.endswith(".yaml"):
        kinds += [_yaml_value] * 3
    elif name.endswith((".csv", ".tsv", ".conllu")):
        kinds += [_cell] * 3
    return draw.choice(kinds)(content, draw)


def invent(draw: random.Random) -> bytes:
    """Make a file that is no change of a valid one."""
    if draw.random() < 0.4:
        return draw.choice(WHOLE)
    if draw.random() < 0.5:
        return draw.randbytes(draw.randint(1, 400))
    return "".join(draw.choices(HOSTILE, k=draw.randint(1, 40))).encode("utf-8", "surrogatepass")


def _characters(content: bytes, draw: random.Random) -> bytes:
    """Put a special text, or some of the file's own, into a place or in place of a few characters."""
    text = content.decode("utf-8", "surrogateescape")
    at = draw.randint(0, len(text))
    end = at if draw.random() < 0.5 else min(len(text), at + draw.randint(1, 8))
    start = draw.randint(0, len(text))
    new = draw.choice([draw.choice(HOSTILE), draw.choice(HOSTILE), text[start : start + draw.randint(1, 8)], ""])
    return f"{text[:at]}{new}{text[end:]}".encode("utf-8", "surrogateescape")


def _bytes(content: bytes, draw: random.Random) -> bytes:
    at = draw.randint(0, max(len(content) - 1, 0))
    match draw.randrange(4):
        case 0:
            return content[:at]
        case 1:
            return content[:at] + draw.choice(BYTES) + content[at:]
        case 2:
            return content[:at] + bytes([draw.randrange(256)]) + content[at + 1 :]
    return content[:at] + content[at + 1 :]


def _lines(content: bytes, draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    at, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case _:
            lines = [line + b"\r" for line in lines]
    return b"\n".join(lines)


def _token(content: bytes, draw: random.Random) -> bytes:
    """Put another text, perhaps from elsewhere in the file, in place of a word or number."""
    text = content.decode("utf-8", "surrogateescape")
    words = list(re.finditer(r"\w+", text))
    if not words:
        return _characters(content, draw)
    word = draw.choice(words)
    new = draw.choice(words).group() if draw.random() < 0.5 else draw.choice(HOSTILE)
    return f"{text[: word.start()]}{new}{text[word.end() :]}".encode("utf-8", "surrogateescape")


def _cell(content: bytes, draw: random.Random) -> bytes:
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    at = draw.randrange(len(lines))
    delimiter = max("\t,;", key=lines[at].count)
    cells = lines[at].split(delimiter)
    place = draw.randrange(len(cells))
    match draw.randrange(4):
        case 0:
            del cells[place]
        case 1:
            cells.insert(place, draw.choice(HOSTILE))
        case 2:
            cells[place] = draw.choice(cells)
        case _:
            other = draw.choice(lines).split(delimiter)
            cells[place] = draw.choice([draw.choice(HOSTILE), draw.choice(other)])
    lines[at] = delimiter.join(cells)
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _json_value(content: bytes, draw: random.Random) -> bytes:
    text = content.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    try:
        return json.dumps(_changed(json.loads(text), draw), ensure_ascii=draw.random() < 0.5).encode(
            "utf-8", "replace"
        )
    except (ValueError, RecursionError):
        pass
    at = draw.randrange(len(lines))
    try:
        lines[at] = json.dumps(_changed(json.loads(lines[at]), draw), ensure_ascii=False)
    except (ValueError, RecursionError):
        return _characters(content, draw)
    return "\n".join(lines).encode("utf-8", "replace")


def _yaml_value(content: bytes, draw: random.Random) -> bytes:
    try:
        value = yaml.safe_load(content.decode())
    except (ValueError, LookupError, RecursionError, yaml.YAMLError):
        return _characters(content, draw)
    return yaml.safe_dump(_changed(value, draw), allow_unicode=True).encode("utf-8", "replace")


def _changed(value: Any, draw: random.Random) -> Any:
    """Return a JSON value of which one part is another, is gone, or has something beside it."""
    if not isinstance(value, dict | list) or not value or draw.random() < 0.1:
        return draw.choice(VALUES)
    changed: Any = dict(value) if isinstance(value, dict) else list(value)
    key = draw.choice(list(changed)) if isinstance(changed, dict) else draw.randrange(len(changed))
    match draw.randrange(8):
        case 0:
            del changed[key]
        case 1 if isinstance(changed, dict):
            changed[draw.choice(["x", "", "字", f"{key}s"])] = changed.pop(key)
        case 1:
            changed.insert(key, draw.choice(VALUES))
        case 2:
            changed[key] = draw.choice(VALUES)
        case 3 | 4:  # one that stands elsewhere in the file
            changed[key] = draw.choice(list(changed.values()) if isinstance(changed, dict) else changed)
        case _:
            changed[key] = _changed(changed[key], draw)
    return changed
