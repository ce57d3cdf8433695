"""What every source makes is scored and reported with no further setting."""

from itertools import product

import pandas as pd
import pytest
import yaml

from tests.generation.multiblimp.toy import GOOD, PL, SG, noun, sentence, treebank, verb
from tests.settings import analyze_settings
from ucurve.analysis.data.last_scores import group_languages
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.data.study import read_study
from ucurve.analysis.pairs.factors import factor_sections

GRAMMAR = "ucurve/templates/demo_grammar"


@pytest.fixture
def run(run_command):
    def run(*words):
        code, _, said = run_command(*words)
        assert code == 0, said

    return run


@pytest.fixture
def model(make_model, make_tokenizer, write_checkpoint, tmp_path):
    """A model of characters with random weights."""
    letters = [
        chr(number)
        for number in (*range(32, 127), *range(0x400, 0x460), *range(0x900, 0x980), *range(0xC0, 0x180))
    ]
    tokenizer = make_tokenizer(letters)
    return write_checkpoint(
        tmp_path / "model",
        make_model(vocabulary=len(letters) + 2, positions=512),
        tokenizer=tokenizer,
        manifest=False,
    )


def test_made_benchmarks_are_scored_and_reported(run, model, tmp_path, capsys):
    toy = tmp_path / "toy.conllu"
    toy.write_text(treebank(*GOOD), encoding="utf-8")
    made = tmp_path / "made"
    run("generate", "source=templates", f"templates={GRAMMAR}/templates", f"vocabulary={GRAMMAR}/vocabulary.tsv",
        f"phrases={GRAMMAR}/phrases.json", f"out={made / 'chinese'}", "pairs=3")  # fmt: skip
    run("generate", "source=multiblimp", f"treebanks=[{toy}]", "language=epo", f"out={made / 'toy'}")
    run("generate", "source=sweblimp", f"out={made / 'swedish'}", "pairs=2")
    run("generate", "source=folder", f"benchmark={made / 'toy'}", f"out={made / 'fewer'}", "pairs=1")
    score_and_report(run, model, [made / name for name in ("chinese", "toy", "swedish", "fewer")], tmp_path)


FORMS = {  # by number
    SG: ({"kato": "kato", "hundo": "hundo"}, {"kuri": "kuras", "boji": "bojas"}),
    PL: ({"kato": "katoj", "hundo": "hundoj"}, {"kuri": "kurajn", "boji": "bojajn"}),
}


def _with_attractors():
    """Sentences without an attractor, and with one of either number; before some verbs there is an adverb too."""
    for number, (nouns, verbs) in FORMS.items():
        for (lemma, subject), (verb_lemma, form), attractor in product(
            nouns.items(), verbs.items(), (None, SG, PL)
        ):
            between = ["tre/tre/ADV//1/advmod"] if verb_lemma == "boji" else []
            if attractor is not None:
                other = noun(FORMS[attractor][0]["hundo"], "hundo", attractor, 1, "nmod")
                between = ["de/de/ADP//3/case", other, *between]
            words = noun(subject, lemma, number, 2 + len(between)), *between, verb(form, verb_lemma, number)
            yield sentence(f"{subject}-{form}-{attractor}", *words)


def make_toy(run, folder, sentences):
    """Make the pairs of a toy treebank."""
    (folder / "toy.conllu").write_text(treebank(*sentences), encoding="utf-8")
    treebanks = f"treebanks=[{folder / 'toy.conllu'}]"
    run("generate", "source=multiblimp", treebanks, "language=epo", f"out={folder / 'toy'}")


def test_both_attractors_are_factors_of_pairs_that_are_made(run, model, tmp_path):
    make_toy(run, tmp_path, _with_attractors())
    run("score", f"model={model}", f"benchmarks=[{tmp_path / 'toy'}]", f"out={tmp_path / 'scores'}")
    settings = analyze_settings(runs=str(tmp_path / "scores"), out="out")
    (languages,) = group_languages(read_study(find_runs(settings.runs), settings))
    assert list(languages.by_language) == ["epo"]
    pairs = languages.by_language["epo"].pairs
    assert pairs[["all_congruent", "all_incongruent"]].sum().tolist() == [8, 8]  # of 24, a third each
    (section,) = factor_sections(languages)
    terms = set(section.tables["factor_models_toy"]["term"])
    assert {"all_congruent", "all_incongruent"} <= terms
    assert "has_attractors" not in terms


def test_a_maker_is_kept_with_what_is_taken_of_its_pairs(run, tmp_path):
    make_toy(run, tmp_path, GOOD)
    run("generate", "source=folder", f"benchmark={tmp_path / 'toy'}", f"out={tmp_path / 'fewer'}", "pairs=1")
    card = yaml.safe_load((tmp_path / "fewer" / "card.yaml").read_text(encoding="utf-8"))
    assert (card["maker"], card["made"]["source"]) == ("multiblimp", "folder")


@pytest.mark.long
def test_benchmarks_made_of_the_published_resources_are_scored_and_reported(run, model, shared, tmp_path):
    pytest.importorskip("pymorphy3")
    made = tmp_path / "made"
    run(
        "generate",
        "source=tse",
        f"vocabulary={shared / 'pairs/tse/vocabulary'}",
        f"out={made / 'suites'}",
        "pairs=2",
    )
    run("generate", "source=rublimp", "treebanks=[tests/generation/rublimp/sentences.conllu]", f"resources={shared / 'pairs/rublimp'}",
        f"out={made / 'russian'}", "pairs=2")  # fmt: skip
    scored = score_and_report(run, model, [made / "suites", made / "russian"], tmp_path)
    assert set(scored.loc[scored["benchmark"].str.startswith("suites"), "scorer"]) == {"conditional"}
    assert {"suites/eus", "suites/hin", "suites/swa", "russian"} == set(scored["benchmark"])
    figures = {file.name for file in (tmp_path / "figures").glob("*.csv")}
    assert {"complexity_suites-hin.csv", "complexity_suites-swa.csv"} <= figures  # as of the published suites


def score_and_report(run, model, folders, tmp_path):
    """Score benchmarks and check that each is in the report; returns the accuracies."""
    out = tmp_path / "scores"
    run("score", f"model={model}", f"benchmarks=[{','.join(map(str, folders))}]", f"out={out}")
    accuracy = pd.read_csv(out / "eval" / "accuracy.csv")
    for folder in folders:
        scored = accuracy[accuracy["benchmark"].str.partition("/")[0] == folder.name]
        lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in folder.glob("*.jsonl"))
        overall = scored[
            (scored["phenomenon"] == "all") & (scored["paradigm"] == "all") & (scored["split"] == "all")
        ]
        assert overall.loc[overall["linking"] == "lp", "n"].sum() == lines
    run("analyze", f"runs={out}", f"out={tmp_path / 'figures'}")
    report = (tmp_path / "figures" / "report.html").read_text(encoding="utf-8")
    assert all(folder.name in report for folder in folders)
    return accuracy
