"""What a run had seen of a pair before a step, against reading its batches one after another."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.items.test_frequency import EOS, LETTERS, batches_of, letter_tokenizer
from ucurve.analysis.items.seen_before import SeenPair, find_places, list_edited


def look(documents, length, sequences, step, pair, spaced, seed=0, grow=False):
    batches, tokenizer = batches_of(documents, length, sequences, seed, grow), letter_tokenizer()
    ngrams = list_edited(*pair, spaced)
    places = find_places(batches, tokenizer, step, ngrams["ngram"], spaced)
    return SeenPair(ngrams, batches, tokenizer, spaced, places), batches


def whole_texts(window, spaced):
    """The words of the documents of one sequence, without those that its ends may cut."""
    text = "".join("|" if one == EOS else LETTERS[one - 1] for one in window)
    parts = [part.replace(".", " . ").split() if spaced else [*part.replace(" ", "")] for part in text.split("|")]
    parts[0] = parts[0][1:]
    if spaced:
        parts[-1] = parts[-1][:-1]
    return zip(text.split("|"), parts, strict=True)


@settings(deadline=None)
@given(
    st.lists(st.text(LETTERS, max_size=12), min_size=4, max_size=12),
    st.integers(1, 9), st.integers(1, 3), st.integers(1, 6), st.integers(0, 3), st.booleans(),
    st.sampled_from([("a b c", "a c c"), ("ab c.", "ab."), ("天地 a", "地天 a"), ("a", "b"), ("a a", "a a")]),
    st.booleans(),
)  # fmt: skip
def test_counts_and_lines_are_those_of_reading_the_batches_in_their_order(
    documents, length, sequences, steps, seed, spaced, pair, grow
):
    if sum(map(len, documents)) + len(documents) <= length:
        return
    seen, batches = look(documents, length, sequences, steps, pair, spaced, seed, grow)
    counts, last, texts = Counter(), {}, {}
    for step in range(steps + 1):
        for window in batches.of_step(step).tolist() if step else []:
            for text, words in whole_texts(window, spaced):
                grams = [
                    " ".join(words[at : at + size]) for size in (1, 2, 3) for at in range(len(words) - size + 1)
                ]
                counts.update(grams)
                for gram in grams:
                    last[gram] = step
                    texts.setdefault(gram, set()).add(text.strip())
        for row in seen.before(step).itertuples():
            assert row.count == counts[row.ngram]
            assert (row.last_step == last[row.ngram]) if row.count else not row.lines
            assert set(row.lines) <= texts.get(row.ngram, set())
            assert bool(row.lines) == bool(row.count)


def test_what_differs_is_counted_with_its_neighbors():
    edited = list_edited("the cat sees it now", "the cat see it now", spaced=True)
    assert edited[edited["member"] == "bad"]["ngram"].tolist() == [
        "see", "cat see", "see it", "the cat see", "cat see it", "see it now",
    ]  # fmt: skip
    assert edited["words"].tolist() == 2 * [1, 2, 2, 3, 3, 3]
    assert list_edited("天地", "天", spaced=False).to_numpy().tolist() == [
        ["good", "地", 1],
        ["good", "天 地", 2],
    ]


def test_the_lines_that_were_seen_last_come_first():
    seen, batches = look(["a b"] * 9 + ["b a"] * 9, 4, 2, 8, ("a b", "a c"), spaced=True)
    row = seen.before(8).set_index(["member", "ngram"]).loc[("good", "a b")]
    assert 0 < len(row["lines"]) <= 3
    assert set(row["lines"]) == {"a b"}
    held = [step for step in range(1, 9) for window in batches.of_step(step).tolist()
            if any(words[:2] == ["a", "b"] for _, words in whole_texts(window, True))]  # fmt: skip
    assert row["last_step"] == max(held)
    assert seen.before(0)["count"].sum() == 0
