import json
import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.generation.multiblimp.toy import BAD, GOOD, KURAS, PL, SG, noun, pairs_of, sentence, treebank, verb
from tests.settings import multiblimp_settings
from ucurve.errors import UserError
from ucurve.generation.check import check_folder
from ucurve.generation.multiblimp.check import CHECKS, _read_tags, _rows_differ_in
from ucurve.generation.multiblimp.collocations import Condition, judge_collocation
from ucurve.generation.multiblimp.languages import LanguageSettings, without_marks
from ucurve.generation.multiblimp.lexicon import Lexicon, count_forms, treebank_entries, unimorph_entries
from ucurve.generation.multiblimp.make import BALANCED, inverse_probabilities, make
from ucurve.generation.multiblimp.relations import find_relations, is_readable
from ucurve.templates.pair import Pair


def test_verbs_are_swapped_for_the_form_of_the_other_value(made):
    _, found = made(*GOOD)
    assert {name: pairs_of(paradigm) for name, paradigm in found.items()} == {
        "SV-Number-PL-SG-SV": {"katoj kurajn": "katoj kuras", "hundoj bojajn": "hundoj bojas",
                               "katoj estajn kurinta": "katoj estas kurinta"},
        "SV-Number-SG-PL-SV": {"Kato kuras": "Kato kurajn", "hundo bojas": "hundo bojajn",
                               "kato de hundoj kuras": "kato de hundoj kurajn",
                               "hundo estas kurinta": "hundo estajn kurinta"},
        "SV-Number-SG-PL-VS": {"Kuras kato": "Kurajn kato"},
    }  # fmt: skip


def test_what_is_known_of_a_pair(made):
    _, found = made(*GOOD)
    by_id = {
        pair.columns["sentence_id"]: pair.columns for paradigm in found.values() for pair in paradigm.candidates
    }
    wanted = {"feature_vals": "SG -> PL", "word_order": "SV", "distance": 3, "subject": "kato", "verb": "kuras",
              "wrong_verb": "kurajn", "prefix": "kato de hundoj", "role": "verb", "attractors": 1, "has_attractors": True,
              "all_congruent": False, "all_incongruent": True, "treebank": "toy-ud-dev", "agreement": "uncertain"}  # fmt: skip
    assert {name: by_id["attractor"][name] for name in wanted} == wanted
    assert (by_id["order"]["distance"], by_id["order"]["word_order"]) == (-1, "VS")
    assert by_id["auxiliary"]["role"] == "auxiliary"
    assert not by_id["sg"]["all_congruent"]


@pytest.mark.parametrize("fault", BAD)
def test_sentences_and_subjects_that_are_left_out(read, made, fault):
    [found] = read(BAD[fault])
    assert not is_readable(found) or not list(find_relations(found))
    _, paradigms = made(*GOOD, BAD[fault])
    assert not [pair for one in paradigms.values() for pair in one.candidates if pair.good == found.text]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (sentence("x", noun("kato", "kato", SG), verb("kurajn", "kuri", PL)), "annotated as not agreeing"),
        (sentence("x", noun("kato", "kato", SG), verb("dormas", "dormi", SG)), "no form of another value"),
        (sentence("x", noun("cervo", "cervo", SG), KURAS) + sentence("y", noun("cervo", "cervo", PL, 2, "obj"), KURAS),
         "the subject may have the other value too"),
        (sentence("x", noun("kato", "kato", SG), verb("iras", "iri", SG)) + sentence("y", noun("katoj", "kato", PL),
         verb("iras", "iri", PL)), "the form is the same"),
        (sentence("x", noun("kato", "kato", SG), verb("venas", "veni", SG))
         + sentence("y", noun("katoj", "kato", PL), verb("venes", "veni", PL))
         + sentence("z", noun("kato", "kato", SG), verb("venes", "alveni", SG)), "the form may have the right value too"),
    ],
)  # fmt: skip
def test_forms_that_make_no_minimal_pair_have_a_reason(made, more, reason):
    _, found = made(*GOOD, more)
    reasons = {why for paradigm in found.values() for why in paradigm.dropped}
    assert reason in reasons
    assert all(pair.good != pair.bad for paradigm in found.values() for pair in paradigm.candidates)


def test_a_verb_inside_a_multiword_token_has_no_text_to_swap(made):
    rows = sentence("mwt", noun("kato", "kato", SG), KURAS, "lin/li/PRON//2/obj").splitlines()
    rows.insert(2, "2-3\tkuraslin" + "\t_" * 8)
    result, found = made(*GOOD, "\n".join([*rows, "", ""]))
    assert found["SV-Number-SG-PL-SV"].dropped["part of a multiword token"] == 1
    assert result.paradigms


def test_forms_of_unimorph(made):
    only_sg = [GOOD[0], sentence("pl", noun("katoj", "kato", PL, 2, "obj"), "kuri/kuri/VERB/VerbForm=Inf/0/root")]
    with pytest.raises(UserError, match="Number: no verb has different forms for different values"):
        made(*only_sg)
    forms = "kuri\tkuras\tV;IND;PRS;SG\nkuri\tkurajn\tV;IND;PRS;PL\nkuri\tkuros\tV;IND;FUT;PL\nkuri\tja kuru\tV;IND;PRS;PL\n"
    _, found = made(*only_sg, unimorph=forms)
    assert pairs_of(found["SV-Number-SG-PL-SV"]) == {"Kato kuras": "Kato kurajn"}


def test_features_of_unimorph_that_are_open_or_have_alternatives(tmp_path):
    (tmp_path / "forms").write_text("see\tsaw\tV;PST\nbe\twere\tV;PST;2+3;SG/PL\n\n", encoding="utf-8")
    lexicon = Lexicon(unimorph_entries(tmp_path / "forms", LanguageSettings()))
    assert lexicon.values("VERB", "saw", "Number", {}) is None
    assert lexicon.values("VERB", "were", "Number", {}) == {"Sing", "Plur"}
    assert lexicon.values("VERB", "were", "Person", {"Tense": frozenset(["Pres"])}) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("kuri\tkuras", r"forms:2: lemma, form and features are expected between tabs, not 'kuri\\tkuras'"),
        ("kuri\tkuras\tQ;SG", r"forms:2: .*|unknown part of speech 'Q' in .*forms:2; allowed: "),
        ("\tkuras\tV;SG", r"forms:2: lemma, form and features"),
    ],
)
def test_a_broken_line_of_unimorph(tmp_path, line, message):
    (tmp_path / "forms").write_text(f"kuri\tkuras\tV;SG\n{line}\n", encoding="utf-8")
    with pytest.raises(UserError, match=message):
        unimorph_entries(tmp_path / "forms", LanguageSettings())
    (tmp_path / "forms").write_text("\n")
    with pytest.raises(UserError, match="holds no forms"):
        unimorph_entries(tmp_path / "forms", LanguageSettings())


def test_rare_forms_are_noise(read):
    sentences = read(*[GOOD[0]] * 6, sentence("slip", noun("Kato", "kato", SG), verb("kuraz", "kuri", SG)))
    counts = count_forms(sentences)
    forms = {entry.form for entry in treebank_entries(counts, 3)}
    assert "kuras" in forms
    assert "kuraz" not in forms
    assert "kuraz" in {entry.form for entry in treebank_entries(counts, 100)}


@pytest.mark.parametrize(
    ("same", "total", "mark"),
    [(0, 0, "uncertain"), (99, 100, "significant"), (80, 100, "none"), (19, 20, "probable"), (9, 10, "uncertain"),
     (17, 20, "uncertain"), (29, 29, "significant"), (28, 28, "probable")],
)  # fmt: skip
def test_the_four_marks(same, total, mark):
    assert judge_collocation(Condition("SV", "Number", "Sing", "SV"), same, total).mark == mark


@given(st.integers(1, 200), st.data())
def test_the_two_tests_are_tails_of_the_binomial_distribution(total, data):
    same = data.draw(st.integers(0, total))
    found = judge_collocation(Condition("SV", "Number", "Sing", "SV"), same, total)
    tail = [math.comb(total, k) * 0.9**k * 0.1 ** (total - k) for k in range(total + 1)]
    assert found.p_greater == pytest.approx(sum(tail[same:]), abs=2e-6)
    assert found.p_less == pytest.approx(sum(tail[: same + 1]), abs=2e-6)


@given(st.lists(st.tuples(*(st.sampled_from("ab") for _ in BALANCED)), min_size=1, max_size=20))
def test_weights_are_the_inverse_of_the_joint_probability(rows):
    candidates = [Pair("", "", dict(zip(BALANCED, row, strict=True))) for row in rows]
    weights = inverse_probabilities(candidates)
    assert sum(weights) == pytest.approx(1)
    products = [
        math.prod(sum(other[at] == row[at] for other in rows) / len(rows) for at in range(len(BALANCED)))
        for row in rows
    ]
    assert all(
        weight * product == pytest.approx(weights[0] * products[0])
        for weight, product in zip(weights, products, strict=True)
    )


def test_a_condition_without_agreement_gives_no_pairs_and_says_why(made):
    against = [sentence(f"n{number}", noun("katoj", "kato", PL), KURAS) for number in range(30)]
    result, found = made(*GOOD, *against)
    assert found["SV-Number-PL-SG-SV"].candidates == []
    assert found["SV-Number-PL-SG-SV"].note == "no agreement: 3 of 33 verbs have the value PL of their subject"
    assert found["SV-Number-PL-SG-SV"].dropped["no agreement"] == 3
    assert found["SV-Number-SG-PL-SV"].candidates
    row = next(row for row in result.tables["agreement"] if row["value"] == "Plur")
    assert (row["same"], row["total"], row["agreement"]) == (3, 33, "none")


def test_a_language_without_inflection(made):
    message = "no pairs: zho shows no agreement in these treebanks: Number: no subject and no verb has"
    with pytest.raises(UserError, match=message):
        made(sentence("x", "猫/猫/NOUN//2/nsubj", "跑/跑/VERB//0/root"), language="zho")


def test_settings_of_languages(made, tmp_path):
    past = sentence(
        "past", noun("katoj", "kato", PL), "kurijn/kuri/VERB/VerbForm=Fin|Tense=Past|Number=Plur/0/root"
    )
    past += sentence(
        "past-sg", noun("kato", "kato", SG), "kuris/kuri/VERB/VerbForm=Fin|Tense=Past|Number=Sing/0/root"
    )
    assert "katoj kurijn" in pairs_of(made(*GOOD, past)[1]["SV-Number-PL-SG-SV"])
    assert "katoj kurijn" not in pairs_of(made(*GOOD, past, language="eng")[1]["SV-Number-PL-SG-SV"])
    assert without_marks("Tā cēnat") == "Ta cenat"
    _, found = made(*(text.replace("kato", "kāto") for text in GOOD), language="lat")
    assert "katoj kurajn" in pairs_of(found["SV-Number-PL-SG-SV"])


def test_treebanks_that_the_paper_leaves_out(made, tmp_path):
    (tmp_path / "en_gum-ud-dev.conllu").write_text(treebank(GOOD[0]), encoding="utf-8")
    result, _ = made(*GOOD, language="eng")
    assert (
        result.notes[0]
        == "en_gum-ud-dev.conllu: the paper leaves this treebank out; as_published=true does so too"
    )
    result, _ = made(*GOOD, language="eng", as_published=True)
    assert result.notes[0] == "en_gum-ud-dev.conllu: left out, as in the paper"
    assert [path.name for path in result.inputs] == ["toy-ud-dev.conllu"]
    (tmp_path / "toy-ud-dev.conllu").unlink()
    with pytest.raises(UserError, match=r"the paper leaves out en_gum-ud-dev.conllu, and no other is given"):
        make(multiblimp_settings(treebanks=(str(tmp_path / "en_*"),), language="eng", as_published=True), 0)
    with pytest.raises(UserError, match=r"treebanks: no file .*nix"):
        make(multiblimp_settings(treebanks=(str(tmp_path / "nix"),), language="eng"), 0)


def test_a_folder_with_its_table_of_agreement(command, tmp_path):
    assert command(f"out={tmp_path / 'dutch'}", "pairs=2")[0] == 0
    lines = (tmp_path / "dutch" / "SV-Number-SG-PL-SV.jsonl").read_text().splitlines()
    assert len(lines) == 2
    assert json.loads(lines[0])["phenomenon"] == "SV-#"
    table = pd.read_csv(tmp_path / "dutch" / "agreement.csv")
    assert list(table["total"]) == [3, 4, 1]
    report = json.loads((tmp_path / "dutch" / "report.json").read_text())
    assert report["kept"] == 5


def test_the_stage_agreement_prints_the_table_alone(command, tmp_path):
    code, said, _ = command("stage=agreement")
    assert code == 0
    assert said.splitlines()[:2] == [
        "agreement",
        "relation  feature  value  order  same  total  share  p_greater  p_less  agreement",
    ]
    assert [entry.name for entry in tmp_path.iterdir()] == ["toy-ud-dev.conllu"]
    assert command("stage=agreement", f"out={tmp_path / 'table'}")[0] == 0
    assert [entry.name for entry in (tmp_path / "table").iterdir()] == ["agreement.csv"]


def test_the_checks_find_faults():
    pairs = pd.DataFrame({"good": ["A b c", "A b c", "a b"], "bad": ["A d c", "A b", "A c"], "distance": [1, -1, 1],
                          "word_order": ["SV", "SV", "SV"]})  # fmt: skip
    found = {name: list(breaks(pairs)) for name, breaks in CHECKS.items()}
    assert list(found.values()) == [[False, True, True], [False, False, True], [False, True, False]]


@pytest.mark.long
def test_agreement_of_dutch_and_turkish_is_that_of_the_paper(shared):
    def table(pattern, language, unimorph=None):
        settings = multiblimp_settings(
            treebanks=(str(shared / "treebanks" / pattern),),
            language=language,
            unimorph=unimorph,
            stage="agreement",
        )
        rows = make(settings, 0).tables["agreement"]
        return {
            (row["value"], row["order"]): (row["share"], row["agreement"])
            for row in rows
            if row["feature"] == "Number"
        }

    dutch = table("nl_*", "nld", shared / "unimorph" / "nld")
    assert all(mark == "significant" and share >= 0.99 for share, mark in dutch.values())
    assert len(dutch) == 4
    turkish = table("tr_*", "tur")
    assert turkish["Plur", "SV"][1] == turkish["Plur", "VS"][1] == "none"
    assert turkish["Plur", "SV"][0] == pytest.approx(0.178, abs=0.01)  # without nouns behind verbs of saying
    assert turkish["Plur", "VS"][0] == 0
    assert turkish["Sing", "SV"][1] == turkish["Sing", "VS"][1] == "significant"


def changing(said):
    """How many pairs of how many the check finds in which another feature changes."""
    name = "no feature but the asked one changes"
    return next(line.removeprefix(name).split()[:2] for line in said.splitlines() if line.startswith(name))


FORMS = "kuri\tkuras\tV;IND;PRS;SG\nkuri\tkurajn\tV;IND;PRS;PL\n"


def test_the_check_with_the_treebanks_finds_pairs_in_which_another_feature_changes(command, tmp_path):
    past = [sentence("ps", noun("kato", "kato", SG), "kuris/kuri/VERB/VerbForm=Fin|Tense=Past|Number=Sing/0/root"),
            sentence("pp", noun("katoj", "kato", PL), "kurijn/kuri/VERB/VerbForm=Fin|Tense=Past|Number=Plur/0/root")]  # fmt: skip
    folder, keys = tmp_path / "made", {"treebanks": [f"{tmp_path}/*.conllu"]}

    def broken():
        return changing(check_folder(folder, keys))

    assert command(f"out={folder}", sentences=[*GOOD, *past])[0] == 0
    assert broken() == ["0", "10"]
    file = folder / "SV-Number-SG-PL-SV.jsonl"
    file.write_text(file.read_text().replace('"wrong_verb":"kurijn"', '"wrong_verb":"kurajn"'))
    assert broken() == ["1", "10"]
    file.write_text(file.read_text().replace('"sentence_id":"', '"sentence_id":"not-'))
    assert broken() == ["5", "10"]
    assert "not looked at: add source=multiblimp 'treebanks=[toy-ud-dev.conllu]'" in check_folder(folder)
    (tmp_path / "toy-ud-dev.conllu").write_text(treebank(*GOOD))
    with pytest.raises(
        UserError, match=r"toy-ud-dev.conllu: not the file of this name that the folder was made from"
    ):
        broken()
    (tmp_path / "toy-ud-dev.conllu").rename(tmp_path / "other.conllu")
    with pytest.raises(UserError, match=r"treebanks: the folder was made from toy-ud-dev.conllu too; name it"):
        broken()


def test_the_check_reads_unimorph_too(command, tmp_path):
    (tmp_path / "forms").write_text(FORMS)
    folder, keys = tmp_path / "made", {"treebanks": f"{tmp_path}/*.conllu", "unimorph": str(tmp_path / "forms")}
    only_in_unimorph = [text for text in GOOD if "kurajn" not in text]
    assert command(f"out={folder}", f"unimorph={tmp_path / 'forms'}", sentences=only_in_unimorph)[0] == 0
    assert '"kurajn"' in (folder / "SV-Number-SG-PL-SV.jsonl").read_text()
    assert changing(check_folder(folder, keys))[0] == "0"
    with pytest.raises(UserError, match="unimorph: the folder was made from forms too; name it"):
        check_folder(folder, {"treebanks": keys["treebanks"]})
    (tmp_path / "forms").write_text(FORMS.replace("PRS;PL", "PST;PL"))
    with pytest.raises(UserError, match="forms: not the file of this name"):
        check_folder(folder, keys)


def test_the_command_gives_the_check_its_treebanks(command, tmp_path):
    assert command(f"out={tmp_path / 'made'}")[0] == 0
    code, said, _ = command(f"check={tmp_path / 'made'}")
    assert code == 0
    assert changing(said) == ["0", "8"]


@pytest.mark.parametrize(
    ("one", "other", "feature", "minimal"),
    [
        ("V;IND;PRS;SG", "V;IND;PRS;PL", "Number", True),
        ("V;IND;PRS;3;SG", "V;IND;PRS;PL", "Number", True),  # a person left open
        ("V;IND;PRS;3;SG", "V;IND;PRS;1;PL", "Number", False),
        ("V;IND;PRS;SG", "V;IND;PST;PL", "Number", False),
        ("V;IND;PRS;1;SG", "V;IND;PRS;3;SG", "Person", True),
        ("V;IND;PRS;1;SG", "V;IND;PRS;3;PL", "Person", False),
        ("V;PST;MASC;SG", "V;PST;PL", "Number", True),
        ("V;PST;PL", "V;PST;MASC;SG", "Number", False),  # another gender than the subject's
        ("V;PST;PL", "V;PST;FEM;SG", "Number", True),
        ("V;IND;PRS;PL", "V;IND;PRS;1;SG", "Number", False),  # another person than the subject's
        ("V;PRS;NOM(3,SG)", "V;PRS;PL", "Number", True),
        ("V;PRS;ABS(3,SG);ERG(3,SG)", "V;PRS;ABS(3,SG);ERG(3,PL)", "Number[erg]", True),
        ("V;PRS;ABS(3,SG);ERG(3,SG)", "V;PRS;ABS(3,PL);ERG(3,PL)", "Number[erg]", False),
        ("V;PAST;ABS(3,PL)", "V;PAST;ABS(2,SG,2,PL)", "Person[abs]", True),
        ("V;ARGABS3;ARGABSSG", "V;ARGABS3;ARGABSPL;ARGIO3;ARGIOSG", "Number[abs]", False),
        ("V;PST;3;SG", "V;PST;2;SG;INFM", "Person", True),
    ],
)
def test_rows_of_unimorph_that_differ_in_one_feature(one, other, feature, minimal):
    subject = {"Person": "3", "Gender": "Fem"}
    assert _rows_differ_in(feature, _read_tags(one), _read_tags(other), subject) is minimal


def test_a_paradigm_that_is_mostly_one_verb_says_so(command, tmp_path):
    more = [sentence(f"k{at}", noun(word, word, SG), KURAS) for at, word in enumerate(("ino", "ulo", "ero"))]
    code, _, said = command(f"out={tmp_path / 'made'}", sentences=[*GOOD, *more])
    assert code == 0
    line = next(line for line in said.splitlines() if "one verb is more than half of" in line)
    assert (
        "of 2 of 3 paradigms: SV-Number-SG-PL-SV (kuri, 5 of 7), SV-Number-SG-PL-VS (kuri, 1 of 1); report.json"
        in line
    )
    rows = {
        row["paradigm"]: row for row in json.loads((tmp_path / "made" / "report.json").read_text())["paradigms"]
    }
    assert rows["SV-Number-SG-PL-SV"]["one_word"] == "kuri, 5 of 7"
    assert "one_word" not in rows["SV-Number-PL-SG-SV"]  # kuri, boji, esti


def test_the_check_counts_a_gender_that_is_not_the_subjects(command, tmp_path):
    feats = "VerbForm=Fin|Tense=Past|Number={}"
    treebank_of = [sentence("pl", noun("katoj", "kato", "Gender=Fem|Number=Plur"), f"kuris/kuri/VERB/{feats.format('Plur')}/0/root"),
                   sentence("sg", noun("kato", "kato", "Gender=Fem|Number=Sing"), f"kura/kuri/VERB/{feats.format('Sing')}|Gender=Fem/0/root"),
                   sentence("m", noun("hundo", "hundo", "Gender=Masc|Number=Sing"), f"kuro/kuri/VERB/{feats.format('Sing')}|Gender=Masc/0/root")]  # fmt: skip
    folder, keys = tmp_path / "made", {"treebanks": [f"{tmp_path}/*.conllu"]}
    assert command(f"out={folder}", sentences=treebank_of)[0] == 0
    assert changing(check_folder(folder, keys))[0] == "0"
    file = folder / "SV-Number-PL-SG-SV.jsonl"
    file.write_text(file.read_text().replace("kura", "kuro"))
    assert changing(check_folder(folder, keys))[0] == "1"
