import pytest

from tests.ucurve.templates.drawn import generate
from tests.ucurve.templates.recognize import derives, derives_pair
from ucurve.templates.pair import Pair
from ucurve.templates.rules import Phrase, Relation, Word

COUNTED = ((Word((("pos", ("M",)),), (Relation(1, ("class",), True),)),), (Word((("pos", ("N",)),)),))
PHRASES = {"Counted": (COUNTED,), "Twice": (((Phrase("Counted"),), (Phrase("Counted"),)),)}


@pytest.fixture
def paradigm(make_paradigm):
    good = ["phrase:Twice", " | then", "pos:V", "not", "mPos:2 mPro:expression"]
    return make_paradigm(good, [good[2], good[0], "pos:V mmPos:0 mmPro:kind", "", good[1]], PHRASES)


def test_what_the_engine_makes_is_recognised(paradigm):
    pairs = generate(paradigm, 60, seed=0).pairs
    assert len(pairs) == 60
    assert all(derives(paradigm, pair.good) and derives_pair(paradigm, pair) for pair in pairs)


@pytest.mark.parametrize(
    ("sentence", "derived"),
    [
        ("li cat mo elk run not run", True),
        ("li cat mo elk then run not run", True),
        ("li elk mo elk run not run", False),
        ("li cat mo elk run not go", False),
        ("li cat mo elk run not run run", False),
        ("li cat run not run", False),
        ("licat mo elk run not run", False),
    ],
)
def test_only_sentences_of_the_good_rule_are_derived(paradigm, sentence, derived):
    assert derives(paradigm, sentence) is derived


@pytest.mark.parametrize(
    ("bad", "derived"),
    [("run li cat mo elk go", True), ("run li cat mo elk walk", True), ("go li cat mo elk run", False),
     ("run li dog mo elk go", False), ("run li cat mo elk run", False)],
)  # fmt: skip
def test_the_bad_member_takes_the_words_of_the_good_one(paradigm, bad, derived):
    assert derives_pair(paradigm, Pair("li cat mo elk run not run", bad)) is derived


def test_words_are_read_off_text_without_separators(make_paradigm):
    paradigm = make_paradigm(["pos:N", "x xc", "phrase:Counted"], phrases=PHRASES, sep="")
    assert derives(paradigm, "catxlicat")
    assert derives(paradigm, "catxclicat")
    assert not derives(paradigm, "catxccat")
