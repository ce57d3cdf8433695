import random
import shutil

import pandas as pd
import pytest

from tests.settings import sweblimp_settings
from ucurve.errors import UserError
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import find_in_folder
from ucurve.generation.check import check_folder
from ucurve.generation.maker import Chooser
from ucurve.generation.sweblimp.check import CHECKS
from ucurve.generation.sweblimp.make import make
from ucurve.generation.sweblimp.words import LISTS, list_files, read_lists

EDIT, LENGTH, TEXT, ARTICLE = CHECKS
PUBLISHED = [
    # the paper's examples (Table 1)
    ("ARG. STR.", "Lisa läste boken idag", "Lisa sprang boken idag"),
    ("DOUBLE DEF.", "Den röda stolen stod i rummet", "Den röda stol stod i rummet"),
    ("PARTICLE OBJ. ORDER", "Lisa läste ut boken", "Lisa läste boken ut"),
    ("RESUMPTION 1", "Han väntar på en buss som kommer snart", "Han väntar på en buss som den kommer snart"),
    ("V3", "Lisa kanske läser boken", "Lisa aldrig läser boken"),
]


def made_pairs(pairs=100, seed=0, **settings):
    made = make(sweblimp_settings(**settings), seed)
    chooser = Chooser(pairs, seed, made.across)
    rows = [
        {
            "paradigm": paradigm.name,
            "phenomenon": paradigm.phenomenon,
            "good": pair.good,
            "bad": pair.bad,
            **pair.columns,
        }
        for paradigm in made.paradigms
        for pair in chooser.choose(paradigm).pairs
    ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def pairs():
    return made_pairs()


@pytest.fixture
def own(tmp_path):
    """A folder with one list that is changed: text that stands in it is replaced."""

    def change(name, old, new):
        text = (LISTS / f"{name}.tsv").read_text(encoding="utf-8")
        assert old in text
        (tmp_path / f"{name}.tsv").write_text(text.replace(old, new, 1), encoding="utf-8")
        return tmp_path

    return change


def test_a_hundred_pairs_of_each_of_the_25_paradigms_pass_all_checks(pairs):
    assert pairs.groupby("paradigm").size().tolist() == [100] * 25
    assert not pairs[["good", "bad"]].duplicated().any()
    assert {name: int(breaks(pairs).sum()) for name, breaks in CHECKS.items()} == dict.fromkeys(CHECKS, 0)


def test_names_are_those_of_the_published_file(shared):
    [card], root = find_in_folder(shared / "benchmarks" / "swe-blimp")
    made = make(sweblimp_settings(), 0)
    assert [paradigm.name for paradigm in made.paradigms] == list(
        dict.fromkeys(load_benchmark(card, root)["paradigm"])
    )


def test_gender_comes_from_the_list(own):
    folder = own("nouns", "hundarna\tcommon", "hundarna\tneuter")
    [paradigm] = [
        found
        for found in make(sweblimp_settings(lists=folder), 0).paradigms
        if found.name == "ART. NOUN AGR. GEN."
    ]
    drawn = [paradigm.draw(random.Random(seed)) for seed in range(500)]
    found = [(pair.good.split()[2], pair.bad.split()[2]) for pair in drawn if pair.good.split()[3] == "hund"]
    assert set(found) == {("ett", "en")}


def test_pronouns_agree_with_their_noun_and_adjectives_with_theirs(pairs):
    lists = read_lists(list_files(None))
    neuter = {row.cells["indefinite"]: row.cells["gender"] == "neuter" for row in lists["nouns"]}
    resumed = pairs[pairs["paradigm"] == "NO RESUMPTION"]
    for good, words in zip(resumed["good"], resumed["words"], strict=True):
        noun = dict(word.split("=", 1) for word in words.split("; "))["noun"]
        assert f" {'det' if neuter[noun] else 'den'} " in good
    article = pairs[pairs["paradigm"] == "ADJ. NOUN AGR. NUM. SG."]["good"].str.split()
    forms = {row.cells[form]: form for row in lists["adjectives"] for form in ("common", "neuter")}
    same = {row.cells["common"] for row in lists["adjectives"] if row.cells["common"] == row.cells["neuter"]}
    for words in article:
        assert words[-1] in same or forms[words[-1]] == ("neuter" if words[0] == "Ett" else "common")


def test_the_seed_decides():
    made = made_pairs(pairs=3)
    assert made_pairs(pairs=3).equals(made)
    assert not made_pairs(pairs=3, seed=1)["good"].equals(made["good"])


@pytest.mark.parametrize(("paradigm", "good", "bad"), PUBLISHED)
def test_the_paper_s_examples_pass(paradigm, good, bad):
    assert not any(breaks(_table(paradigm, good, bad)).any() for breaks in CHECKS.values())


@pytest.mark.parametrize(
    ("paradigm", "good", "bad", "broken"),
    [
        ("V3 PP", "På kvällen läser Lisa boken", "På kvällen Lisa läste boken", [EDIT]),
        ("V3", "Lisa kanske läser boken", "Lisa måhända läser boken", [EDIT]),
        ("RESUMPTION 1", "Han ser en buss som kommer snart", "Han ser en buss som kommer den snart", [EDIT]),
        (
            "NO RESUMPTION",
            "Han ser en bil som han inte vet när den kom",
            "Han ser en bil som han vet när kom",
            [EDIT, LENGTH],
        ),
        ("PARTICLE OBJ. ORDER", "Lisa läste ut boken", "Lisa läste boken ut.", [EDIT, TEXT]),
        ("ART. NOUN AGR. GEN.", "Det stod ett stol här", "Det stod en stol här", [ARTICLE]),
        ("ADJ. NOUN AGR. GEN.", "En stolen var röd", "En stolen var rött", [ARTICLE]),
    ],
)
def test_each_check_finds_what_it_is_for(paradigm, good, bad, broken):
    assert [name for name, breaks in CHECKS.items() if breaks(_table(paradigm, good, bad)).any()] == broken


def test_checks_find_faults_of_the_published_file_and_few_besides(shared):
    text = check_folder(shared / "benchmarks" / "swe-blimp")
    counts = {
        line.split("  ")[0]: int(line.split("  ", 1)[1].split()[0])
        for line in text.splitlines()
        if "  2600" in line
    }
    assert counts["a pair stands in one paradigm"] == 51
    assert counts[LENGTH] == 101  # the earlier block of ELLIPSIS1, and one pair
    assert 100 < counts[EDIT] <= 142
    assert counts[ARTICLE] == 0


def test_the_treebank_confirms_the_lists(shared):
    files = tuple(sorted((shared / "treebanks").glob("sv_talbanken-ud-*.conllu.gz")))
    rows = {
        (row["list"], row["column"]): row for row in make(sweblimp_settings(treebanks=files), 0).tables["lexicon"]
    }
    gender = rows["nouns", "gender"]
    assert gender["confirmed"] >= 40
    assert gender["confirmed"] + gender["absent"] == gender["words"] == len(read_lists(list_files(None))["nouns"])
    assert sum(row["confirmed"] for row in rows.values()) >= 150


def treebank(path, *words):
    lines = [f"{number}\t{word}\t0\troot\t_\t_" for number, word in enumerate(words, start=1)]
    path.write_text("# sent_id = 1\n" + "\n".join(lines) + "\n\n", encoding="utf-8")
    return path


NOUN = "NOUN\t_\tCase=Nom|Definite=Ind|Gender={}|Number={}"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "stol\tstol\t" + NOUN.format("Neut", "Sing"),
            r"nouns.tsv:\d+: gender is 'common', but 'stol' has Gender=Neut at .*tb.conllu:1",
        ),
        (
            "stoler\tstol\t" + NOUN.format("Com", "Plur"),
            r"nouns.tsv:\d+: plural is 'stolar', but the treebank has 'stoler' at .*tb.conllu:1",
        ),
    ],
)
def test_a_word_that_contradicts_the_treebank(tmp_path, word, message):
    with pytest.raises(UserError, match=message):
        make(sweblimp_settings(treebanks=(treebank(tmp_path / "tb.conllu", word),)), 0)


def test_one_of_several_forms_of_the_treebank_is_enough(tmp_path):
    words = [form + "\tstol\t" + NOUN.format("Com", "Plur") for form in ("stoler", "stolar")]
    table = make(sweblimp_settings(treebanks=(treebank(tmp_path / "tb.conllu", *words),)), 0).tables["lexicon"]
    assert [row["confirmed"] for row in table if row["list"] == "nouns"] == [1, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("nouns", "hund\thunden\t", "hund\t", r"nouns.tsv:\d+: 6 cells are expected, as in the header"),
        ("nouns", "hund\thunden\t", "hund\t\t", r"nouns.tsv:\d+: definite is empty"),
        ("nouns", "hund\thunden\t", "hund\thunden!\t", r"nouns.tsv:\d+: definite must be words of letters .*'hunden!'"),
        ("nouns", "hundarna\tcommon", "hundarna\tcomon", r"unknown gender 'comon' in .*nouns.tsv:\d+; .*Did you mean 'common'"),
        ("nouns", "indefinite\tdefinite", "definite\tindefinite",
         r"nouns.tsv:1: the columns must be indefinite, definite, plural"),
        ("names", "Karin", "Anna", r"names.tsv:3: the same as line 2"),
        ("transitive", "\ttext\t", "\ttexts\t", r"unknown object 'texts' in .*transitive.tsv:2; .*Did you mean 'text'"),
    ],
)  # fmt: skip
def test_a_broken_line_of_a_list(own, name, old, new, message):
    folder = own(name, old, new)
    with pytest.raises(UserError, match=message):
        make(sweblimp_settings(lists=folder), 0)


def test_folders_that_hold_no_lists_or_no_words(tmp_path):
    with pytest.raises(UserError, match=r"holds no \*.tsv; allowed: nouns"):
        make(sweblimp_settings(lists=tmp_path), 0)
    with pytest.raises(UserError, match="no folder"):
        make(sweblimp_settings(lists=tmp_path / "none"), 0)
    shutil.copy(LISTS / "nouns.tsv", tmp_path / "noun.tsv")
    with pytest.raises(UserError, match=r"unknown list 'noun' .*Did you mean 'nouns'"):
        make(sweblimp_settings(lists=tmp_path), 0)
    (tmp_path / "noun.tsv").unlink()
    (tmp_path / "copulas.tsv").write_text("past\tkind\n")
    with pytest.raises(UserError, match=r"copulas.tsv has a header and no line below it"):
        make(sweblimp_settings(lists=tmp_path), 0)


def test_the_command_writes_a_folder_that_can_be_checked(tmp_path, run_command):
    assert run_command("generate", "source=sweblimp", f"out={tmp_path / 'mine'}", "pairs=3")[0] == 0
    text = check_folder(tmp_path / "mine")
    assert "mine: 75 pairs, 25 paradigms" in text
    assert EDIT in text


def _table(paradigm, good, bad):
    return pd.DataFrame([{"paradigm": paradigm, "good": good, "bad": bad}])
