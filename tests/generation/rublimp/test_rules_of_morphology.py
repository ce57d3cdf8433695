"""Paradigms 1 to 22: for each a sentence with a pair, and one that is much like it and has none."""

from pathlib import Path

import pandas as pd
import pytest

from ucurve.generation.rublimp.check import CHECKS
from ucurve.generation.rublimp.grammar.morphology import is_known
from ucurve.generation.rublimp.make import RULES as ALL
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.rublimp.rules import government, inflection, predicates, word_formation
from ucurve.generation.treebank import Sentence, Word, read_treebank
from ucurve.templates.pair import Pair

pytest.importorskip("pymorphy3")

MODULES = (word_formation, inflection, government, predicates)
RULES = {rule.paradigm: rule for module in MODULES for rule in module.RULES}
FILE = Path(__file__).with_name("sentences_of_morphology.conllu")
SENTENCES = {sentence.id: sentence for sentence in read_treebank(FILE)}

BAD = {
    "add_new_suffix": "На столе лежал старый ножств.",
    "add_verb_prefix": "Мальчик выпринес домой тяжелую книгу.",
    "change_verb_prefixes_order": "Мастер сперечитал все готовые детали.",
    "change_declension_ending": "Мы долго шли за лесью.",
    "change_declension_ending_has_dep": "Мы долго шли за темным лесью.",
    "change_verb_conjugation": "Мальчик знаит эту старую песню.",
    "adposition_government": "Мальчик пришел из школой домой.",
    "verb_acc_object": "Мальчик открыл ящику и вышел.",
    "verb_gen_object": "Гости ждали ужином до вечера.",
    "verb_ins_object": "Директор управляет заводу много лет.",
    "nominalization_case": "Начальник объявил о строительстве и открытие заводе отложил.",
    "noun_subj_predicate_agreement_number": "Вчера мальчик открыли эту дверь.",
    "genitive_subj_predicate_agreement_number": "Вчера мальчика не были в школе.",
    "clause_subj_predicate_agreement_number": "Мальчику пришлись открыть эту дверь.",
    "subj_predicate_agreement_number_attractor": "Мальчик вчера принесли домой книги.",
    "noun_subj_predicate_agreement_gender": "Вчера мальчик открыла эту дверь.",
    "genitive_subj_predicate_agreement_gender": "Вчера директора не была в школе.",
    "clause_subj_predicate_agreement_gender": "Мальчику пришелся открыть эту дверь.",
    "subj_predicate_agreement_gender_attractor": "Мальчик вчера принесла домой книгу.",
    "noun_subj_predicate_agreement_person": "Завтра мальчик откроешь эту дверь.",
    "genitive_subj_predicate_agreement_person": "Сегодня ничего не получаюсь у мальчика.",
    "clause_subj_predicate_agreement_person": "Мальчику придусь открыть эту дверь.",
}


@pytest.fixture(scope="module")
def resources():
    return Resources(suffixes={"нож": ["ик", "ищ", "ств"]}, prefixes={"чит": ["с", "пере"]})


def find(paradigm, sentence, resources):
    return [found for found in RULES[paradigm].find(sentence, resources) if isinstance(found, Pair)]


def test_there_are_45_rules_of_different_paradigms():
    assert set(RULES) == set(BAD)
    assert len(ALL) == len({rule.paradigm for rule in ALL}) == 45


def test_phenomena_are_those_of_the_published_pairs(shared):
    for rule in ALL:
        row = pd.read_csv(shared / "benchmarks" / "rublimp" / f"{rule.paradigm}.csv", nrows=1).iloc[0]
        assert rule.phenomenon == row["phenomenon"]


@pytest.mark.parametrize("paradigm", sorted(BAD))
def test_the_bad_member_is_found(paradigm, resources):
    found = find(paradigm, SENTENCES[f"{paradigm}-good"], resources)
    assert BAD[paradigm] in [candidate.bad for candidate in found]
    for candidate in found:
        assert candidate.good != candidate.bad
        assert len(candidate.good.split()) == len(candidate.bad.split())


@pytest.mark.parametrize("paradigm", sorted(BAD))
def test_a_sentence_without_the_construction_gives_nothing(paradigm, resources):
    assert find(paradigm, SENTENCES[f"{paradigm}-none"], resources) == []


@pytest.mark.parametrize("paradigm", ["add_new_suffix", "add_verb_prefix", "change_verb_prefixes_order",
                                      "change_declension_ending", "change_verb_conjugation"])  # fmt: skip
def test_words_that_are_formed_wrongly_are_no_words(paradigm, resources):
    for candidate in find(paradigm, SENTENCES[f"{paradigm}-good"], resources):
        assert not is_known(candidate.columns["target_word"])


def test_cases_that_a_preposition_allows_are_left_out(resources):
    targets = {found.columns["target_value"] for found in
               find("adposition_government", SENTENCES["adposition_government-good"], resources)}  # fmt: skip
    assert targets == {"Dat", "Acc", "Ins", "Loc"}


def test_gender_after_a_person_who_may_be_of_either(resources):
    words = [Word(1, "Я", "я", "PRON", {"Case": "Nom", "Number": "Sing"}, 2, "nsubj", {}, 0, 1),
             Word(2, "открыл", "открыть", "VERB", {"Gender": "Masc", "Number": "Sing"}, 0, "root", {}, 2, 8)]  # fmt: skip
    sentence = Sentence("x", "x", "Я открыл", words, "x")
    assert [found.bad for found in find("noun_subj_predicate_agreement_gender", sentence, resources)] == [
        "Я открыло"
    ]


def test_an_attractor_needs_a_verb_with_a_subject(resources):
    words = [Word(1, "Принес", "принести", "VERB", {"Gender": "Masc", "Number": "Sing"}, 0, "root", {}, 0, 6),
             Word(2, "книги", "книга", "NOUN", {"Case": "Acc", "Number": "Plur"}, 1, "obj", {}, 7, 12)]  # fmt: skip
    rule = RULES["subj_predicate_agreement_number_attractor"]
    assert list(rule.find(Sentence("x", "x", "Принес книги", words, "x"), resources)) == [
        "the verb has no subject"
    ]


@pytest.mark.parametrize(("verb", "bad"), [("стало", ["Не стали темноты"]), ("стал", []), ("станут", [])])
def test_with_a_genitive_the_verb_is_neuter_singular_or_its_subject_is_left_out(verb, bad, resources):
    words = [Word(1, "Не", "не", "PART", {}, 2, "advmod", {}, 0, 2),
             Word(2, verb, "стать", "VERB", {}, 0, "root", {}, 3, 3 + len(verb)),
             Word(3, "темноты", "темнота", "NOUN", {"Case": "Gen"}, 2, "nsubj", {}, 4 + len(verb), 11 + len(verb))]  # fmt: skip
    sentence = Sentence("x", "x", f"Не {verb} темноты", words, "x")
    assert [found.bad for found in find("genitive_subj_predicate_agreement_number", sentence, resources)] == bad


def test_the_checks_find_faults():
    pairs = pd.DataFrame({"good": ["а б", "а б", "а б"], "bad": ["а в", "а", "а бё"], "source_word": ["б", "б", "г"],
                          "target_word": ["в", "а", "бё"]})  # fmt: skip
    assert [list(breaks(pairs)) for breaks in CHECKS.values()] == [
        [False, True, False], [False, False, True], [False, False, True]]  # fmt: skip
