import pytest

from ucurve.errors import UserError
from ucurve.templates.grammar import Grammar
from ucurve.templates.rules import Direct, Phrase, Word

NOUN = Word((("pos", ("N",)),))


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        (
            ["poss:N", "."],
            None,
            r"unknown property 'poss' in t.json: good_rule\[0\]; allowed: .*Did you mean 'pos'",
        ),
        (["-1:N", "."], None, r"unknown property '-1' in t.json: good_rule\[0\]"),
        (["pos:N", "."], ["pos:N", "sice:big"], r"unknown property 'sice' in t.json: bad_rule\[1\]"),
        (["size:smal", "."], None, r"good_rule\[0\]: no word of words.tsv has size:smal. Did you mean 'small'"),
        (["expression:zebra", "."], None, r"good_rule\[0\]: no word of words.tsv has expression:zebra"),
        (["pos:M mPos:1 mPro:clas", "pos:N"], None, r"unknown property 'clas' in t.json: good_rule\[0\]"),
        (["phrase:Noon", "."], None, r"unknown phrase 'Noon' in t.json: good_rule\[0\]; .*Did you mean 'Noun'"),
        (
            ["pos:M mPos:2 mPro:class", "."],
            None,
            r"good_rule\[0\]: there is no slot 2; slots are 0 to 1, -1 the last",
        ),
        (["pos:M mPos:-3 mPro:class", "."], None, r"good_rule\[0\]: there is no slot -3"),
        (["pos:M mPos:0 mPro:class", "."], None, r"good_rule\[0\]: a slot cannot be related to itself"),
        (
            ["pos:M mPos:1 mPro:class", "x"],
            None,
            r"good_rule\[0\]: slot 1 holds no vocabulary word to be related to",
        ),
        (["pos:M mPos:1 mPro:class", "phrase:Noun"], None, r"slot 1 holds no vocabulary word to be related to"),
        (
            ["phrase:Noun 1:<size:big>", "."],
            None,
            r"good_rule\[0\]: an expansion of phrase 'Noun' has no .* word at 1",
        ),
        (
            ["phrase:Literal 0:<size:big>", "."],
            None,
            r"an expansion of phrase 'Literal' has no vocabulary word at 0",
        ),
        (["phrase:Noun 0:<size:huge>", "."], None, r"good_rule\[0\]\[0\]: no word of words.tsv has size:huge"),
    ],
)
def test_a_template_that_does_not_fit_names_file_slot_and_what_is_allowed(make_paradigm, good, bad, message):
    phrases = {"Noun": (((NOUN,),),), "Literal": (((Direct(("x",)),),),)}
    with pytest.raises(UserError, match=message):
        make_paradigm(good, bad, phrases)


def test_a_phrase_that_names_an_unknown_phrase_is_an_error(vocabulary):
    with pytest.raises(UserError, match=r"unknown phrase 'B' in phrases.json: phrase 'A'"):
        Grammar(vocabulary, {"A": (((Phrase("B"),),),)}, "phrases.json")


def test_a_phrase_that_never_ends_is_an_error(vocabulary):
    phrases = {"A": (((Phrase("B"),),),), "B": (((Phrase("A"),), (NOUN,)),), "C": (((NOUN,),), ((Phrase("C"),),))}
    with pytest.raises(UserError, match=r"phrases.json: phrase 'A' can never end"):
        Grammar(vocabulary, phrases, "phrases.json")


def test_bad_slots_keep_move_or_make_their_words(make_paradigm):
    paradigm = make_paradigm(["pos:N", "x", "pos:V", "x", ""], ["pos:V", "x", "pos:M", "x", "pos:N"])
    assert [slot if isinstance(slot, int) else "new" for slot in paradigm.bad] == [2, 1, "new", 3, 0]


def test_texts_that_differ_in_spacing_are_the_same_slot(make_paradigm):
    assert make_paradigm(["x|y", "pos:V"], ["pos:V", "x | y "]).bad == (1, 0)


def test_a_copy_of_a_new_word_is_made_anew(make_paradigm):
    good = ["pos:N", "and", "mPos:0 mPro:expression"]
    assert make_paradigm(good, [good[0], "or", good[2]]).bad[2] == 2
    assert not isinstance(make_paradigm(good, ["pos:V", "and", good[2]]).bad[2], int)
