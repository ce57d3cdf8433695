"""The 22 suites, made of a small vocabulary; and the published ones, followed word by word."""

import json
import random
from contextlib import suppress
from pathlib import Path

import pytest

from tests.generation.tse.recognize import recognizes
from tests.settings import tse_settings
from ucurve.generation.maker import Chooser
from ucurve.generation.tse import basque, hindi, swahili
from ucurve.generation.tse.make import make, read_suites
from ucurve.templates.pair import DrawFailed
from ucurve.yaml_files import read_yaml

LANGUAGES = ("eus", "hin", "swa")


def grammar_of(module):
    return read_yaml(Path(module.__file__).with_suffix(".yaml"), module.Grammar)


@pytest.fixture
def suite_of(vocabulary):
    def find(language, name, as_published=False):
        settings = tse_settings(vocabulary=vocabulary, as_published=as_published)
        return next(suite for suite in read_suites(settings, language) if suite.name == name)

    return find


@pytest.fixture
def sentences(suite_of):
    """All sentences that many draws of a suite give."""

    def draw(language, name, as_published=False, draws=400):
        suite, rng = suite_of(language, name, as_published), random.Random(0)
        found = {}
        for _ in range(draws):
            with suppress(DrawFailed):
                one = suite.draw(rng)
                found[one.good] = one
        return found

    return draw


def test_each_language_has_its_suites(vocabulary):
    names = [paradigm.name for paradigm in make(tse_settings(vocabulary=vocabulary), 0).paradigms]
    assert [sum(name.startswith(language) for name in names) for language in ("basque", "hindi", "swahili")] == [
        8,
        6,
        8,
    ]
    assert {"basque-IO-S_IO_DO_V_AUX", "hindi-S_ne_PossPRN_O_V", "swahili-N_of_Poss_D_AP_V_ni_AN"} < set(names)
    only = make(tse_settings(vocabulary=vocabulary, languages="hin"), 0)
    assert [paradigm.name.partition("-")[0] for paradigm in only.paradigms] == ["hindi"] * 6
    assert [path.name for path in only.inputs] == ["hindi.csv"]


@pytest.mark.parametrize(
    ("stem", "ending", "form"),
    [("alaba", "ak", "alabak"), ("zakur", "a", "zakurra"), ("etxe", "ari", "etxeari"), ("ume", "ek", "umeek")],
)
def test_basque_nouns(stem, ending, form):
    assert basque.inflect(stem, ending) == form


def test_basque_sentences(sentences):
    found = sentences("eus", "DO-S_DO_V_AUX")
    one = found["Aitak etxeak maite izan zituen."]
    assert one.bad == "Aitak etxeak maite izan zuen."
    assert one.columns == {
        "condition": "Aitak etxeak maite izan",
        "target_good": "zituen.",
        "target_bad": "zuen.",
        "focus": "DO",
        "tense": "PST",
        "number_S": "sg",
        "number_DO": "pl",
    }
    assert "Aitek mahai zapia maite izan zuten." in found
    # Animals may be lacking, persons not.
    assert "Zakurrari aitak falta zaizkio." not in sentences("eus", "S-IO_S_V_AUX")
    assert sentences("eus", "S-IO_S_V_AUX").keys() >= {
        "Aitari zakurrak falta zaizkio.",
        "Amonei zakurra falta zaie.",
    }


def test_hindi_sentences(sentences):
    found = sentences("hin", "S_ne_O_V", draws=1500)
    assert found["बेटी ने चश्मा फेंका था।"].bad == "बेटी ने चश्मा फेंकता था।"
    assert found["बेटी ने घड़ियाँ फेंकी हैं।"].columns["number_O"] == "pl"
    assert found["बेटों ने घड़ी को फेंका है।"].columns["object_marked"] is True
    assert found["बेटों ने बकरे को बुलाया है।"].bad == "बेटों ने बकरे को बुलाता है।"
    assert not any("बकरा बुला" in good for good in found)  # an animal as object is always marked
    assert sentences("hin", "S_O_V", draws=1500)["बेटियाँ बकरों को बुलाती थीं।"].bad == "बेटियाँ बकरों को बुलायी थीं।"


def test_hindi_possessives_agree_in_case(sentences):
    right, published = (sentences("hin", "S_ne_PossPRN_O_V", faults, draws=4000) for faults in (False, True))
    assert "बेटी ने मेरा चश्मा फेंका था।" in right
    assert "बेटी ने मेरा चश्मा फेंका था।" not in published
    assert "बेटी ने मेरे चश्मा फेंका था।" in published
    right, published = (
        sentences("hin", "S_ne_PossPRN_PossN_O_V", faults, draws=4000) for faults in (False, True)
    )
    assert not any(" का चश्मे को" in good for good in right)
    assert any(" का चश्मे को" in good for good in published)


def test_hindi_objects_of_any_class_are_alike_frequent(suite_of):
    suite, rng = suite_of("hin", "S_O_V"), random.Random(1)
    marked = [suite.draw(rng).columns["object_marked"] for _ in range(2000)]
    # Half of the sentences have a verb whose objects are persons or animals, and half of the others are marked.
    assert sum(marked) == pytest.approx(1500, abs=100)


@pytest.mark.parametrize(
    ("word", "of", "form"),
    [
        ("refu", 9, "ndefu"),
        ("dogo", 10, "ndogo"),
        ("baya", 9, "mbaya"),
        ("pya", 5, "jipya"),
        ("ema", 9, "njema"),
        ("eupe", 7, "cheupe"),
        ("angalifu", 2, "waangalifu"),
        ("kubwa", 10, "kubwa"),
    ],
)
def test_swahili_adjectives(word, of, form):
    grammar = grammar_of(swahili)
    assert swahili.adjective_form(grammar, grammar.exceptions, word, of) == form


def test_swahili_sentences(sentences):
    found = sentences("swa", "N_of_Poss_D_V", draws=4000)
    assert found["Kisu cha wajomba hawa kilivunjika."].bad == "Kisu cha wajomba hawa walivunjika."
    known = {
        name: found["Mjomba wa jembe lile anacheka."].columns[name]
        for name in ("tense", "attractor", "possessor_concord")
    }
    assert known == {"tense": "present", "attractor": "jembe", "possessor_concord": 5}
    # The noun of classes 9 and 10 is right with the prefixes of 1 and 2; no possessor has either.
    assert not any(good.startswith("Mbuzi wa mjomba") or good.startswith("Mbuzi wa wajomba") for good in found)


def test_targets_differ_and_the_same_seed_gives_the_same_pairs(vocabulary):
    made = make(tse_settings(vocabulary=vocabulary), 0)
    outcomes = [[Chooser(20, 3).choose(paradigm) for paradigm in made.paradigms] for _ in range(2)]
    assert [one.pairs for one in outcomes[0]] == [one.pairs for one in outcomes[1]]
    assert all(
        pair.columns["target_good"] != pair.columns["target_bad"] for one in outcomes[0] for pair in one.pairs
    )


@pytest.mark.parametrize(
    ("language", "name"),
    [("eus", "S-S_IO_DO_V_AUX"), ("hin", "S_ne_PossPRN_PossN_O_V"), ("swa", "N_of_Poss_D_A_V1_V2")],
)
def test_what_is_drawn_is_recognized_and_what_is_not_is_not(suite_of, sentences, language, name):
    suite = suite_of(language, name)
    drawn = list(sentences(language, name).values())[:10]
    assert len(drawn) == 10
    for one in drawn:
        condition, good, bad = (one.columns[key] for key in ("condition", "target_good", "target_bad"))
        assert recognizes(suite, condition, good, bad)
        assert not recognizes(suite, condition, bad, good)
        assert not recognizes(suite, condition.rpartition(" ")[0], good, bad)


@pytest.mark.parametrize("step", [50, pytest.param(6, marks=pytest.mark.long)])
def test_the_published_sentences_can_be_made(shared, step):
    settings = tse_settings(vocabulary=shared / "pairs" / "tse" / "vocabulary", as_published=True)
    suites = [suite for language in LANGUAGES for suite in read_suites(settings, language)]
    assert len(suites) == 22
    for suite in suites:
        file = shared / "benchmarks" / "tse" / f"{suite.vocabulary.path.stem}-{suite.name}.json"
        published = json.loads(file.read_text(encoding="utf-8"))[::step]
        missing = [one for one in published if not recognizes(suite, one[0][0], *one[1])]
        assert not missing


def test_hindi_verbs():
    grammar = grammar_of(hindi)
    assert hindi.conjugate(grammar, "बुला", True, "f_sg", "present") == "बुलायी है।"
    assert hindi.conjugate(grammar, "फेंक", True, "m_pl", "past") == "फेंके थे।"
    assert hindi.conjugate(grammar, "बुला", False, "f_pl", "past") == "बुलाती थीं।"


def test_a_folder_is_made_and_every_check_holds(vocabulary, tmp_path, run_command):
    given = ["source=tse", f"vocabulary={vocabulary}", f"out={tmp_path / 'made'}", "pairs=15"]
    assert run_command("generate", *given)[0] == 0
    code, text, _ = run_command("generate", f"check={tmp_path / 'made'}")
    assert code == 0
    rows = [line for line in text.splitlines() if line.startswith(("Basque:", "Hindi:", "Swahili:"))]
    assert len(rows) == 30  # ten checks for each language's table
    assert all(line.split()[-3] == "0" for line in rows), rows
