"""Pairs that are too long, paradigms whose bad members are mostly longer, and equal shares of both."""

import json
import random
from collections import Counter

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.generation.multiblimp.toy import GOOD, treebank
from ucurve.generation.lengths import Lengths, read_lengths, shares
from ucurve.generation.maker import Chooser, Drawn, Listed
from ucurve.templates.pair import Pair

BALANCED = Lengths(balanced=True)


def as_given(candidates, rng):
    del rng
    return list(candidates)


def listed(*pairs):
    return Listed(name="p", phenomenon="f", candidates=[Pair(*pair) for pair in pairs], order=as_given)


def choose(pairs, lengths, *candidates):
    return Chooser(pairs, 0, lengths=lengths).choose(listed(*candidates))


def test_a_pair_whose_longer_member_is_over_the_limit_is_left_out_and_counted():
    outcome = choose(None, Lengths(longest=3), ("abc", "abd"), ("abcd", "ab"), ("ab", "abcd"), ("xyz", "x"))
    assert [pair.good for pair in outcome.pairs] == ["abc", "xyz"]
    assert outcome.reasons == {"longer than 3 characters": 2}


def test_of_unequal_pairs_as_many_have_a_longer_good_member_as_a_longer_bad_one():
    long_bad = [(f"{number}", f"{number}xx") for number in range(8)]
    long_good = [(f"good{number}", "b") for number in range(3)]
    equal = [("aa", "bb"), ("cc", "dd")]
    outcome = choose(None, BALANCED, *long_bad, *equal, *long_good)
    assert shares(outcome.pairs, BALANCED)._asdict() == {
        "good_longer": 3, "bad_longer": 3, "equally_long": 2, "accuracy_of_shorter": 50.0}  # fmt: skip
    assert [pair.good for pair in outcome.pairs] == ["aa", "cc", "0", "good0", "1", "good1", "2", "good2"]
    assert outcome.reasons == {"no pair of opposite lengths": 5}
    assert outcome.candidates == 13


def test_a_number_of_pairs_is_kept_to_and_stays_balanced():
    found = [pair for number in range(9) for pair in ((f"{number}", f"{number}xx"), (f"good{number}", "b"))]
    for pairs, kept in ((4, 4), (5, 4)):  # no pair of equal lengths makes up an odd number
        outcome = choose(pairs, BALANCED, *found)
        assert len(outcome.pairs) == kept
        assert shares(outcome.pairs, BALANCED).accuracy_of_shorter == 50


def test_one_good_sentence_is_no_partner_of_itself():
    outcome = choose(None, BALANCED, ("good", "bad longer"), ("good", "b"), ("other", "other bad"))
    assert [(pair.good, pair.bad) for pair in outcome.pairs] == [("good", "b"), ("other", "other bad")]
    assert outcome.reasons == {"no pair of opposite lengths": 1}


pair = st.tuples(st.text("ab", min_size=1, max_size=4), st.text("ab", min_size=1, max_size=4))


@given(st.lists(pair, max_size=40), st.none() | st.integers(1, 9))
def test_shares_are_equal_and_all_is_counted_whatever_comes(pairs, wanted):
    outcome = choose(wanted, BALANCED, *pairs)
    share = shares(outcome.pairs, BALANCED)
    assert share.good_longer == share.bad_longer
    assert len({one.good for one in outcome.pairs}) == len(outcome.pairs) <= (wanted or len(pairs))
    assert outcome.candidates == len(pairs) == len(outcome.pairs) + sum(outcome.reasons.values())
    assert choose(wanted, BALANCED, *pairs).pairs == outcome.pairs


def test_draws_are_balanced_too():
    def draw(rng: random.Random) -> Pair:
        word = "".join(rng.choices("abcdefgh", k=6))
        return Pair(word, word + "s" if rng.random() < 0.8 else word[:-1])

    outcome = Chooser(50, 0, lengths=BALANCED).choose(Drawn(name="p", phenomenon="f", draw=draw))
    share = shares(outcome.pairs, BALANCED)
    assert (share.good_longer, share.bad_longer) == (25, 25)
    assert outcome.candidates < 300


def test_draws_that_can_never_be_balanced_end():
    outcome = Chooser(3, 0, lengths=BALANCED).choose(
        Drawn(
            name="p", phenomenon="f", draw=lambda rng: Pair(str(rng.random()), "longer than any number of these")
        )
    )
    assert outcome.pairs == []
    assert set(outcome.reasons) == {"no pair of opposite lengths"}


@pytest.fixture
def generate(tmp_path, run_command):
    """Make pairs of the toy treebank, whose plural verbs are longer; returns what is said, report and card."""

    def run(*arguments, out="toy"):
        (tmp_path / "toy.conllu").write_text(treebank(*GOOD), encoding="utf-8")
        given = [
            "source=multiblimp",
            f"treebanks=[{tmp_path / 'toy.conllu'}]",
            "language=epo",
            f"out={tmp_path / out}",
        ]
        code, _, said = run_command("generate", *given, *arguments)
        assert code == 0
        report, card = ((tmp_path / out / name).read_text() for name in ("report.json", "card.yaml"))
        return said, json.loads(report), yaml.safe_load(card)

    return run


def test_a_paradigm_with_mostly_longer_bad_members_is_named_with_what_shortness_gets(generate):
    said, report, card = generate()
    rows = {row["paradigm"]: row for row in report["paradigms"]}
    longer = {name for name, row in rows.items() if row["bad_longer"] > 0.6 * row["kept"]}
    assert longer
    assert len(longer) < len(rows)
    line = next(line for line in said.splitlines() if "the bad sentence is longer (in characters)" in line)
    assert f"in more than 60% of the pairs of {len(longer)} of {len(rows)} paradigms" in line
    for name, row in rows.items():
        wins = 100 * (row["bad_longer"] + row["equally_long"] / 2) / row["kept"]
        assert row["accuracy_of_shorter"] == pytest.approx(wins, abs=0.05)
        assert (f"{name} {row['accuracy_of_shorter']} %" in line) == (name in longer)
    assert not {"longest", "lengths", "tokenizer"} & set(card["made"])


def test_a_paradigm_without_pairs_is_not_counted_where_others_are_named(generate):
    said, report, _ = generate("longest=11")
    filled = sum(row["kept"] > 0 for row in report["paradigms"])
    assert 0 < filled < len(report["paradigms"])
    assert f"of {filled} paradigms. Taking the shorter" in said


def test_lengths_are_in_tokens_of_a_tokenizer_where_one_is_given(generate, make_tokenizer, tmp_path):
    letters = [chr(number) for number in range(32, 127)]
    make_tokenizer([*letters, "kur", "ajn"]).save_pretrained(tmp_path / "tokens")
    _, plain, _ = generate(out="plain")
    said, report, card = generate("longest=1000", f"tokenizer={tmp_path / 'tokens'}", out="measured")
    assert report["kept"] == plain["kept"]
    assert card["made"]["longest"] == 1000
    assert card["made"]["tokenizer"] == "tokens"
    assert "in characters" not in said


def test_counting_tokens_does_not_read_the_vocabulary_for_each_sentence(make_tokenizer, tmp_path, monkeypatch):
    make_tokenizer(["kur", "ajn"]).save_pretrained(tmp_path)
    lengths = read_lengths(9, balanced=False, tokenizer=tmp_path)
    monkeypatch.setattr("ucurve.eval.scoring.text.tokenize.character_table", None)
    assert lengths.fits(Pair("kur ajn", "ajn"))


def test_a_benchmark_folder_is_balanced_afterwards(generate, run_command, tmp_path):
    generate()
    given = ["source=folder", f"benchmark={tmp_path / 'toy'}", f"out={tmp_path / 'even'}", "lengths=balanced"]
    code, _, said = run_command("generate", *given)
    assert code == 2  # each paradigm of the toy treebank has one longer member throughout
    assert Counter(said.split())["lengths"] > 0
    assert "most often no pair of opposite lengths" in said
