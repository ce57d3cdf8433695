"""Kinds of bad input to generate.py: each ends with exit code 2 and one message, and leaves nothing behind."""

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.generation.multiblimp.toy import GOOD, treebank

SOURCES = sorted(path.stem for path in (Path(__file__).parents[2] / "conf" / "source").glob("*.yaml"))
VOCABULARY = "expression\tpos\n甲\tN\n跑\tV\n"
TEMPLATE = {"uid": "order", "phenomenon": "f", "strict_MP": True, "sep": "", "good_rule": ["pos:N", "pos:V"],
            "bad_rule": ["pos:V", "pos:N"]}  # fmt: skip
BASQUE = "word,category,subcategory,tense,possible_S,possible_DO,possible_IO\n"
TEMPLATES = ["source=templates", "templates=templates", "vocabulary=words.tsv", "phrases=phrases.json"]
TREEBANK = ["source=multiblimp", "treebanks=[toy.conllu]", "language=epo"]
TSE = ["source=tse", "vocabulary=tse", "languages=[eus]"]
RUSSIAN = ["source=rublimp", "treebanks=[toy.conllu]"]
SWEDISH = ["source=sweblimp", "pairs=1"]
CASES = {
    # what is asked for
    "no source": ([], {}, f"source: no value given; allowed: {', '.join(SOURCES)}"),
    "unknown source": (["source=multiblip"], {}, "unknown source 'multiblip'; allowed: .*Did you mean 'multiblimp'?"),
    "unknown key": ([*TREEBANK, "unimorf=x"], {}, "unknown key 'unimorf'.*Did you mean 'unimorph'?"),
    "no out": ([*TREEBANK, "out=null"], {}, "out: no value given; name the folder to make"),
    "out that is there": ([*TREEBANK, "out=full"], {"full/mine": "x"}, "full exists already"),
    "out that names a published benchmark": ([*TREEBANK, "out=rublimp"], {}, "'rublimp' is the name of a published benchmark"),
    "no out, before any work": (["source=rublimp", "treebanks=[nix]", "out=null"], {}, "out: no value given"),
    "published name, before any work": (["source=tse", "vocabulary=nix", "out=made/tse"], {}, "'tse' is the name of a published"),
    "longest": ([*TREEBANK, "longest=0"], {}, "longest: got 0; Input should be greater than 0"),
    "lengths": ([*TREEBANK, "lengths=equal"], {}, "lengths: got 'equal'; Input should be 'balanced'"),
    "longest that leaves nothing": ([*TREEBANK, "longest=3"], {}, "no pairs: .*most often longer than 3 characters"),
    "tokenizer that is not there": ([*TREEBANK, "longest=9", "tokenizer=nix"], {}, "tokenizer: no folder nix"),
    "tokenizer that is none": ([*TREEBANK, "longest=9", "tokenizer=tse"], {}, "tse"),
    "out below a file": ([*TREEBANK, "out=toy.conllu/deep/er"], {}, "toy.conllu/deep/er lies below a file"),
    "out that is no name": ([*TREEBANK, "out=a b"], {}, "out: 'a b' is not a name"),
    "pairs that are no number": ([*TREEBANK, "pairs=many"], {}, "pairs: 'many' is not a whole number"),
    "number of pairs": ([*TREEBANK, "pairs=0"], {}, "pairs: 0 is not a whole number of at least 1, or 'all'"),
    "all pairs of a grammar": ([*TEMPLATES, "pairs=all"], {}, "pairs: 'all' is for sources whose candidates can be counted"),
    "seed": ([*TREEBANK, "seed=x"], {}, "seed: got 'x'"),
    "check of a folder that is not there": (["check=nix"], {}, "benchmark: no folder nix"),
    # templates
    "no vocabulary": (TEMPLATES[:2], {}, "vocabulary: no value given"),
    "key that templates have not": ([*TEMPLATES, "phrase=x"], {}, "unknown key 'phrase'"),
    "template that is not JSON": (TEMPLATES, {"templates/a.json": "{"}, "templates/a.json:1: not JSON"),
    "vocabulary with too many cells": (TEMPLATES, {"words.tsv": VOCABULARY + "a\tb\tc\n"}, "words.tsv:4: 3 cells"),
    # treebanks and forms
    "treebank that is not there": (["source=multiblimp", "treebanks=[nix]", "language=epo"], {}, "treebanks: no file nix"),
    "line of CoNLL-U": (TREEBANK, {"toy.conllu": "1\ta\n"}, "toy.conllu:1: a word has 10 fields between tabs, this has 2"),
    "head of CoNLL-U": (TREEBANK, {"toy.conllu": "1\ta\ta\tX\t_\t_\t7\tx\t_\t_\n"}, "toy.conllu:1: the head is 7; allowed: 0 to 1"),
    "treebank in another encoding": (TREEBANK, {"toy.conllu": "# á\n".encode("latin-1")}, "toy.conllu:1: not UTF-8"),
    "treebank that is not compressed": ([*TREEBANK[:1], "treebanks=[x.gz]", TREEBANK[2]], {"x.gz": "1"}, "x.gz: not a gzip file"),
    "line of UniMorph": ([*TREEBANK, "unimorph=forms"], {"forms": "a\tb\n"}, "forms:1: lemma, form and features"),
    "language code": ([*TREEBANK, "language=Esperanto"], {}, "language: got 'Esperanto'"),
    "stage": ([*TREEBANK, "stage=table"], {}, "stage: got 'table'"),
    "empty list of treebanks": ([TREEBANK[0], "treebanks=[]", TREEBANK[2]], {}, "treebanks: "),
    "forms that are not there": ([*TREEBANK, "unimorph=nix"], {}, "cannot read nix"),
    "language without agreement": (TREEBANK, {"toy.conllu": treebank(GOOD[0])}, "no pairs: epo shows no agreement"),
    # vocabularies of targeted suites
    "vocabulary that is not there": (["source=tse", "vocabulary=nix"], {}, "vocabulary: no folder nix"),
    "column of a vocabulary": (TSE, {"tse/basque.csv": "word,category\na,n\n"}, "basque.csv:1: no column 'subcategory'"),
    "cells of a vocabulary": (TSE, {"tse/basque.csv": f"{BASQUE}a,n\n"}, "basque.csv:2: 7 cells are expected"),
    "category of a vocabulary": (TSE, {"tse/basque.csv": f"{BASQUE}a,noun,person,_,_,_,_\n"}, "category 'noun' in tse/basque.csv:2"),
    "language of targeted suites": ([*TSE, "languages=[deu]"], {}, "unknown language 'deu'"),
    # Russian and Swedish
    "no Russian text": (["source=rublimp"], {}, "no sentences to make pairs from"),
    "Russian text that is not there": (["source=rublimp", "texts=[nix]"], {}, "cannot read nix"),
    "Russian paradigm": ([*RUSSIAN, "paradigms=[np_agreement]"], {}, "unknown paradigm 'np_agreement'.*Did you mean"),
    "Russian resource": ([*RUSSIAN, "resources=res"],
                         {"res/freqrnc2011.csv.gz": gzip.compress(b"Lemma\tPoS\tFreq(ipm)\na\ts\tx\n")},
                         "freqrnc2011.csv.gz:2: the frequency 'x' is no number"),
    "Swedish lists that are not there": ([*SWEDISH, "lists=nix"], {}, "nix"),
    "line of a Swedish list": ([*SWEDISH, "lists=lists"], {"lists/nouns.tsv": "word\n"}, "nouns.tsv:1"),
    # decontamination
    "scores that are not there": ([*TREEBANK, "filter.scores=[nix]"], {}, "filter.scores: no folder nix"),
    "folder without scores": ([*TREEBANK, "filter.scores=[tse]"], {}, "filter.scores: no scores of the scorer mink"),
    "filter of pairs that are drawn": ([*TEMPLATES, "filter.scores=[tse]"], {}, "filter.scores: "),
    "benchmark that is none": (["source=folder", "benchmark=tse2"], {"tse2/x": ""}, "tse2: holds no card.yaml"),
}  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with input that is right, in which commands run."""
    files = {
        "templates/a.json": json.dumps(TEMPLATE),
        "words.tsv": VOCABULARY,
        "phrases.json": "{}",
        "toy.conllu": treebank(*GOOD),
        "tse/basque.csv": BASQUE,
    }
    write(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def test_there_are_more_than_25_kinds():
    assert len(CASES) >= 25


@pytest.mark.parametrize("case", CASES)
def test_one_message_and_nothing_left(case, place, run_command):
    arguments, files, message = CASES[case]
    write(place, files)
    before = {path: path.is_file() and path.read_bytes() for path in place.rglob("*")}
    given = [] if any(argument.startswith(("out=", "check=")) for argument in arguments) else ["out=made"]
    code, _, said = run_command("generate", *arguments, *given)
    assert code == 2
    assert said.count("error: ") == 1
    assert "Traceback" not in said
    pattern = ".*".join(re.escape(part) for part in message.split(".*"))
    assert re.search(pattern, said, flags=re.DOTALL), said
    assert {path: path.is_file() and path.read_bytes() for path in place.rglob("*")} == before
