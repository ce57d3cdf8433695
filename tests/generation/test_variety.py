"""What is told of parses: how varied the sentences are, and how often there are arguments and aspects."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.generation.multiblimp.toy import sentence
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.pairs import WORD
from ucurve.generation.treebank import read_treebank
from ucurve.generation.variety import count_arguments, count_aspects, count_heads, depth, pattern, tag_sequences

# Three sentences of RuBLiMP (Apache 2.0), whose files say how deep they are; the last is the example of appendix D.
DEPTH_1 = ("Отец//NOUN//3/nsubj", "словно//ADV//3/advmod", "задал//VERB//0/root", "мне//PRON//3/iobj", "вопрос//NOUN//3/obj",
           ".//PUNCT//3/punct")  # fmt: skip
DEPTH_3 = ("Моргот//PROPN//2/nsubj", "нанес//VERB//0/root", "еще//ADV//4/advmod", "один//NUM//5/nummod", "удар//NOUN//2/obj",
           ".//PUNCT//2/punct")  # fmt: skip
SEARCHES = ("Поиски//NOUN//4/nsubj", "нового//ADJ//3/amod", "оружия//NOUN//1/nmod", "задержали//VERB//0/root",
            "убийство//NOUN//4/obj", "Потиорека//PROPN//5/nmod")  # fmt: skip
SHORT = ("Отец//NOUN//2/nsubj", "спит//VERB//0/root")
# "The cat that the dog saw sleeps and, where it is warm, eats quietly in the house."
CLAUSES = ("cat//NOUN//5/nsubj", "that//PRON//4/obj", "dog//NOUN//4/nsubj", "saw//VERB//1/acl:relcl", "sleeps//VERB//0/root",
           "and//CCONJ//10/cc", "where//ADV//9/advmod", "is//AUX//9/cop", "warm//ADJ//10/advcl", "eats//VERB//5/conj",
           "quietly//ADV//10/advmod", "in//ADP//13/case", "house//NOUN//10/obl")  # fmt: skip


@pytest.fixture
def parse(tmp_path):
    def parsed(*sentences):
        path = tmp_path / "parses.conllu"
        path.write_text(
            "".join(sentence(f"s{at}", *words) for at, words in enumerate(sentences)), encoding="utf-8"
        )
        return list(read_treebank(path))

    return parsed


def test_heads_are_what_the_published_files_have_as_the_depth(parse):
    sentences = parse(DEPTH_1, DEPTH_3, SEARCHES)
    assert [count_heads(one) for one in sentences] == [1, 3, 4]
    assert [depth(one) for one in sentences] == [1, 3, 3]


def test_the_pattern_of_the_papers_example(parse):
    assert [pattern(one) for one in parse(SEARCHES)] == ["NP V-TRANS NP"]


def test_clauses_are_taken_apart_and_phrases_are_not(parse):
    [found] = parse(CLAUSES)
    assert pattern(found) == "NP NP NP V-TRANS V-INTRANS ADVP AP V-INTRANS ADVP PP"


def test_sequences_of_five_tags(parse):
    [long, short] = parse(DEPTH_1, SHORT)
    assert tag_sequences(long) == {
        ("NOUN", "ADV", "VERB", "PRON", "NOUN"),
        ("ADV", "VERB", "PRON", "NOUN", "PUNCT"),
    }
    assert tag_sequences(short) == set()


def test_arguments_and_aspects_are_counted(parse):
    perfective, habitual = "Aspect=Perf", "Aspect=Imp"
    sentences = parse(
        ("a//NOUN//3/nsubj", "b//NOUN//3/obj", f"c//VERB/{perfective}/0/root", "d//NOUN//3/iobj"),
        ("b//NOUN//3/obj", "a//NOUN//3/nsubj:pass", f"c//VERB/{perfective}/0/root"),
        (f"c//VERB/{habitual}/0/root", f"was//AUX/{habitual}/1/aux"),
    )
    assert {row["argument"]: row["count"] for row in count_arguments(sentences)} == {
        "subjects": 2,
        "direct objects": 2,
        "indirect objects": 1,
    }
    assert count_aspects(sentences) == [
        {"aspect": "Perf", "verbs": 2, "after S and O": 1},
        {"aspect": "Imp", "verbs": 1, "after S and O": 0},
    ]


# The command.


@pytest.fixture
def made(tmp_path):
    """A benchmark of two phenomena, with the parses of two of its three good sentences."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "card.yaml").write_text("name: mine\nlanguage: eng\ncolumns: {paradigm: UID}\n")
    rows = [("f", "a b .", "b a ."), ("f", "a c .", "c a ."), ("g", "x", "y")]
    lines = [
        json.dumps({"UID": name, "phenomenon": name, "sentence_good": good, "sentence_bad": bad})
        for name, good, bad in rows
    ]
    (tmp_path / "mine" / "pairs.jsonl").write_text("\n".join(lines))
    trees = [("a//NOUN//2/nsubj", f"{verb}//VERB//0/root", ".//PUNCT//2/punct") for verb in "bc"]
    text = "".join(sentence(f"s{at}", *words) for at, words in enumerate(trees))
    (tmp_path / "parses.conllu").write_text(text + "# text = without words\n\n")
    return tmp_path


def rows_of(text):
    """The cells of the table that has the column ``parsed``, by the first cell."""
    lines = text.splitlines()
    [start] = [at for at, line in enumerate(lines) if line.startswith("of ")]
    return {line.split()[0]: line.split()[1:] for line in lines[start:]}


def test_a_check_says_how_varied_the_good_sentences_are(made, run_command):
    code, text, _ = run_command("generate", f"check={made / 'mine'}", f"parses={made / 'parses.conllu'}")
    assert code == 0
    rows = rows_of(text)
    assert rows["f"] == ["2", "2", "1", "2.0", "4", "0", "1.0", "1.0", "3.0", "-"]
    assert rows["g"][:3] == ["1", "0", "0"]
    assert rows["all"][:4] == ["3", "2", "1", "2.0"]


def test_words_are_frequent_that_are_one_in_a_million_of_a_text(made, run_command):
    # A, b and the stop are one in two millions.
    (made / "text.txt").write_text("A b.\n" + "z " * 1_999_997 + "\n")
    arguments = (f"check={made / 'mine'}", f"parses={made / 'parses.conllu'}", f"corpus={made / 'text.txt'}")
    assert rows_of(run_command("generate", *arguments)[1])["f"][-1] == "0.0"
    (made / "text.txt").write_text("A b.\n" + "z " * 999_997 + "\n")
    assert rows_of(run_command("generate", *arguments)[1])["f"][-1] == "83.33"  # of "a c ." two of three


def test_parses_alone_are_described(made, run_command):
    code, text, _ = run_command("generate", f"parses={made}/pars*.conllu")
    assert code == 0
    assert [line.split() for line in text.splitlines() if line.startswith(("subjects", "all"))] == [
        ["all", "2", "2", "1", "2.0", "4", "0", "1.0", "1.0", "3.0", "-"],
        ["subjects", "2"],
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["parses=none.conllu"], "parses: no file none.conllu"),
     (["source=sweblimp", "parses=x.conllu", "out=made"], "parses: goes with check=DIR, or alone, and not with a source"),
     (["check=mine", "corpus=x.txt"], "corpus: goes with parses=FILE, whose words are looked up in it"),
     (["source=sweblimp", "run=x"], "run: goes with check=DIR, whose pairs are looked up in the training text"),
     (["check=mine", "parses=parses.conllu", "corpus=mine/card.yaml"], "corpus: mine/card.yaml is no file of text; allowed: text")],
)  # fmt: skip
def test_mistakes(made, run_command, monkeypatch, arguments, message):
    monkeypatch.chdir(made)
    code, _, error = run_command("generate", *arguments)
    assert code == 2
    assert message in error


# The papers' numbers.


def test_pairs_depths_and_words_of_the_published_russian_pairs_are_those_of_table_3(shared):
    pairs = load_benchmark("rublimp", shared / "benchmarks")
    depths = pairs["tree_depth"].astype(int).groupby(pairs["level"])
    assert depths.size().to_dict() == {"Morphology": 6000, "Semantics": 11000, "Syntax": 28000}
    assert depths.mean().round(2).to_dict() == {"Morphology": 4.02, "Semantics": 4.41, "Syntax": 4.12}
    assert round(pairs["tree_depth"].astype(int).mean(), 2) == 4.18
    goods = {level: " ".join(of_level["good"]).lower() for level, of_level in pairs.groupby("level")}
    words = {level: set(WORD.findall(text)) for level, text in goods.items()}
    assert [len(found) for found in (*words.values(), set.union(*words.values()))] == [20783, 33867, 57908, 86542]


def test_basque_arguments_have_the_shares_of_the_paper(shared):
    files = sorted((shared / "treebanks").glob("eu_bdt-*"))
    counts = {
        row["argument"]: row["count"]
        for row in count_arguments([s for file in files for s in read_treebank(file)])
    }
    printed = {"subjects": 8595, "direct objects": 7508}  # of the whole treebank; here are its two smaller parts
    for argument, number in printed.items():
        assert counts[argument] / counts["indirect objects"] == pytest.approx(number / 1021, rel=0.02)


def test_vocabularies_have_about_300_words(shared):
    folder = shared / "pairs" / "tse" / "vocabulary"
    assert {file.stem: len(pd.read_csv(file)) for file in sorted(Path(folder).glob("*.csv"))} == {
        "basque": 326,
        "hindi": 232,
        "swahili": 494,
    }
