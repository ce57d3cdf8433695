"""A mistake in a vocabulary is one message that names file and line."""

import pytest

from tests.settings import tse_settings
from ucurve.errors import UserError
from ucurve.generation.tse.make import make


def spoil(vocabulary, name, old, new):
    file = vocabulary / f"{name}.csv"
    text = file.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("basque", "aita,n,person,_,_,_,_", "aita,n,person", r"basque\.csv:2: 7 cells are expected"),
        ("basque", "aita,n,person,_", "aita,n,person,_,_", r"basque\.csv:2: 7 cells are expected"),
        ("basque", "osaba,n", "osaba,m", r"unknown category 'm' in .*basque\.csv:3; allowed: aux, n, v"),
        (
            "basque",
            "osaba,n,person",
            "osaba,n,persn",
            r"unknown subcategory 'persn' in .*basque\.csv:3.*'person'",
        ),
        ("basque", "osaba,n,person", "osaba,n,_", r"basque\.csv:3: 'osaba' has no subcategory"),
        ("basque", "osaba,n", ",n", r"basque\.csv:3: the cell 'word' is empty"),
        ("basque", "joan,v,nor,PST", "joan,v,nor,PAST", r"unknown tense 'PAST' in .*basque\.csv:8"),
        (
            "basque",
            "joan,v,nor,",
            "joan,v,norr,",
            r"unknown subcategory 'norr' in .*basque\.csv:8.*Did you mean 'nor'",
        ),
        (
            "basque",
            "PST,person animal,_,_",
            "PST,person animals,_,_",
            r"unknown possible_S 'animals' in .*basque\.csv:8",
        ),
        ("basque", "PST,person,person other", "PST,person,_", r"basque\.csv:10: 'maite izan' has no possible_DO"),
        (
            "basque",
            "PRS FUT,sg",
            "PRS NOW,sg",
            r"unknown tense 'NOW' in .*basque\.csv:13; allowed: FUT, PRS, PST",
        ),
        ("basque", "PRS FUT,sg", "PRS FUT,one", r"unknown possible_S 'one' in .*basque\.csv:13"),
        ("hindi", "person,m,", "person,n,", r"unknown gender 'n' in .*hindi\.csv:2"),
        ("hindi", "person,m,", "_,m,", r"hindi\.csv:2: .* has no semantic_class"),
        ("hindi", "बेटे,बेटे,बेटों", "बेटे,_,बेटों", r"hindi\.csv:2: .* has no obl_sg"),
        ("hindi", "v,thing", "v,thng", r"unknown semantic_class 'thng' in .*hindi\.csv:7"),
        ("hindi", "gender,", "genus,", r"hindi\.csv:1: no column 'gender'"),
        ("swahili", "mjomba,n,1", "mjomba,n,12", r"unknown noun_class '12' in .*swahili\.csv:2"),
        ("swahili", "1,human", "1,humn", r"unknown semantic_class 'humn' in .*swahili\.csv:2.*'human'"),
        ("swahili", "pya,a", "pya,adj", r"unknown category 'adj' in .*swahili\.csv:12; allowed: a, n, v"),
    ],
)
def test_a_broken_line(vocabulary, name, old, new, message):
    spoil(vocabulary, name, old, new)
    with pytest.raises(UserError, match=message):
        make(tse_settings(vocabulary=vocabulary), 0)


def test_a_form_of_the_auxiliary_that_is_missing(vocabulary, tmp_path, run_command):
    spoil(vocabulary, "basque", "zituzten,aux,nor-nork,PST,pl,pl,_\n", "")
    given = ["source=tse", f"vocabulary={vocabulary}", f"out={tmp_path / 'made'}", "languages=eus"]
    code, _, said = run_command("generate", *given)
    assert code == 2
    assert "basque.csv has no auxiliary of nor-nork, PST, ['pl', 'pl']" in said
    assert not (tmp_path / "made").exists()


def test_files_that_cannot_be_read(vocabulary, tmp_path):
    with pytest.raises(UserError, match=r"vocabulary: no folder .*wrods.*Did you mean"):
        make(tse_settings(vocabulary=tmp_path / "wrods"), 0)
    file = vocabulary / "hindi.csv"
    file.write_bytes("word,category\n".encode("utf-16"))
    with pytest.raises(UserError, match=r"hindi\.csv.*UTF-8"):
        make(tse_settings(vocabulary=vocabulary), 0)
    file.unlink()
    with pytest.raises(UserError, match=r"vocabulary: no file .*hindi\.csv"):
        make(tse_settings(vocabulary=vocabulary), 0)
    assert len(make(tse_settings(vocabulary=vocabulary, languages=("eus", "swa")), 0).paradigms) == 16


def test_a_language_that_has_no_grammar(vocabulary):
    with pytest.raises(UserError, match=r"unknown language 'eng'; allowed: eus, hin, swa"):
        tse_settings(vocabulary=vocabulary, languages=("eng",))
