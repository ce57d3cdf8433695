import pytest
from tokenizers import decoders

from ucurve.eval.benchmarks.datacheck import data_report
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.pairs import pair_table


def table(*rows):
    records = [
        (f"line {number}", {"UID": uid, "phenomenon": "p", "sentence_good": good, "sentence_bad": bad})
        for number, (uid, good, bad) in enumerate(rows)
    ]
    return pair_table(records, "b", "eng")


ODD = table(
    ("one", "A cat sits.", "A cat sit."),
    ("one", "A cat sits.", "A cat sit."),
    ("one", "Same.", "Same."),
    ("two", "A cat sits.", "A cat sit."),
    ("two", " x ", "y"),
    ("two", "a  b.", "a b"),
    ("two", "a\tb", "a bcd"),
)


def test_counts():
    report = data_report(ODD)
    assert (report.pairs, report.paradigms, report.phenomena) == (7, 2, 1)
    assert report.identical == {"one": 1}
    assert report.duplicates_within == (1,)
    assert report.duplicates_across == (3,)


def test_odd_text_is_named_by_pair():
    assert data_report(ODD).odd == {
        "space at an end": (4,),
        "two spaces in a row": (5,),
        "a tab or line break": (6,),
        "final punctuation on one member only": (5,),
    }


def test_lengths_in_characters():
    (report,) = data_report(ODD).lengths
    assert (report.equal, report.good_longer, report.bad_longer, report.longest) == (1, 5, 1, 11)
    assert report.unequal == pytest.approx(6 / 7)
    assert report.mostly_unequal == ("one", "two")


def test_half_unequal_is_not_more_than_half():
    (report,) = data_report(table(("a", "xy", "x"), ("a", "x", "y"))).lengths
    assert report.mostly_unequal == ()


def test_lengths_in_tokens():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = {"unk_token": "<unk>"}
    words = Tokenizer(models.WordLevel({"<unk>": 0}, **special))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, **special)
    report = data_report(ODD, tokenizer).lengths[1]
    assert (report.unit, report.longest) == ("tokens", 3)
    assert (report.equal, report.good_longer, report.bad_longer) == (7, 0, 0)


def test_sentences_that_the_tokenizer_turns_into_others(make_tokenizer):
    pairs = table(("a", "abc", "abcc"), ("a", "abc", "abd"), ("a", "a c", "ac"))
    tokenizer = make_tokenizer(letters="abc")
    tokenizer.backend_tokenizer.decoder = decoders.Fuse()
    report = data_report(pairs, tokenizer)
    assert report.respelt == (1, 2)  # d and the space are not in the vocabulary
    assert "pairs with a sentence that the tokenizer turns into another text: 2 (1, 2)" in report.text()
    assert data_report(pairs).respelt is None


def test_printed_form():
    text = data_report(ODD).text()
    assert text.startswith("b: 7 pairs, 2 paradigms, 1 phenomena\n")
    assert "identical pairs, left out of every accuracy: 1 (1 in one)" in text
    assert "duplicate pairs across paradigms: 1 (3)" in text
    assert (
        "length in characters: 1 equal, 5 good longer, 1 bad longer, 85.71% unequal; longest sentence 11" in text
    )
    assert "paradigms with more than half unequal in characters: 2 (one, two)" in text


PUBLISHED = {
    "zhoblimp": (0, 0, 85),
    "blimp": (7, 0, 1),
    "sling": (24, 8, 0),
    "rublimp": (0, 4, 5),
    "swe-blimp": (0, 0, 51),
    "tse/eus": (0, 0, 0),
    "tse/hin": (0, 0, 0),
    "tse/swa": (0, 0, 0),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_faults(shared, name):
    report = data_report(load_benchmark(name, shared / "benchmarks"))
    counts = sum(report.identical.values()), len(report.duplicates_within), len(report.duplicates_across)
    assert counts == PUBLISHED[name]


def test_published_lengths_of_zhoblimp(shared):
    pairs = load_benchmark("zhoblimp", shared / "benchmarks")
    (report,) = data_report(pairs).lengths
    assert (report.equal, report.good_longer, report.bad_longer) == (23_347, 6_198, 5_855)  # Table 5, char
    assert f"{report.unequal:.2%}" == "34.05%"
    assert report.longest == 35
    assert len(report.mostly_unequal) == 40
    share = (pairs["good"].str.len() != pairs["bad"].str.len()).groupby(pairs["paradigm"]).mean()
    assert (share == 0).sum() == 76


def test_where_the_identical_pairs_are(shared):
    root = shared / "benchmarks"
    assert data_report(load_benchmark("blimp", root)).identical == {"passive_1": 2, "principle_A_case_2": 5}
    wanted = {"zai_le": 16, "cl_simple_noun": 4, "cl_adj_simple_noun": 4}
    assert data_report(load_benchmark("sling", root)).identical == wanted
    assert data_report(load_benchmark("swe-blimp", root)).odd["final punctuation on one member only"] == (
        1500,
        2099,
    )
