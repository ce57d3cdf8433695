"""Plain Russian text as sentences with trees, by razdel and slovnet with the models that the package natasha ships."""

import importlib.util
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from ucurve.errors import UserError
from ucurve.generation.treebank import ROOT, Sentence, Word
from ucurve.storage.files import decode_utf8

INSTALL = "pip install 'ucurve[russian]' and pip install --no-deps natasha"
BATCH = 256  # sentences


def read_text(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of a text file, parsed, with words that have no lemma; a line may hold several."""
    try:
        lines = decode_utf8(path.read_bytes(), str(path)).split("\n")
    except OSError as error:
        raise UserError(f"cannot read {path} ({error.strerror})") from error
    parser = _parser()
    split = [(number, text) for number, line in enumerate(lines, start=1) for text in parser.split(line)]
    parsed = parse_sentences([text for _, text in split])
    for (number, text), words in zip(split, parsed, strict=True):
        yield Sentence(f"{path.name}:{number}", path.name.partition(".")[0], text, words, f"{path}:{number}")


def parse_sentences(texts: Sequence[str]) -> Iterator[tuple[Word, ...]]:
    """Yield for each sentence its words with part of speech, features and head, and no lemma."""
    parser = _parser()
    for at in range(0, len(texts), BATCH):
        yield from parser.parse(texts[at : at + BATCH])


class _Parser:
    def __init__(self, data: Path) -> None:
        from navec import Navec
        from razdel import sentenize, tokenize
        from slovnet import Morph, Syntax

        vectors = Navec.load(str(data / "emb/navec_news_v1_1B_250K_300d_100q.tar"))
        self._morph = Morph.load(str(data / "model/slovnet_morph_news_v1.tar"))
        self._syntax = Syntax.load(str(data / "model/slovnet_syntax_news_v1.tar"))
        self._morph.navec(vectors)
        self._syntax.navec(vectors)
        self._sentenize, self._tokenize = sentenize, tokenize

    def split(self, line: str) -> list[str]:
        """Return the sentences of a line, without empty ones."""
        return [part.text for part in self._sentenize(line.strip()) if part.text.strip()]

    def parse(self, texts: Sequence[str]) -> Iterator[tuple[Word, ...]]:
        """Yield the analyzed words of each sentence."""
        tokens = [list(self._tokenize(text)) for text in texts]
        forms = [[token.text for token in sentence] for sentence in tokens]
        for places, morph, syntax in zip(tokens, self._morph.map(forms), self._syntax.map(forms), strict=True):
            heads = _without_circles([int(token.head_id) for token in syntax.tokens])
            words = zip(places, morph.tokens, syntax.tokens, heads, strict=True)
            yield tuple(
                Word(
                    id=number,
                    form=place.text,
                    lemma="",  # slovnet gives none
                    upos=tag.pos,
                    feats=dict(tag.feats),
                    head=head,
                    deprel=arc.rel if head != ROOT else "root",
                    start=place.start,
                    end=place.stop,
                )
                for number, (place, tag, arc, head) in enumerate(words, start=1)
            )


def _without_circles(heads: list[int]) -> list[int]:
    """Return heads of a tree: the last word of each circle becomes a root."""
    # A parser chooses the head of each word by itself, so that heads may go round in a circle.
    heads = list(heads)
    for start in range(1, len(heads) + 1):
        seen: set[int] = set()
        number = start
        while number != ROOT:
            seen.add(number)
            if heads[number - 1] in seen:
                heads[number - 1] = ROOT
            number = heads[number - 1]
    return heads


@cache
def _parser() -> _Parser:
    # natasha itself cannot be imported on Python 3.11; only its data files are used.
    found = importlib.util.find_spec("natasha")
    if found is None or not found.submodule_search_locations:
        raise UserError(f"plain text is parsed with models that are not installed: {INSTALL}")
    try:
        return _Parser(Path(next(iter(found.submodule_search_locations))) / "data")
    except ImportError as error:
        raise UserError(f"plain text is parsed with {error.name}, which is not installed: {INSTALL}") from error
