"""Paradigms 23 to 45: for each a sentence with a pair, and one that is much like it and has none."""

import gzip
from pathlib import Path

import pytest

from ucurve.errors import UserError
from ucurve.generation.rublimp.resources import Resources, read_resources
from ucurve.generation.rublimp.rules import (
    anaphors,
    argument_structure,
    aspect,
    negation,
    noun_phrases,
    quantifiers,
    reflexives,
    tense,
)
from ucurve.generation.treebank import Sentence, read_treebank
from ucurve.templates.pair import Pair

pytest.importorskip("pymorphy3")

MODULES = (anaphors, noun_phrases, quantifiers, reflexives, negation, argument_structure, aspect, tense)
RULES = {rule.paradigm: rule for module in MODULES for rule in module.RULES}
SENTENCES = {sentence.id: sentence for sentence in read_treebank(Path(__file__).with_name("sentences.conllu"))}

BAD = {
    "anaphor_agreement_number": "Старик долго говорил о доме, в которых он жил.",
    "anaphor_agreement_gender": "Мы нашли книгу, о котором говорил учитель.",
    "np_agreement_number": "Охотник вышел к глубокой рекам и остановился.",
    "np_agreement_gender": "Мастер купил новую стол для дома.",
    "np_agreement_case": "Охотник вышел к глубокую реке и остановился.",
    "floating_quantifier_agreement_number": "Вчера мы говорили с самими директором о работе.",
    "floating_quantifier_agreement_gender": "Сама директор открыл дверь и вышел.",
    "floating_quantifier_agreement_case": "Самого директор открыл дверь и вышел.",
    "external_possessor": "У себя было много старых книг.",
    "negative_concord": "Он никогда читал не этой книги.",
    "negative_pronoun_to_indefinite": "Сегодня кто-нибудь не пришел на урок.",
    "indefinite_pronoun_to_negative": "Вечером никто постучал в нашу дверь.",
    "transitive_verb": "Мальчик заснул книгу за один вечер.",
    "transitive_verb_subject": "Ящик открыл мальчика и нашел письмо.",
    "transitive_verb_passive": "Инженер был написан проектом за неделю.",
    "transitive_verb_object": "Учитель заставил камень прочитать письмо вслух.",
    "transitive_verb_iobject": "Мастер подарил ключу мальчика на праздник.",
    "change_duration_aspect": "Мальчик долго открыл тяжелую дверь.",
    "change_repetition_aspect": "Мальчик каждый день открыл эту дверь.",
    "deontic_imperative_aspect": "Не следует открыть эту старую дверь.",
    "single_verb_tense": "Вчера мальчик откроет эту старую дверь.",
    "conj_verb_tense": "Вчера мальчик откроет дверь и вышел.",
    "tense_marker": "Завтра мальчик открыл эту старую дверь.",
}


@pytest.fixture(scope="module")
def resources():
    return Resources({"открывать": "открыть"})


def find(paradigm: str, sentence: Sentence, resources: Resources) -> list[Pair]:
    return [found for found in RULES[paradigm].find(sentence, resources) if isinstance(found, Pair)]


def test_there_is_a_rule_for_each_of_the_23_paradigms():
    assert set(RULES) == set(BAD)


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


def test_a_form_that_can_be_read_as_the_original_one_is_no_bad_member(resources):
    """For the feminine there is one form of the genitive and the dative, so neither stands for the other."""
    targets = [
        found.columns["target_word"]
        for found in find("np_agreement_case", SENTENCES["np_agreement_case-good"], resources)
    ]
    assert "глубокой" not in targets


def test_a_few_of_the_words_that_fit_are_the_same_in_each_call(resources):
    few = Resources(words_per_place=3)
    sentence = SENTENCES["transitive_verb-good"]
    first, second = find("transitive_verb", sentence, few), find("transitive_verb", sentence, few)
    assert len(first) == 3
    assert first == second


def test_a_verb_without_a_partner_in_the_list_is_counted(resources):
    none = Resources()
    sentence = SENTENCES["change_duration_aspect-good"]
    assert list(RULES["change_duration_aspect"].find(sentence, none)) == [aspect.NO_PARTNER]


# The published resources.


def _write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_bytes(gzip.compress(text.encode()))


def test_of_several_partners_the_most_frequent_one_is_taken(tmp_path):
    _write(tmp_path, "freqrnc2011.csv.gz", "Lemma\tPoS\tFreq(ipm)\nсбросать\tv\t0.5\nсбросить\tv\t20.1\n")
    _write(tmp_path, "aspect_pair_zal.csv.gz", ",Imp,Perf\n0,сбрасывать,сбросать\n1,сбрасывать,сбросить\n")
    assert read_resources(tmp_path).aspect_pairs == {"сбрасывать": "сбросить"}


def test_suffixes_and_prefixes_of_roots_are_read(tmp_path):
    suffixes = "root,suffixes\nнож_NOUN,\"['ик', 'ищ']\"\nнож_ADJF,['ев']\nлес_NOUN,[]\n"
    _write(tmp_path, "suffix_root_concordance.csv.gz", suffixes)
    _write(tmp_path, "prefix_root_concordance.csv.gz", "root,prefixes\nчит_VERB,\"['с', 'пере']\"\n")
    assert read_resources(tmp_path).suffixes == {"нож": ["ик", "ищ", "ев"], "лес": []}
    assert read_resources(tmp_path).prefixes == {"чит": ["с", "пере"]}


def test_a_folder_without_files_gives_empty_resources(tmp_path):
    assert read_resources(tmp_path) == Resources()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("suffix_root_concordance.csv.gz", "root,suffixes\nнож_NOUN,exec('x')\n",
         r"suffix_root_concordance.csv.gz:2: expected a list of suffixes, as \['ик', 'ок'\]"),
        ("prefix_root_concordance.csv.gz", "root,prefixes\nчит_VERB,с\n",
         r"prefix_root_concordance.csv.gz:2: expected a list of prefixes"),
        ("freqrnc2011.csv.gz", "Lemma\tPoS\tFreq(ipm)\nдом\ts\tmany\n", r"freqrnc2011.csv.gz:2: the frequency 'many'"),
        ("freqrnc2011.csv.gz", "Lemma\tPoS\nдом\ts\n", r"freqrnc2011.csv.gz:1: no column 'Freq\(ipm\)'"),
        ("aspect_pair_zal.csv.gz", ",Imp,Perf\n0,дать\n", r"aspect_pair_zal.csv.gz:2: 2 fields where the header has 3"),
        ("past_tense_markers.json.gz", "{", r"past_tense_markers.json.gz:1: not JSON"),
        ("futr_tense_markers.json.gz", '{"год": 1}', r"futr_tense_markers.json.gz:1: expected nouns with lists"),
    ],
)  # fmt: skip
def test_a_broken_resource_is_named_with_its_line(tmp_path, name, text, message):
    _write(tmp_path, name, text)
    with pytest.raises(UserError, match=message):
        read_resources(tmp_path)


def test_a_resource_that_is_not_compressed_is_named(tmp_path):
    (tmp_path / "aspect_pair_zal.csv.gz").write_text("Imp,Perf\n")
    with pytest.raises(UserError, match=r"aspect_pair_zal.csv.gz: not a gzip file"):
        read_resources(tmp_path)


def test_resources_that_are_no_folder_are_refused(tmp_path):
    with pytest.raises(UserError, match="nowhere is no folder"):
        read_resources(tmp_path / "nowhere")
