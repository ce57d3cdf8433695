from collections import Counter

import pytest

from measurements.pairs.agreement_pairs import Judge, differ_in, plain_tags
from tests.generation.multiblimp.toy import PL, SG, noun, sentence, treebank, verb
from tests.settings import multiblimp_settings
from ucurve.generation.multiblimp.make import make
from ucurve.generation.treebank import find_treebanks

PAIR = {"treebank": "x", "sentence_id": "a", "feature": "Number", "verb": "kuras", "wrong_verb": "kurajn",
        "subject": "kato", "distance": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("feats", "kind"),
    [
        ("Number=Plur", "equal"),
        ("Gender=Fem|Number=Plur", "gender"),
        ("Gender=Masc|Number=Plur", "other"),
        ("Clitic=Ka|Number=Plur", "other"),
    ],
)
def test_kinds_of_pairs(tmp_path, feats, kind):
    (tmp_path / "x.conllu").write_text(
        treebank(sentence("a", noun("kato", "kato", f"Gender=Fem|{SG}"), verb("kuras", "kuri", SG)),
                 sentence("b", noun("katoj", "kato", PL), verb("kurajn", "kuri", feats)))
    )  # fmt: skip
    pair = PAIR
    assert Judge([tmp_path / "x.conllu"], None).judge(pair)[0] == kind


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ("V;PRS;SG", "V;PRS;PL"), ("V;PRS;NOM(3,SG)", "V;PRS;PL"), ("V;PRS;PL", "V;PRS;3;SG"),
    ],
)  # fmt: skip
def test_rows_of_unimorph(tmp_path, rows, kind):
    assert tmp_path
    one, other = ({*plain_tags(cell)[0].split(";")} for cell in (rows, kind))
    assert differ_in("Number", "", one, other, {"3"})
    assert not differ_in("Number", "", one, other | {"NEG"}, {"3"})
    assert not differ_in("Number", "", {"V", "PRS", "PL"}, {"V", "PRS", "1", "SG"}, {"3"})


@pytest.mark.parametrize(
    ("language", "verb", "wrong", "subject", "broken"),
    [
        ("eus", "zaio", "zaizkion", "hura", True), ("eus", "zaio", "zaizkio", "hura", False),
        ("eus", "doaz", "badoa", "hura", True), ("eus", "den", "ziren", "hura", True), ("eus", "dela", "direla", "hura", False),
        ("rus", "были", "было", "голов/голова/NOUN/Case=Gen|Number=Plur/2/nsubj", True),
        ("rus", "едут", "едет", "такси/такси/NOUN/Case=Nom|Number=Plur/2/nsubj", True),
        ("rus", "едут", "едет", "коты/кот/NOUN/Case=Nom|Number=Plur/2/nsubj", False),
    ],
)  # fmt: skip
def test_what_no_annotation_says(tmp_path, language, verb, wrong, subject, broken):
    noun_of = subject if "/" in subject else f"{subject}/{subject}/NOUN/_/2/nsubj"
    (tmp_path / "x.conllu").write_text(sentence("a", noun_of, f"{verb}/x/VERB/_/0/root"))
    pair = {**PAIR, "verb": verb, "wrong_verb": wrong, "subject": noun_of.split("/")[0]}
    assert bool(Judge([tmp_path / "x.conllu"], None).broken_form(pair, language)) is broken


@pytest.mark.parametrize(("order", "what"), [(-1, "a noun behind demek"), (1, "")])
def test_a_noun_behind_a_verb_of_saying(tmp_path, order, what):
    words = ["adam/adam/NOUN/_/{}/nsubj", "dedi/de/VERB/_/0/root"][::order]
    (tmp_path / "x.conllu").write_text(sentence("a", *[word.format(2 if order == 1 else 1) for word in words]))
    pair = {**PAIR, "verb": "dedi", "wrong_verb": "dediler", "subject": "adam", "distance": order, "feature_vals": "SG -> PL",
            "sentence_good": ""}  # fmt: skip
    assert Judge([tmp_path / "x.conllu"], None).broken_form(pair, "tur") == what


@pytest.mark.long
@pytest.mark.parametrize(
    ("language", "pattern", "least"),
    [
        ("eus", "eu_*", 700),
        ("tur", "tr_*", 580),
        ("rus", "ru_*", 780),
        ("eng", "en_*", 480),
        ("nld", "nl_*", 1400),
    ],
)
def test_no_feature_but_the_asked_one_changes_in_the_treebanks(shared, language, pattern, least):
    unimorph = shared / "unimorph" / "nld" if language == "nld" else None
    pattern = str(shared / "treebanks" / pattern)
    result = make(multiblimp_settings(treebanks=(pattern,), language=language, unimorph=unimorph), 0)
    judge = Judge(find_treebanks([pattern]), unimorph)
    listed = [pair for paradigm in result.paradigms for pair in paradigm.candidates]
    pairs = [{**pair.columns, "phenomenon": "", "sentence_good": pair.good} for pair in listed]
    kinds = Counter(judge.judge(pair)[0] for pair in pairs)
    assert not [pair for pair in pairs if judge.broken_form(pair, language)]
    assert kinds.total() >= least
    assert kinds["other"] == 0
    assert language == "rus" or kinds["gender"] == 0
