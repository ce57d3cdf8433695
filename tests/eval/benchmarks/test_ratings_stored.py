"""People's judgments from a card through the run folder to the tables of the analysis."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.settings import analyze_settings, score_command
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.data.study import read_study
from ucurve.analysis.linking.ratings import correlation_sections
from ucurve.analysis.paradigms.human import human_sections
from ucurve.errors import DamagedError
from ucurve.eval.store.ratings import ratings_path, read_ratings_beside
from ucurve.eval.store.scores import StoredScores
from ucurve.eval.verify import verify_scores

CARD = """name: own
language: zho
files: pairs.jsonl
columns: {paradigm: UID}
"""


@pytest.fixture
def benchmark(tmp_path, records):
    """A card of the user's own with twelve pairs, three names of paradigms in each of two phenomena, which are written anew by every call."""
    folder = tmp_path / "own"
    folder.mkdir()

    def write(section="", first=0, card=CARD):
        rows = [{**row, "UID": f"p{number % 3}"} for number, row in enumerate(records[first : first + 12])]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / "pairs.jsonl").write_text(text, encoding="utf-8")
        (folder / "card.yaml").write_text(card + section, encoding="utf-8")
        return folder / "card.yaml"

    return write


def score(run, card):
    settings = {"run": str(run), "benchmarks": [str(card)], "linking": ["lp", "slln_lp"]}
    score_command(settings)


def tables(run, sections):
    settings = analyze_settings(runs=[str(run)], linking="lp")
    study = read_study(find_runs(settings.runs), settings)
    return {name: table for section in sections(study) for name, table in section.tables.items()}


def test_choices_become_the_accuracy_of_people_by_paradigm(run, benchmark):
    section = 'ratings:\n  files: choices.jsonl\n  choices: {a: sentence_good, b: sentence_bad, people: "p*"}\n'
    card = benchmark(section)
    pairs = [json.loads(line) for line in (card.parent / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    names = ("sentence_good", "sentence_bad")
    choices = [
        {name: row[name] for name in names} | {"p1": 0, "p2": number % 3 // 2} for number, row in enumerate(pairs)
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in choices)
    (card.parent / "choices.jsonl").write_text(text, encoding="utf-8")
    score(run, card)
    stored = read_ratings_beside(run, "own")
    assert stored is not None
    assert (list(stored), len(stored)) == (["pair", "person", "right"], 24)
    found = verify_scores(run)
    assert not found
    people = tables(run, human_sections)["human_agreement"].set_index("phenomenon")
    assert people.loc["all", ["paradigms", "answered", "answers"]].tolist() == [6, 6, 24]
    assert people.loc["all", "macro"] == pytest.approx(20 / 24)  # p2 chose the bad one in one paradigm of three
    assert not tables(run, correlation_sections)


def test_ratings_of_sentences_are_correlated_with_what_is_stored(run, benchmark):
    card = benchmark()
    score(run, card)
    own = StoredScores(run, run.name, 8, "own", "sentence").pairs()
    path = score_file(run)
    before = path.stat().st_mtime_ns
    sentences = [*own["good"], *own["bad"]]
    rated = pd.DataFrame({"s": sentences, "one": [*own["lp_good"], *own["lp_bad"]]}).assign(
        two=lambda table: table["one"]
    )
    rated.loc[0, "two"] = None
    rated.to_csv(card.parent / "ratings.csv", index=False)
    score(run, benchmark("ratings:\n  files: ratings.csv\n  raters: {sentence: s, people: [one, two]}\n"))
    assert path.stat().st_mtime_ns == before  # no score is computed again
    assert not verify_scores(run)
    table = tables(run, correlation_sections)["rating_correlations_own"].set_index("linking")
    assert table.loc["lp", ["sentences", "pairs"]].tolist() == [24, 12]
    assert table.loc["lp", "pointwise"] > 0.99
    assert table.loc["lp", "pairwise"] > 0.99
    assert table.loc["mean_lp", "pointwise"] < 0.99
    assert not tables(run, human_sections)


def test_judgments_of_other_pairs_are_taken_away(run, benchmark, capsys):
    section = "ratings:\n  files: ratings.csv\n  raters: {sentence: s, people: one}\n"
    card = benchmark(section)
    first = json.loads((card.parent / "pairs.jsonl").read_text(encoding="utf-8").splitlines()[0])
    (card.parent / "ratings.csv").write_text(f"s,one\n{first['sentence_good']},3\n", encoding="utf-8")
    score(run, card)
    path = ratings_path(run, "own")
    path.write_bytes(b"changed")
    with pytest.raises(DamagedError, match=r"ratings\.parquet: not what was written"):
        read_ratings_beside(run, "own")
    score(run, card)
    assert read_ratings_beside(run, "own") is not None
    score(run, benchmark(first=20))
    assert read_ratings_beside(run, "own") is None
    found = verify_scores(run)
    assert not found


def score_file(run) -> Path:
    return run / "eval" / "own" / "sentence" / "step00000008.parquet"
