import re
from pathlib import Path

import numpy as np
import pytest

from ucurve.analysis.data.user_tables import factors_of, read_factors, read_languages, read_matches, read_models
from ucurve.errors import UserError

KNOWN = ("xglm-564M", "xglm-1.7B")


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "given.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_models_with_families(write) -> None:
    table = read_models(write("model,line,parameters\nxglm-564M, XGLM ,564463616\nxglm-1.7B,,\n"), KNOWN)
    assert table["line"].tolist()[0] == "XGLM"
    assert table["line"].isna().tolist() == [False, True]
    assert table["parameters"].tolist()[0] == 564463616
    assert np.isnan(table["parameters"].tolist()[1])


def test_languages_with_sets(write) -> None:
    table = read_languages(write("language,name,frequency,EU\nnld,Dutch,1e9,yes\ntur,,,\n"))
    assert table["name"].tolist() == ["Dutch", "tur"]
    assert table["EU"].tolist() == [True, False]
    assert table["frequency"].tolist()[0] == 1e9
    assert np.isnan(table["frequency"].tolist()[1])
    assert np.isnan(read_languages(write("language\nnld\n"))["frequency"]).all()


def test_factors_of_pairs(write) -> None:
    table = read_factors(write("benchmark,pair,congruent,depth\nmultiblimp/nld,7,yes,2.5\nmultiblimp/nld,8,0,\n"))
    assert table["pair"].tolist() == [7, 8]
    assert table["congruent"].tolist() == [1.0, 0.0]
    assert np.isnan(table["depth"].tolist()[1])


def test_matches_pass_over_benchmarks_that_were_not_scored(write) -> None:
    table = read_matches(
        write("match,benchmark,phenomenon\nagreement,blimp,sva\nagreement,sling,any\n"), [("blimp", "sva")]
    )
    assert table.to_numpy().tolist() == [["agreement", "blimp", "sva"], ["agreement", "sling", "any"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "model,lyne,parameters\n",
            ":1: no column 'line'; the columns are model, lyne, parameters. Did you mean",
        ),
        ("model,line,parameters\n", "has a header and no line below it"),
        (
            "model,line,parameters\nxglm-546M,X,1\n",
            ":2: allowed: xglm-1.7B, xglm-564M. Did you mean 'xglm-564M'?",
        ),
        ("model,line,parameters\nxglm-564M,X,1.7B\n", ":2: 'parameters' is '1.7B'; a number above 0 is expected"),
        ("model,line,parameters\nxglm-564M,X,-1\n", ":2: 'parameters' is '-1'; a number above 0 is expected"),
        ("model,line,parameters\nxglm-564M,X\n", ":2: 3 cells are expected, as in the header"),
        ("model,line,parameters\n,X,1\n", ":2: 'model' is empty"),
        ("model,line,parameters\nxglm-564M,X,1\nxglm-564M,Y,2\n", ":3: xglm-564M stands in line 2 already"),
        ("model,line,line,parameters\nxglm-564M,X,X,1\n", ":1: the column 'line' occurs twice"),
    ],
)
def test_a_broken_file_of_models_is_named(write, text: str, message: str) -> None:
    path = write(text)
    expected = message.replace(":2: allowed", f" in {path}:2; allowed") if "allowed" in message else message
    with pytest.raises(UserError, match=re.escape(expected)):
        read_models(path, KNOWN)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "language,frequency\nnld,often\n",
            ":2: 'frequency' is 'often'; a number above 0 is expected, or nothing",
        ),
        ("language,EU\nnld,perhaps\n", ":2: 'EU' is 'perhaps'; a set of languages takes yes or no"),
        ("language\nnld\nnld\n", ":3: nld stands in line 2 already"),
    ],
)
def test_a_broken_file_of_languages_is_named(write, text: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        read_languages(write(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("benchmark,pair,language\nb,1,2\n", ":1: a factor cannot be called 'language'"),
        ("benchmark,pair\nb,1\n", ":1: no column beside benchmark and pair; give one for each factor"),
        ("benchmark,pair,depth\nb,first,1\n", ":2: 'pair' is 'first'; a whole number is expected"),
        ("benchmark,pair,depth\nb,1,deep\n", ":2: 'depth' is 'deep'; a number is expected, or nothing"),
        ("benchmark,pair,depth\nb,1,1\nb,1,2\n", ":3: b, 1 stands in line 2 already"),
    ],
)
def test_a_broken_file_of_factors_is_named(write, text: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        read_factors(write(text))


def test_a_table_of_which_no_line_is_about_the_study_is_refused(write) -> None:
    languages = write("language\ndeu\nfra\nita\nspa\n")
    with pytest.raises(UserError) as error:
        read_languages(languages, iter(["eus", "hin"]))
    assert str(error.value) == (
        f"languages={languages}: none of its lines is about what was scored: they have the languages deu, fra, ita and "
        "1 more, and the study has eus, hin"
    )
    assert error.value.exit_code == 2
    factors = write("benchmark,pair,depth\nblimp,7,1\n")
    with pytest.raises(
        UserError, match=r"factors=.*the benchmarks and pairs blimp 7, and the study has blimp 1, sling 7"
    ):
        read_factors(factors, ["blimp 1", "sling 7"])
    matches = write("match,benchmark,phenomenon\nagreement,blimp,sva\n")
    with pytest.raises(UserError, match=r"matches=.*they have the benchmarks blimp, and the study has sling"):
        read_matches(matches, [("sling", "Anaphor")])
    with pytest.raises(UserError, match=r"they have the benchmarks blimp, and the study has none"):
        read_matches(matches, [])


def test_one_line_about_the_study_is_enough(write) -> None:
    assert len(read_languages(write("language\ndeu\neus\n"), ["eus", "hin"])) == 2
    assert len(read_factors(write("benchmark,pair,depth\nblimp,7,1\nother,1,1\n"), ["blimp 7"])) == 2


def test_factors_of_a_subset_are_those_of_the_whole_unless_it_has_its_own(write) -> None:
    table = read_factors(write("benchmark,pair,depth\ntse/hin,7,1\nblimp,1,2\nblimp@6,1,3\n"))
    assert factors_of(table, "tse/hin@6").to_dict("list") == {"pair": [7], "depth": [1.0]}
    assert factors_of(table, "blimp@6")["depth"].tolist() == [3.0]
    assert factors_of(table, "blimp")["depth"].tolist() == [2.0]
    assert factors_of(table, "sling").empty


def test_an_unknown_phenomenon_is_named_with_the_nearest(write) -> None:
    path = write("match,benchmark,phenomenon\nagreement,blimp,subject_verb\n")
    known = [("blimp", "subject_verb_agreement"), ("sling", "Anaphor")]
    with pytest.raises(UserError, match="Did you mean 'subject_verb_agreement'") as error:
        read_matches(path, known)
    assert f"{path}:2" in str(error.value)


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"models: cannot read .*absent\.csv \(No such file"):
        read_models(tmp_path / "absent.csv", KNOWN)
    path = tmp_path / "image.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"languages: .*image\.csv:1: not UTF-8"):
        read_languages(path)
