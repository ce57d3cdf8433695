"""Sentences whose changed form would be good Russian, or no example of the paradigm: the rules leave them out."""

import pytest

pytest.importorskip("pymorphy3")
from tests.generation.multiblimp.toy import sentence
from ucurve.generation.rublimp.grammar.agreement import agrees_somehow
from ucurve.generation.rublimp.make import RULES
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.treebank import read_treebank
from ucurve.templates.pair import Pair

FIND = {rule.paradigm: rule.find for rule in RULES}
PREFIXES = {
    "чит": ["с", "пере"],
    "рч": ["во"],
    "нн": ["со"],
    "ста": ["о", "с"],
    "вел": ["из", "про"],
    "сто": ["у", "до"],
}

NOM_SG, ACC_SG = "Case=Nom|Number=Sing", "Case=Acc|Number=Sing"
PAST = "Mood=Ind|Tense=Past|VerbForm=Fin|Number=Sing"
PRESENT = "Mood=Ind|Tense=Pres|VerbForm=Fin|Number=Sing"


def noun(form, head, deprel, case="Nom", gender="Masc", number="Sing", upos="NOUN", animacy="Inan"):
    feats = f"Animacy={animacy}|Case={case}|Gender={gender}|Number={number}"
    return f"{form}/{form.lower()}/{upos}/{feats}/{head}/{deprel}"


def pronoun(form, head, deprel="nsubj", case="Nom", person=1):
    return f"{form}/{form.lower()}/PRON/Case={case}|Number=Sing|Person={person}/{head}/{deprel}"


def verb(form, head=0, deprel="root", feats=f"{PAST}|Gender=Masc", upos="VERB"):
    return f"{form}/{form}/{upos}/{feats}/{head}/{deprel}"


def word(form, upos, head, deprel, feats="", lemma=None):
    return f"{form}/{form.lower() if lemma is None else lemma}/{upos}/{feats}/{head}/{deprel}"


@pytest.fixture(scope="module")
def resources():
    return Resources({"открывать": "открыть"}, prefixes=PREFIXES)


@pytest.fixture
def find(tmp_path, resources):
    def found(paradigm, *words):
        path = tmp_path / "one.conllu"
        path.write_text(sentence("one", *words), encoding="utf-8")
        [parsed] = read_treebank(path)
        made = list(FIND[paradigm](parsed, resources))
        bad = [one.bad for one in made if isinstance(one, Pair)]
        return bad, [one for one in made if isinstance(one, str)]

    return found


# The gender of a person is open.


@pytest.mark.parametrize(
    ("attractor", "gender", "bad"), [("книгу", "Fem", []), ("окно", "Neut", ["Я увидело окно"])]
)
def test_after_ya_an_attractor_makes_only_the_neuter_wrong(find, attractor, gender, bad):
    words = (pronoun("Я", 2), verb("увидел"), noun(attractor, 2, "obj", "Acc", gender))
    assert find("subj_predicate_agreement_gender_attractor", *words)[0] == bad


@pytest.mark.parametrize(
    ("subject", "bad"),
    [("директор", []), ("Клаусен", ["Клаусен увидело письмо"]), ("пьяница", ["пьяница увидело письмо"]),
     ("мальчик", ["мальчик увидело письмо"])],
)  # fmt: skip
def test_after_jobs_unknown_names_and_common_gender_too(find, subject, bad):
    upos = "PROPN" if subject[0].isupper() else "NOUN"
    first = noun(subject, 2, "nsubj", upos=upos, animacy="Anim")
    words = (first, verb("увидел"), noun("письмо", 2, "obj", "Acc", "Neut"))
    assert find("subj_predicate_agreement_gender_attractor", *words)[0] == bad


def test_the_number_after_joined_subjects_is_open(find):
    first, second = noun("мама", 4, "nsubj", gender="Fem"), noun("папа", 1, "conj")
    words = (first, word("и", "CCONJ", 3, "cc"), second, verb("любят", feats="Number=Plur|Person=3|Tense=Pres|Mood=Ind"),
             noun("сына", 4, "obj", "Acc"))  # fmt: skip
    bad, why = find("subj_predicate_agreement_number_attractor", *words)
    assert bad == []
    assert why == ["the value is open with this subject"]


# A subject that is left out, or is none.


def test_a_predicate_agrees_with_its_subject_in_the_good_sentence(find):
    words = (noun("дым", 2, "nsubj"), verb("едим", feats="Number=Plur|Person=1|Tense=Pres|Mood=Ind"))
    for paradigm in ("noun_subj_predicate_agreement_person", "noun_subj_predicate_agreement_number"):
        bad, why = find(paradigm, *words)
        assert bad == []
        assert why == ["the predicate does not agree with what is taken for its subject"]
    words = (noun("дым", 2, "nsubj"), verb("идет", feats=f"{PRESENT}|Person=3"))
    assert find("noun_subj_predicate_agreement_number", *words)[0] == ["дым идут"]


def test_a_genitive_object_of_a_verb_without_subject_is_no_subject(find):
    words = (
        word("не", "PART", 2, "advmod"),
        verb("видит", feats=f"{PRESENT}|Person=3"),
        noun("книги", 2, "obj", "Gen", "Fem"),
    )
    bad, why = find("genitive_subj_predicate_agreement_person", *words)
    assert bad == []
    assert why == ["the verb has a subject of its own"]
    words = (
        word("не", "PART", 2, "advmod"),
        verb("будет", feats=f"{PRESENT}|Person=3"),
        noun("конца", 2, "nsubj", "Gen"),
    )
    assert find("genitive_subj_predicate_agreement_number", *words)[0] == ["не будут конца"]
    words = (
        word("не", "PART", 2, "advmod"),
        verb("хватает", feats=f"{PRESENT}|Person=3"),  # which can have an object too
        noun("места", 2, "nsubj", "Gen", "Neut"),
    )
    assert find("genitive_subj_predicate_agreement_person", *words)[0] == ["не хватаю места", "не хватаешь места"]
    # which is a nominative plural too
    assert find("genitive_subj_predicate_agreement_number", *words) == (
        [],
        ["the form can be read as the original one"],
    )


def test_a_joined_predicate_that_shares_a_subject_has_no_clause_for_one(find):
    words = (noun("игра", 2, "nsubj", gender="Fem"), verb("выйдет", feats=f"{PRESENT}|Person=3"), word("и", "CCONJ", 4, "cc"),
             verb("будет", 2, "conj", f"{PRESENT}|Person=3", "AUX"), verb("нравиться", 4, "xcomp", "VerbForm=Inf"))  # fmt: skip
    bad, why = find("clause_subj_predicate_agreement_person", *words)
    assert bad == []
    assert why == ["the verb has a subject of its own"]


@pytest.mark.parametrize(
    ("subject", "singular", "bad"),
    [("все", "слушал", []), ("Кто", "слушал", []), ("ученики", "слушал", ["ученики слушал"])],
)  # fmt: skip
def test_who_and_everybody_may_go_with_both_numbers(find, subject, singular, bad):
    number = "Sing" if subject == "Кто" else "Plur"
    first = word(subject, "PRON" if subject != "ученики" else "NOUN", 2, "nsubj", f"Case=Nom|Number={number}")
    form = "слушал" if subject == "Кто" else "слушали"
    words = (first, verb(form, feats=f"Mood=Ind|Tense=Past|Number={number}"))
    assert [
        one for one in find("noun_subj_predicate_agreement_number", *words)[0] if one.endswith(singular)
    ] == bad


def test_after_per_cent_the_number_is_open(find):
    words = (word("%", "SYM", 2, "nsubj"), verb("заняты", feats="Number=Plur|Variant=Short|VerbForm=Part"))
    assert find("noun_subj_predicate_agreement_number", *words) == ([], ["the value is open with this subject"])


@pytest.mark.parametrize(
    ("subject", "seen", "bad"),
    [
        ("дом", "поля", []),
        ("дом", "поле", ["дом закрывают поле"]),
        ("мальчик", "поля", ["мальчик закрывают поля"]),
    ],
)
def test_the_object_can_be_the_subject_of_another_form(find, subject, seen, bad):
    number = "Plur" if seen == "поля" else "Sing"
    words = (noun(subject, 2, "nsubj", animacy="Anim" if subject == "мальчик" else "Inan"), verb("закрывает", feats=f"{PRESENT}|Person=3"),
             noun(seen, 2, "obj", "Acc", "Neut", number))  # fmt: skip
    assert find("noun_subj_predicate_agreement_number", *words)[0] == bad


def test_a_form_that_needs_no_subject_is_good(find):
    words = (
        verb("видны", feats="Number=Plur|Variant=Short", upos="ADJ"),
        noun("черты", 1, "nsubj", gender="Fem", number="Plur"),
    )
    assert "видно черты" not in find("noun_subj_predicate_agreement_number", *words)[0]
    assert "видна черты" in find("noun_subj_predicate_agreement_number", *words)[0]


# Samyj.


@pytest.mark.parametrize(
    ("before", "lemma", "form", "found"),
    [("на", "самый", "деле", False), ("на", "сам", "деле", True), ("на", "", "деле", False), ("до", "", "дна", False),
     ("о", "", "директоре", True)],
)  # fmt: skip
def test_samyj_is_told_by_its_lemma_or_by_where_it_stands(find, before, lemma, form, found):
    case, gender = ("Gen", "Neut") if form == "дна" else ("Loc", "Masc" if form == "директоре" else "Neut")
    which = word("самого" if form == "дна" else "самом", "ADJ", 4, "amod", f"Case={case}|Number=Sing", lemma)
    words = (verb("говорил"), word(before, "ADP", 4, "case"), which, noun(form, 1, "obl", case, gender))
    for paradigm in ("number", "gender", "case"):
        assert bool(find(f"floating_quantifier_agreement_{paradigm}", *words)[0]) == found


def test_the_same_is_samyj(find):
    words = (verb("встретил"), word("того", "DET", 4, "det", "Case=Acc|Number=Sing"),
             word("самого", "ADJ", 4, "amod", "Case=Acc|Number=Sing", ""), noun("директора", 1, "obj", "Acc", animacy="Anim"))  # fmt: skip
    assert find("floating_quantifier_agreement_case", *words)[0] == []


# Agents of passives.


@pytest.mark.parametrize(
    ("participle", "deprel", "found"),
    [("построен", "obl:agent", True), ("построен", "obl", True), ("построен", "xcomp", False), ("провозглашен", "obl", False),
     ("назначен", "iobj", False), ("назначен", "obl:agent", True)],
)  # fmt: skip
def test_a_predicate_in_the_instrumental_is_no_agent(find, participle, deprel, found):
    passive = verb(participle, feats="Gender=Masc|Number=Sing|Variant=Short|VerbForm=Part|Voice=Pass")
    words = (noun("мост", 2, "nsubj:pass"), passive, noun("королем", 2, deprel, "Ins", animacy="Anim"))
    assert bool(find("transitive_verb_passive", *words)[0]) == found


def test_the_instrumental_of_a_reflexive_verb_is_an_agent_where_the_tree_says_so(find):
    reflexive = verb("является", feats=f"{PRESENT}|Person=3|Voice=Mid")
    for deprel, found in (("obl", False), ("obl:agent", True)):
        words = (noun("Дом", 2, "nsubj"), reflexive, noun("королем", 2, deprel, "Ins", animacy="Anim"))
        assert bool(find("transitive_verb_passive", *words)[0]) == found


def test_an_agent_gives_way_to_a_noun_that_is_no_instrument(find):
    passive = verb("сбит", feats="Gender=Masc|Number=Sing|Variant=Short|VerbForm=Part|Voice=Pass")
    words = (noun("мост", 2, "nsubj:pass"), passive, noun("королем", 2, "obl:agent", "Ins", animacy="Anim"))
    bad = find("transitive_verb_passive", *words)[0]
    assert "мост сбит островом" in bad
    assert "мост сбит камнем" not in bad


# Pronouns and negation.


def test_an_indefinite_pronoun_needs_a_verb(find):
    words = (word("У", "ADP", 2, "case"), pronoun("меня", 3, "obl", "Gen"), word("что-то", "PRON", 0, "root"))
    assert find("indefinite_pronoun_to_negative", *words) == ([], ["the pronoun stands with no verb"])
    words = (word("Кто-то", "PRON", 2, "nsubj"), verb("стучал"))
    assert find("indefinite_pronoun_to_negative", *words)[0] == ["Никто стучал"]


@pytest.mark.parametrize(
    ("words", "why"),
    [((word("Кто-то", "PRON", 3, "nsubj"), word("не", "PART", 3, "advmod"), verb("стучал")), "the verb is negated"),
     ((word("Кто-то", "PRON", 2, "nsubj"), verb("стучал"), word("?", "PUNCT", 2, "punct")), "a question or a condition")],
)  # fmt: skip
def test_a_negated_verb_and_a_question_give_no_negative_pronoun(find, words, why):
    assert find("indefinite_pronoun_to_negative", *words) == ([], [why])


def test_a_form_of_they_is_no_negative_pronoun(find):
    words = (word("ними", "PRON", 3, "obl", "Ins"), word("не", "PART", 3, "advmod"), verb("занимался"), word("в", "ADP", 5, "case"),
             noun("доме", 3, "obl", "Loc"))  # fmt: skip
    assert find("negative_concord", *words)[0] == []


def test_a_negative_pronoun_stands_with_the_negated_verb(find):
    none = (word("нет", "VERB", 0, "root"), word("никаких", "DET", 3, "det"), noun("денег", 1, "nsubj", "Gen", number="Plur"),
            word("и", "CCONJ", 6, "cc"), word("не", "PART", 6, "advmod"), verb("будет", 1, "conj"), word("в", "ADP", 8, "case"),
            noun("доме", 6, "obl", "Loc"))  # fmt: skip
    assert find("negative_pronoun_to_indefinite", *none) == ([], ["the pronoun stands with no negated verb"])
    assert find("negative_concord", *none)[0] == []
    one = (word("ничего", "PRON", 4, "obj"), word("не", "PART", 3, "advmod"), verb("мог"), verb("купить", 3, "xcomp", "VerbForm=Inf"),
           word("в", "ADP", 6, "case"), noun("доме", 4, "obl", "Loc"))  # fmt: skip
    assert find("negative_pronoun_to_indefinite", *one)[0] == [
        "что-нибудь не мог купить в доме",
        "чего-нибудь не мог купить в доме",
    ]
    assert "ничего мог не купить в доме" not in find("negative_concord", *one)[0]
    assert "ничего мог купить не в доме" in find("negative_concord", *one)[0]


@pytest.mark.parametrize(("sign", "bad"), [(".", ["кого-нибудь не смущает ."]), ("?", [])])
def test_an_indefinite_pronoun_is_good_in_a_question(find, sign, bad):
    feats = f"{PRESENT}|Person=3"
    words = (word("никого", "PRON", 3, "obj", "Case=Acc"), word("не", "PART", 3, "advmod"), verb("смущает", feats=feats),
             word(sign, "PUNCT", 3, "punct"))  # fmt: skip
    assert find("negative_pronoun_to_indefinite", *words)[0] == bad


# Prefixes.


@pytest.mark.parametrize(
    ("form", "bad"),
    [("пересчитал", ["сперечитал"]), ("произвел", ["изпровел"]), ("ворчишь", []), ("сонны", []), ("останавливается", []),
     ("оставил", []), ("стучал", [])],
)  # fmt: skip
def test_only_prefixes_are_exchanged(find, form, bad):
    assert find("change_verb_prefixes_order", verb(form))[0] == bad


def test_a_prefix_is_added_at_the_beginning_or_after_another(find):
    bad = find("add_verb_prefix", verb("ворчишь"))[0]
    assert "выворчишь" in bad
    assert not any(form.startswith("вы") and form != "выворчишь" for form in bad)
    assert all(form.endswith("ворчишь") for form in bad)
    assert "перевысчитал" in find("add_verb_prefix", verb("пересчитал"))[0]


# Exchanged arguments.


@pytest.mark.parametrize(
    ("form", "feats", "bad"),
    [("смотрела", f"{PAST}|Gender=Fem", []), ("смотрю", f"{PRESENT}|Person=1", []),
     ("смотрел", f"{PAST}|Gender=Masc", ["Сайт смотрел меня"])],
)  # fmt: skip
def test_a_verb_agrees_with_the_noun_in_its_subjects_place(find, form, feats, bad):
    words = (pronoun("Я", 2), verb(form, feats=feats), noun("сайт", 2, "obj", "Acc"))
    found, why = find("transitive_verb_subject", *words)
    assert found == bad
    assert why == ([] if bad else ["the verb would not agree with the other noun"])


@pytest.mark.parametrize(
    ("child", "found"),
    [(word("Алексеевна", "PROPN", 1, "flat:name", "Case=Nom|Number=Sing"), False),
     (word("учитель", "NOUN", 1, "appos", "Case=Nom|Number=Sing"), False),
     (word("школы", "NOUN", 1, "nmod", "Case=Gen|Number=Sing"), False),
     (word("даже", "PART", 1, "advmod"), True)],
)  # fmt: skip
def test_what_belongs_to_a_noun_never_stays_behind(find, child, found):
    words = (noun("Ольга", 3, "nsubj", gender="Fem", upos="PROPN", animacy="Anim"), child, verb("открыла", feats=f"{PAST}|Gender=Fem"),
             noun("книгу", 3, "obj", "Acc", "Fem"))  # fmt: skip
    assert bool(find("transitive_verb_subject", *words)[0]) == found
    held = (word("У", "ADP", 2, "case"), noun("Ольги", 4, "obl", "Gen", "Fem", upos="PROPN", animacy="Anim"), child.replace("/1/", "/2/"),
            verb("была", feats=f"{PAST}|Gender=Fem"), noun("книга", 4, "nsubj", gender="Fem"))  # fmt: skip
    assert bool(find("external_possessor", *held)[0]) == found


def test_under_negation_the_genitive_is_good(find):
    negated = (word("не", "PART", 2, "advmod"), verb("читал"), noun("роман", 2, "obj", "Acc"))
    assert find("verb_acc_object", *negated)[0] == ["не читал роману"]


def test_everything_can_be_called_something(find):
    words = (
        verb("назвал"),
        noun("мальчика", 1, "obj", "Acc", animacy="Anim"),
        noun("королем", 1, "obl", "Ins", animacy="Anim"),
    )
    assert find("transitive_verb_object", *words)[0] == []


def test_a_part_of_a_name_keeps_its_case(find):
    name = noun("Ивана", 1, "obj", "Acc", upos="PROPN", animacy="Anim")
    assert find("verb_acc_object", verb("увидел"), name)[0] == ["увидел Ивану"]
    second = noun("Петровича", 2, "flat:name", "Acc", upos="PROPN", animacy="Anim")
    assert find("verb_acc_object", verb("увидел"), name, second)[0] == []


def test_the_noun_in_a_names_place_has_the_gender_that_the_verb_shows(find):
    name = noun("Кэрол", 2, "nsubj", upos="PROPN", animacy="Anim")
    words = (name, verb("открыла", feats=f"{PAST}|Gender=Fem"), noun("двери", 2, "obj", "Acc", "Fem", "Plur"))
    bad = find("transitive_verb_subject", *words)[0]
    assert "Лампа открыла двери" in bad
    assert "Стол открыла двери" not in bad


@pytest.mark.parametrize(
    ("complement", "found"),
    [(verb("уйти", 1, "xcomp", "VerbForm=Inf"), True), (verb("уйти", 1, "conj", "VerbForm=Inf"), False),
     (noun("королем", 1, "obl", "Ins", animacy="Anim"), True), (noun("оружием", 1, "obl", "Ins", "Neut"), False)],
)  # fmt: skip
def test_an_object_must_be_a_person_only_with_an_infinitive_or_a_noun_for_persons(find, complement, found):
    words = (verb("считал"), noun("мальчика", 1, "obj", "Acc", animacy="Anim"), complement)
    assert bool(find("transitive_verb_object", *words)[0]) == found
    modified = (*words, word("своего", "DET", 2, "det", "Case=Acc|Gender=Masc|Number=Sing"))
    assert find("transitive_verb_object", *modified)[0] == []


# Cases.


def test_no_other_case_that_may_be_an_instrument_an_agent_or_a_receiver(find):
    assert find("verb_acc_object", verb("купил"), noun("стол", 1, "obj", "Acc"))[0] == [
        "купил стола",
        "купил столу",
    ]
    assert find("verb_gen_object", verb("боялся"), noun("страха", 1, "obj", "Gen"))[0] == ["боялся страхом"]
    assert find("verb_ins_object", verb("писал"), noun("пером", 1, "obl", "Ins", "Neut"))[0] == ["писал перу"]
    reading = word("изучение", "NOUN", 0, "root", "Case=Nom|Gender=Neut|Number=Sing")
    assert find("nominalization_case", reading, noun("закона", 1, "nmod", "Gen"))[0] == [
        "изучение закон",
        "изучение законе",
    ]


# Possessors.


def test_a_possessor_has_something(find):
    so = (
        word("У", "ADP", 2, "case"),
        pronoun("нас", 3, "obl", "Gen"),
        word("так", "ADV", 0, "root"),
        verb("было", 3, "cop", upos="AUX"),
    )
    assert find("external_possessor", *so)[0] == []
    sign = (word("У", "ADP", 2, "case"), pronoun("нас", 5, "obl", "Gen"), word(",", "PUNCT", 5, "punct"), word("где", "ADV", 5, "advmod"),
            verb("был"), noun("дом", 5, "nsubj"))  # fmt: skip
    assert find("external_possessor", *sign)[0] == []


# Aspect.


@pytest.mark.parametrize(
    ("form", "feats", "bad"),
    [("открывал", f"{PAST}|Gender=Masc", ["долго открыл"]), ("открывает", f"{PRESENT}|Person=3", []),
     ("открывать", "VerbForm=Inf", [])],
)  # fmt: skip
def test_only_a_past_is_made_perfective(find, resources, form, feats, bad):
    words = (
        word("долго", "ADV", 2, "advmod"),
        verb(form, feats=feats),
        *([verb("будет", 2, "aux", PRESENT, "AUX")] if "Inf" in feats else []),
    )
    assert find("change_duration_aspect", *words)[0] == bad


# Antecedents.


@pytest.mark.parametrize(("attractor", "bad"), [("дома", False), ("воды", True)])
def test_a_relative_pronoun_that_agrees_with_a_noun_between_is_good(find, attractor, bad):
    gender = "Masc" if attractor == "дома" else "Fem"
    words = (noun("крышу", 0, "root", "Acc", "Fem"), noun(attractor, 1, "nmod", "Gen", gender), word("о", "ADP", 4, "case"),
             word("которой", "PRON", 5, "obl", "Case=Loc|Gender=Fem|Number=Sing"), verb("говорил", 1, "acl:relcl"))  # fmt: skip
    assert (f"крышу {attractor} о котором говорил" in find("anaphor_agreement_gender", *words)[0]) == bad


def test_a_relative_pronoun_may_belong_to_the_head_of_its_antecedent(find):
    def words(head):
        return (noun(head, 0, "root", "Acc", "Neut", "Plur" if head == "имена" else "Sing"), noun("людей", 1, "nmod", "Gen", number="Plur"),
                word("о", "ADP", 4, "case"), word("которых", "PRON", 5, "obl", "Case=Loc|Number=Plur"), verb("говорил", 2, "acl:relcl"))  # fmt: skip

    assert find("anaphor_agreement_number", *words("имена"))[0] == ["имена людей о котором говорил"]
    assert find("anaphor_agreement_number", *words("имя"))[0] == ["имя человека о которых говорил"]


@pytest.mark.parametrize(("head", "case", "adjective", "bad"), [
    ("президент", "Nom", "новый", []), ("президента", "Gen", "нового", ["новой"]), ("дом", "Nom", "новый", ["новая", "новое"]),
])  # fmt: skip
def test_a_woman_may_have_the_masculine_name_of_her_job_in_the_nominative(find, head, case, adjective, bad):
    feats = f"Case={case}|Gender=Masc|Number=Sing"
    words = (
        word(adjective, "ADJ", 2, "amod", feats),
        noun(head, 0, "root", case, animacy="Inan" if head == "дом" else "Anim"),
    )
    assert find("np_agreement_gender", *words)[0] == [f"{form} {head}" for form in bad]


def test_each_other_and_adjectives_are_no_indirect_objects(find):
    other = (verb("подарил"), word("друг", "NOUN", 3, "fixed", "Case=Nom"), noun("другу", 1, "iobj", "Dat", animacy="Anim"),
             noun("книгу", 1, "obj", "Acc", "Fem"))  # fmt: skip
    assert find("transitive_verb_iobject", *other) == ([], [])
    young = (verb("подарил"), word("молодому", "ADJ", 3, "amod", "Case=Dat|Number=Sing|Gender=Masc"),
             noun("дому", 1, "iobj", "Dat"), noun("книгу", 1, "obj", "Acc", "Fem"))  # fmt: skip
    assert find("transitive_verb_iobject", *young) == ([], [])


def test_the_gender_of_a_name_that_does_not_inflect_is_open(find):
    words = (
        word("снежный", "ADJ", 2, "amod", "Case=Nom|Gender=Masc|Number=Sing"),
        noun("Сочи", 0, "root", upos="PROPN"),
    )
    assert find("np_agreement_gender", *words) == ([], ["the gender of a name that does not inflect is open"])


@pytest.mark.parametrize("noun", ["персонаж", "робот"])
def test_the_second_accusative_of_animate_nouns_agrees_as_that_of_inanimate_nouns(resources, noun):
    """Its analysis has both animacies; which one pymorphy names changes from process to process."""
    assert agrees_somehow(noun, "новый")
    assert not agrees_somehow(noun, "нового")
