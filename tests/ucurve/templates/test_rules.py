import pytest

from ucurve.errors import UserError
from ucurve.templates.rules import Direct, Phrase, Relation, Word, parse_slot


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("", (Direct(("",)),)),
        ("把", (Direct(("把",)),)),
        ("来 去 走", (Direct(("来", "去", "走")),)),
        ("好|不好", (Direct(("好",)), Direct(("不好",)))),
        (" | 可能", (Direct(("",)), Direct(("可能",)))),
        ("pos:NN", (Word((("pos", ("NN",)),)),)),
        ("pos:NN subcat:a/b", (Word((("pos", ("NN",)), ("subcat", ("a", "b")))),)),
        ("mPos:-1 mPro:expression", (Word((), (Relation(-1, ("expression",), True),)),)),
        (
            "pos:PN mmPos:2 mmPro:gender/number",
            (Word((("pos", ("PN",)),), (Relation(2, ("gender", "number"), False),)),),
        ),
        (
            "mPos:2 mPro:subcat2 mmPos:3 mmPro:attitude",
            (Word((), (Relation(2, ("subcat2",), True), Relation(3, ("attitude",), False))),),
        ),
        ("phrase:CD+M+NN ", (Phrase("CD+M+NN"),)),
        (
            "phrase:Person -1:<number:singular gender:male> 0:<pos:NR>",
            (
                Phrase(
                    "Person", ((-1, (("gender", ("male",)), ("number", ("singular",)))), (0, (("pos", ("NR",)),)))
                ),
            ),
        ),
    ],
)
def test_slot_text_reads_as_typed_alternatives(text, slot):
    assert parse_slot(text, "t.json: good_rule[0]") == slot


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("愿意 | 想", "愿意|想 "),
        ("mPro:classifier mPos:7", "mPos:7 mPro:classifier"),
        ("pos:NN matchedPosition:2 matchedProperties:verb", "mPos:2 mPro:verb pos:NN"),
        ("pos:NN mismatchedPosition:2 mismatchedProperties:verb", "pos:NN mmPos:2 mmPro:verb"),
    ],
)
def test_spacing_order_and_short_names_do_not_matter(one, other):
    assert parse_slot(one, "x") == parse_slot(other, "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pos:NN 了", r"cannot read 'pos:NN 了'; a slot holds alternatives separated by '\|'"),
        ("pos:", "cannot read 'pos:'"),
        (":NN", "cannot read ':NN'"),
        ("pos:NN/", "pos:NN/ has an empty value"),
        ("pos:NN pos:VV", "'pos' is given twice"),
        ("mPos:1 matchedPosition:2 mPro:x", "'matchedPosition' is given twice"),
        ("pos:NN mPos:2", "mPos and mPro go together"),
        ("pos:NN mmPro:x", "mmPos and mmPro go together"),
        ("mPos:__import__('os') mPro:x", "mPos must be the number of a slot, not"),
        ("phrase:A pos:NN", "cannot read .* overrides belong to phrase:NAME, which stands alone"),
        ("pos:NN -1:<animate:1>", "cannot read .* overrides belong to phrase:NAME, which stands alone"),
        ("phrase:A -1:<animate:1", "cannot read"),
        ("phrase:A -1:<>", "an override holds conditions property:value, not ''"),
        ("phrase:A -1:<mPos:1 mPro:x>", "an override holds conditions property:value"),
        ("把 -1:<animate:1>", "cannot read"),
    ],
)
def test_broken_slot_text_is_an_error_that_names_the_slot(text, message):
    with pytest.raises(UserError, match=rf"^t.json: bad_rule\[3\]: {message}"):
        parse_slot(text, "t.json: bad_rule[3]")
