from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ucurve.templates.drawn import generate
from ucurve.errors import UserError
from ucurve.templates.grammar import Grammar
from ucurve.templates.pair import DRAWS_PER_PAIR, Reason
from ucurve.templates.rules import Direct, Phrase, Relation, Word, parse_slot
from ucurve.templates.template import Template

NOUN = (Word((("pos", ("N",)),)),)
VERB = (Word((("pos", ("V",)),)),)


def test_direct_words_are_drawn_and_nothing_leaves_no_gap(goods):
    assert goods(["x y", "", "z"]) == {"x z", "y z"}


def test_lexical_conditions_all_hold_and_a_slash_means_either(goods):
    assert goods(["pos:N size:big"]) == {"dog", "elk"}
    assert goods(["pos:N class:a/b size:big/small"]) == {"cat", "dog", "elk"}
    assert goods(["pos:M|pos:V kind:x|so"]) == {"li", "mo", "run", "so"}


def test_matched_words_share_a_value_wherever_the_slot_stands(goods):
    agreeing = {"li cat", "li dog", "mo dog", "mo elk"}
    assert goods(["pos:M mPos:1 mPro:class", "pos:N"]) == agreeing
    assert goods(["pos:M", "pos:N mPos:0 mPro:class"]) == agreeing
    assert goods(["pos:M mPos:-2 mPro:class", "pos:N"]) == agreeing


def test_several_properties_all_agree(goods):
    expected = {"tom he", "sue she"}
    assert goods(["pos:R", "pos:P mPos:0 mPro:gender/number"]) == expected
    assert goods(["pos:R", "pos:P mPos:0 mPro:gender"]) == expected | {"tom they", "sue they"}


def test_one_value_holds_for_all_slots_that_agree_in_it(goods):
    assert goods(["pos:M", "pos:N mPos:0 mPro:class", "pos:M mPos:1 mPro:class"]) <= {
        f"{one} {noun} {one}" for one, noun in (("li", "cat"), ("li", "dog"), ("mo", "dog"), ("mo", "elk"))
    } | {"li dog mo", "mo dog li"}


def test_a_matched_expression_is_the_same_word(goods):
    assert goods(["pos:V", "not", "mPos:0 mPro:expression"]) == {"run not run", "walk not walk", "go not go"}
    assert goods(["mPos:2 mPro:expression", "not", "pos:V"]) == {"run not run", "walk not walk", "go not go"}


def test_mismatched_words_share_no_value(goods):
    assert goods(["pos:M", "pos:N mmPos:0 mmPro:class"]) == {"li elk", "mo cat"}
    assert goods(["pos:V", "pos:V mmPos:0 mmPro:expression"]) == {
        f"{one} {other}" for one in ("run", "walk", "go") for other in ("run", "walk", "go") if one != other
    }


def test_a_mismatched_value_is_one_that_the_other_slot_could_have(goods):
    """Max has a gender, but not one of he and she, so he is not a mismatch for either."""
    assert goods(["pos:R mmPos:1 mmPro:gender", "pos:P number:singular"]) == {"tom she", "sue he"}


def test_match_and_mismatch_in_one_slot(goods):
    slots = ["pos:P", "pos:P mPos:0 mPro:number mmPos:0 mmPro:gender"]
    assert goods(slots) == {"he she", "she he"}


def test_a_word_may_not_be_drawn_twice_but_literals_and_copies_may(goods, make_paradigm):
    assert goods(["pos:M", "pos:M"]) == {"li mo", "mo li"}
    assert goods(["expression:go", "expression:go"]) == {"go go"}
    assert goods(["go", "pos:V kind:y"]) == {"go go", "go walk"}
    result = generate(make_paradigm(["pos:M class:a", "pos:M class:a", "."]), 1, seed=0)
    assert result.reasons == Counter({Reason.REPEATED_WORD: DRAWS_PER_PAIR})


def test_phrases_expand_with_positions_of_their_own(goods):
    counted = ((Word((("pos", ("M",)),), (Relation(1, ("class",), True),)),), NOUN)
    phrases = {"Counted": (counted, (NOUN,))}
    assert goods(["the", "phrase:Counted"], phrases=phrases) == {
        "the " + text for text in ("li cat", "li dog", "mo dog", "mo elk", "cat", "dog", "elk", "ant")
    }


def test_overrides_add_conditions_to_one_element(goods):
    phrases = {"Act": ((NOUN, VERB), (VERB,))}
    assert goods(["phrase:Act -1:<kind:x> 0:<pos:V>"], phrases={"Act": ((VERB,),)}) == {"run"}
    assert goods(["phrase:Act -1:<kind:x>"], phrases=phrases) == {
        "run",
        "cat run",
        "dog run",
        "elk run",
        "ant run",
    }


def test_words_may_repeat_through_phrases(goods):
    assert "go go" in goods(["pos:V kind:y", "phrase:Verb"], phrases={"Verb": ((VERB,),)})


def test_recursive_phrases_end(goods):
    phrases = {"Many": ((NOUN,), (NOUN, (Direct(("and",)),), (Phrase("Many"),)))}
    lengths = {len(text.split()) for text in goods(["phrase:Many"], phrases=phrases)}
    assert {1, 3, 5, 7} <= lengths
    assert all(length % 2 for length in lengths)


def test_equal_slots_keep_their_words_and_other_text_is_drawn_anew(draws):
    for good, bad in draws(["pos:N", "pos:V", "x"], ["pos:N", "pos:M", "x"]):
        assert (bad[0], bad[2]) == (good[0], good[2])
        assert bad[1] in ("li", "mo")


def test_moved_slots_take_the_good_words_and_empty_text_deletes(draws):
    for good, bad in draws(["pos:N", "phrase:Two", "pos:V", "x"], ["pos:V", "pos:N", "phrase:Two", ""],
                           phrases={"Two": ((VERB, NOUN),)}):  # fmt: skip
        assert bad == [good[3], *good[:3]]


def test_a_moved_text_that_occurs_twice_takes_the_first_words(draws):
    for good, bad in draws(["pos:N", "pos:N", "x"], ["x", "x", "pos:N"]):
        assert bad == ["x", "x", good[0]]


def test_a_new_word_agrees_with_the_words_of_the_bad_list(draws):
    pairs = draws(["pos:N class:a/b", "x", "pos:V"], ["pos:N class:a/b", "pos:M mPos:0 mPro:class", "pos:V"])
    assert pairs
    assert {(bad[1], bad[0]) for _, bad in pairs} <= {("li", "cat"), ("li", "dog"), ("mo", "dog"), ("mo", "elk")}


def test_a_new_word_differs_from_a_kept_word(draws):
    pairs = draws(["pos:M mPos:1 mPro:class", "pos:N", "."], ["pos:M mmPos:1 mmPro:class", "pos:N", "."])
    assert {(bad[0], bad[1]) for _, bad in pairs} == {("mo", "cat"), ("li", "elk")}


def test_a_copy_follows_a_new_word(draws):
    for good, bad in draws(
        ["pos:N", "and", "mPos:0 mPro:expression"], ["pos:V", "and", "mPos:0 mPro:expression"]
    ):
        assert good[0] == good[2]
        assert bad[0] == bad[2] != good[0]


def test_a_relation_to_a_slot_that_drew_a_literal_fails_that_draw(make_paradigm):
    paradigm = make_paradigm(["pos:M mPos:1 mPro:class", "pos:N | the", "."])
    result = generate(paradigm, 4, seed=0)
    assert len(result.pairs) == 4
    assert not any("the" in pair.good for pair in result.pairs)
    assert result.reasons[Reason.NO_SHARED_VALUE] > 0


@pytest.mark.parametrize(
    ("good", "bad", "reason"),
    [
        (["pos:N kind:x", "."], None, Reason.NO_SAMPLE),
        (["pos:N kind:x", "pos:V mPos:0 mPro:kind"], None, Reason.NO_SAMPLE),
        (["pos:M", "pos:R mPos:0 mPro:gender"], None, Reason.NO_SHARED_VALUE),
        (["pos:P number:plural", "pos:R mmPos:0 mmPro:gender"], ["x", "x"], Reason.NO_SHARED_VALUE),
        (["pos:M class:a", "pos:M class:a"], None, Reason.REPEATED_WORD),
        (["pos:N class:a size:small", "x"], ["expression:cat", "x"], Reason.EQUAL),
        (["x", "y"], ["x", ""], Reason.LENGTH),
    ],
)
def test_each_reason_of_failure_is_counted_and_draws_are_bounded(make_paradigm, good, bad, reason):
    result = generate(make_paradigm(good, bad, strict=reason is Reason.LENGTH), 3, seed=0)
    assert result.pairs == []
    assert result.candidates == 3 * DRAWS_PER_PAIR
    assert result.reasons == Counter({reason: result.candidates})


def test_a_small_vocabulary_yields_what_it_has_and_counts_duplicates(make_paradigm):
    result = generate(make_paradigm(["pos:V", "."]), 5, seed=0)
    assert len(result.pairs) == 3
    assert result.reasons == Counter({Reason.DUPLICATE: 5 * DRAWS_PER_PAIR - 3})


def test_the_same_seed_gives_the_same_pairs_whatever_else_is_made(make_paradigm):
    slots = ["pos:N", "pos:V", "pos:M", "."]
    first = generate(make_paradigm(slots), 20, seed=3).pairs
    generate(make_paradigm(slots, uid="other"), 7, seed=3)
    assert generate(make_paradigm(slots), 20, seed=3).pairs == first
    assert generate(make_paradigm(slots), 10, seed=3).pairs == first[:10]
    assert generate(make_paradigm(slots), 20, seed=4).pairs != first
    assert generate(make_paradigm(slots, uid="other"), 20, seed=3).pairs != first


TEXTS = st.sampled_from(
    ["pos:N", "pos:V kind:y", "pos:M", "pos:P|pos:R", "size:big/small", "x yy", "", "|ab", "phrase:Two"]
)


@st.composite
def moved_slots(draw):
    good = draw(st.lists(TEXTS, min_size=2, max_size=6))
    return good, draw(st.permutations(good))


def _paradigm(vocabulary, good, bad, strict, sep):
    def slots(texts):
        return tuple(parse_slot(text, "t.json") for text in texts)

    template = Template("t.json", "property", "phen", strict, sep, slots(good), slots(bad))
    return Grammar(vocabulary, {"Two": ((VERB, NOUN), (NOUN,))}).tie(template)


_VOCABULARY = None


@pytest.fixture(autouse=True)
def _keep_vocabulary(vocabulary):
    global _VOCABULARY  # noqa: PLW0603 - hypothesis examples share one fixture
    _VOCABULARY = vocabulary


@settings(max_examples=60, deadline=None)
@given(moved_slots(), st.integers(0, 5))
def test_property_distinct_moved_slots_give_a_permutation(slots, seed):
    good, bad = slots
    good = [f"{text}|w{at}" for at, text in enumerate(good)]  # all slots read differently
    bad = [next(slot for slot in good if slot.startswith(f"{text}|")) for text in bad]
    if len(set(bad)) < len(bad):
        return
    for pair in generate(_paradigm(_VOCABULARY, good, bad, False, " "), 5, seed).pairs:
        assert sorted(pair.good.split()) == sorted(pair.bad.split())
        assert pair.good != pair.bad


@settings(max_examples=60, deadline=None)
@given(
    st.lists(TEXTS, min_size=3, max_size=3), st.lists(TEXTS, min_size=3, max_size=3), st.sampled_from(["", " "])
)
def test_property_strict_templates_give_equal_lengths(good, bad, sep):
    for pair in generate(_paradigm(_VOCABULARY, good, bad, True, sep), 5, 0).pairs:
        assert len(pair.good.split()) == len(pair.bad.split()) if sep else len(pair.good) == len(pair.bad)


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=5), st.integers(0, 9))
def test_property_good_sentences_are_all_different(good, seed):
    pairs = generate(_paradigm(_VOCABULARY, good, [*good[:-1], "zz"], False, " "), 8, seed).pairs
    assert all(one != other for one, other in pairwise(sorted(pair.good for pair in pairs)))


FORMS = """
dog    pos:N number:singular
dogs   pos:N number:plural
sings  pos:V lemma:sing number:singular tense:present
sing   pos:V lemma:sing number:plural   tense:present
sang   pos:V lemma:sing number:singular/plural tense:past
runs   pos:V lemma:run  number:singular tense:present
run    pos:V lemma:run  number:plural   tense:present
must   pos:V lemma:must tense:present
"""


def test_a_bad_slot_keeps_the_lemma_of_the_good_word_and_changes_its_form(draws):
    good = ["pos:N", "pos:V mPos:0 mPro:number tense:present"]
    pairs = draws(good, ["pos:N", "keep:lemma change:number"], words=FORMS)
    assert {(one[1], other[1]) for one, other in pairs} == {
        ("sings", "sing"), ("sing", "sings"), ("runs", "run"), ("run", "runs")}  # fmt: skip
    assert all(one[0] == other[0] for one, other in pairs)


def test_a_kept_slot_takes_further_conditions_and_alternatives(draws):
    pairs = draws(
        ["pos:N", "pos:V tense:present"], ["pos:N", "keep:lemma tense:past | keep:lemma/tense"], words=FORMS
    )
    assert {(one[1], other[1]) for one, other in pairs} == {
        ("sings", "sang"), ("sing", "sang"), ("sings", "sing"), ("sing", "sings"), ("runs", "run"), ("run", "runs")
    }  # fmt: skip


def test_a_word_without_the_property_gives_no_pair(make_paradigm):
    outcome = generate(make_paradigm(["lemma:must"], ["keep:lemma change:number"], words=FORMS), 3, seed=0)
    assert outcome.pairs == []
    assert set(outcome.reasons) == {Reason.NO_SAMPLE}


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        (["keep:lemma", "."], ["pos:N", "."], r"good_rule\[0\]: keep and change speak of a good word"),
        (
            ["dog", "."],
            ["keep:number", "."],
            r"bad_rule\[0\]: good_rule\[0\] holds no vocabulary word to keep or change",
        ),
        (["pos:N", "."], ["change:numbr", "."], r"'numbr' in .*bad_rule\[0\].*Did you mean 'number'"),
    ],
)
def test_a_form_that_cannot_be_asked_for(make_paradigm, good, bad, message):
    with pytest.raises(UserError, match=message):
        make_paradigm(good, bad, words=FORMS)
