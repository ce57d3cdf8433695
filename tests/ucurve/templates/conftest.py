import pytest

from tests.ucurve.templates.drawn import generate
from ucurve.templates.grammar import Grammar
from ucurve.templates.rules import parse_slot
from ucurve.templates.template import Template
from ucurve.templates.vocabulary import Vocabulary

WORDS = """
cat   pos:N class:a size:small
dog   pos:N class:a/b size:big
elk   pos:N class:b size:big
ant   pos:N size:small
li    pos:M class:a
mo    pos:M class:b
run   pos:V kind:x
walk  pos:V kind:y
go    pos:V kind:y
he    pos:P gender:male number:singular
she   pos:P gender:female number:singular
they  pos:P gender:male/female number:plural
tom   pos:R gender:male number:singular
sue   pos:R gender:female number:singular
max   pos:R gender:neutral number:singular
"""


def read_words(text):
    entries = []
    for line in text.strip().splitlines():
        word, *pairs = line.split()
        values = {name: tuple(value.split("/")) for name, value in (pair.split(":") for pair in pairs)}
        entries.append({"expression": (word,), **values})
    return Vocabulary(entries, "words.tsv")


@pytest.fixture
def vocabulary():
    return read_words(WORDS)


@pytest.fixture
def make_paradigm(vocabulary):
    def make(good, bad=None, phrases=None, words=None, strict=False, sep=" ", uid="test"):
        def slots(texts, name):
            return tuple(parse_slot(text, f"t.json: {name}[{at}]") for at, text in enumerate(texts))

        bad = [*good[:-1], "*"] if bad is None else bad
        template = Template("t.json", uid, "phen", strict, sep, slots(good, "good_rule"), slots(bad, "bad_rule"))
        return Grammar(read_words(words) if words else vocabulary, phrases or {}, "phrases.json").tie(template)

    return make


@pytest.fixture
def goods(make_paradigm):
    """All good sentences that many draws from some slots give."""

    def draw(slots, **options):
        paradigm = make_paradigm([*slots, "."], **options)
        return {pair.good.removesuffix(" .") for pair in generate(paradigm, 200, seed=1).pairs}

    return draw


@pytest.fixture
def draws(make_paradigm):
    """Pairs of words lists, good and bad, that many draws give."""

    def draw(good, bad, **options):
        result = generate(make_paradigm(good, bad, **options), 200, seed=1)
        return [(pair.good.split(), pair.bad.split()) for pair in result.pairs]

    return draw
