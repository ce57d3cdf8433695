from collections import Counter

import pytest

from measurements.agreement_pairs import Judge
from tests.generation.multiblimp.toy import PL, SG, noun, sentence, treebank, verb
from ucurve.generation.multiblimp.make import Settings, make
from ucurve.generation.treebank import find_treebanks


@pytest.mark.parametrize(
    ("feats", "kind"),
    [("Number=Plur", "equal"), ("Gender=Fem|Number=Plur", "gender"), ("Clitic=Ka|Number=Plur", "other")],
)
def test_kinds_of_pairs(tmp_path, feats, kind):
    (tmp_path / "x.conllu").write_text(
        treebank(sentence("a", noun("kato", "kato", SG), verb("kuras", "kuri", SG)),
                 sentence("b", noun("katoj", "kato", PL), verb("kurajn", "kuri", feats)))
    )  # fmt: skip
    pair = {"treebank": "x", "sentence_id": "a", "feature": "Number", "verb": "kuras", "wrong_verb": "kurajn"}
    assert Judge([tmp_path / "x.conllu"], None).judge(pair)[0] == kind


@pytest.mark.long
@pytest.mark.parametrize(
    ("language", "pattern", "least"),
    [("eus", "eu_*", 700), ("tur", "tr_*", 700), ("rus", "ru_*", 800), ("eng", "en_*", 500), ("nld", "nl_*", 1400)],
)
def test_no_feature_but_the_asked_one_changes_in_the_treebanks(shared, language, pattern, least):
    unimorph = shared / "unimorph" / "nld" if language == "nld" else None
    pattern = str(shared / "treebanks" / pattern)
    result = make(Settings(treebanks=(pattern,), language=language, unimorph=unimorph), 0)
    judge = Judge(find_treebanks([pattern]), unimorph)
    pairs = [pair.columns for paradigm in result.paradigms for pair in paradigm.candidates]
    kinds = Counter(judge.judge({**pair, "phenomenon": ""})[0] for pair in pairs)
    assert kinds.total() >= least
    assert kinds["other"] == 0
    assert language == "rus" or kinds["gender"] == 0
