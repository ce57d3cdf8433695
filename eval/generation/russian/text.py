"""Plain Russian text as sentences with trees: razdel splits it, slovnet parses it with the models of natasha."""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from eval.generation.treebank import Sentence, Word
from ucurve.errors import UserError
from ucurve.storage.files import read_utf8

_EMBEDDING = "data/emb/navec_news_v1_1B_250K_300d_100q.tar"
_MORPHOLOGY, _SYNTAX = "data/model/slovnet_morph_news_v1.tar", "data/model/slovnet_syntax_news_v1.tar"
_INSTALL = "pip install 'ucurve[russian]' and pip install --no-deps natasha"


@cache
def _models() -> tuple[Any, Any]:
    """Load the models of morphology and syntax.

    Raises:
        UserError: when the libraries or the models are not installed.
    """
    try:
        from navec import Navec
        from slovnet import Morph, Syntax
    except ImportError as error:
        raise UserError(f"text: plain Russian text needs {error.name}; {_INSTALL}") from error
    found = find_spec("natasha")  # only its files are used: it cannot be imported in this version of Python
    places = list(found.submodule_search_locations or []) if found is not None else []
    if not places:
        raise UserError(f"text: the models of natasha are not installed; {_INSTALL}")
    home = Path(places[0])
    embedding = Navec.load(home / _EMBEDDING)
    morphology, syntax = Morph.load(home / _MORPHOLOGY), Syntax.load(home / _SYNTAX)
    morphology.navec(embedding)
    syntax.navec(embedding)
    return morphology, syntax


def read_text(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a text file with their names, ``FILE:LINE``; a line may hold several.

    Raises:
        UserError: when the file cannot be read or the libraries are not installed.
    """
    from razdel import sentenize

    for number, line in enumerate(read_utf8(path).split("\n"), start=1):
        for at, sentence in enumerate(sentenize(line)):
            if sentence.text.strip():
                yield f"{path.name}:{number}" + (f".{at + 1}" if at else ""), sentence.text.strip()


def parse_sentences(texts: Iterable[tuple[str, str]], source: str) -> Iterator[Sentence]:
    """Parse sentences; each has a name.

    Args:
        source: where they come from, for the column ``domain``.

    Raises:
        UserError: when the libraries or the models are not installed.
    """
    from razdel import tokenize

    morphology, syntax = _models()
    kept = [(name, text, list(tokenize(text))) for name, text in texts]
    words = [[token.text for token in tokens] for _, _, tokens in kept]
    both = zip(kept, morphology.map(words), syntax.map(words), strict=True)
    for (name, text, tokens), tagged, tree in both:
        found = [
            Word(
                id=number,
                form=token.text,
                lemma=token.text.lower(),
                upos=tag.pos,
                feats=dict(tag.feats or {}),
                head=int(node.head_id) if int(node.head_id) <= len(tokens) else 0,
                deprel=node.rel,
                start=token.start,
                end=token.stop,
            )
            for number, (token, tag, node) in enumerate(zip(tokens, tagged.tokens, tree.tokens, strict=True), start=1)
        ]
        yield Sentence(id=name, source=source, text=text, words=tuple(found), place=name)
