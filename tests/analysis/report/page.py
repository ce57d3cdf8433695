"""Reads a page the way a browser's parser does, far enough for the tests."""

from html.parser import HTMLParser

_VOID = {"meta", "img", "br", "link", "hr", "input"}


class Page(HTMLParser):
    """Tags with their attributes, the text of every table cell, and whether every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self._open):
            self.tables[-1][-1][-1] += data
        if not {"script", "style"} & set(self._open):
            self.text += data
