"""The published choices of 13 people on QFrBLiMP, against crowd-kit."""

import json

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import DawidSkene, MajorityVote, Wawa

from tests.settings import answers_command

COLUMNS = {"item": "id", "paradigm": "type", "annotators": "annotator_*", "good": 0, "bad": 1}


@pytest.mark.filterwarnings("ignore")  # crowd-kit's, about pandas
def test_labels_probabilities_and_skills_equal_crowdkits(shared, tmp_path, capsys):
    path = shared / "benchmarks" / "qfrblimp" / "annotations.tsv"
    answers_command({"rule": "tse", "answers": str(path), "out": str(tmp_path / "out"), "columns": COLUMNS})
    judged = pd.read_csv(tmp_path / "out" / "items_judged.csv", dtype={"item": str}).set_index("item")
    people = pd.read_csv(tmp_path / "out" / "annotators.csv").set_index("annotator")

    published = pd.read_csv(path, sep="\t", dtype=str)
    names = [name for name in published if name.startswith("annotator_")]
    published = published.melt("id", names, "worker", "label")
    votes = published.rename(columns={"id": "task"}).replace({"label": {"0": "good", "1": "bad"}})
    majority, skene, wawa = MajorityVote().fit(votes), DawidSkene().fit(votes), Wawa().fit(votes)
    weighted = MajorityVote().fit(votes, skills=wawa.skills_)
    assert (len(judged), len(people), len(votes)) == (1761, 13, 1761 * 13)
    assert judged["majority"].equals(majority.labels_[judged.index].rename("majority"))
    assert judged["dawid_skene"].equals(skene.labels_[judged.index].rename("dawid_skene"))
    assert judged["wawa"].equals(weighted.labels_[judged.index].rename("wawa"))
    np.testing.assert_allclose(judged["p_good"], skene.probas_.loc[judged.index, "good"], atol=1e-6)
    np.testing.assert_allclose(people["skill"], wawa.skills_[people.index], atol=1e-12)

    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["lowest_agreement"] == ["20", "19", "15"]  # orphan preposition, parasitic dont, subject island
    assert "lowest agreement: 20, 19, 15" in capsys.readouterr().out
    # annotator_15 chose the sentence of the first column each time
    assert people["chose_good"].idxmax() == "annotator_15"
    assert people["chose_good"].max() == 1
