"""Which text is held out: a share of the documents by hash, or validation files; and the sample that is measured."""

import json
import random

import pytest

from tests.settings import corpus_settings
from ucurve.errors import UserError
from ucurve.templates.demo import HELD_OUT_SENTENCES, held_out_text, training_text
from ucurve.training.corpus import held_out, readers
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.held_out import OtherText, SetApart

LINES = [f"文{number}，{number * number}。" for number in range(2000)]


def text_corpus(path, holdout=None, **more):
    return Corpus(corpus_settings(kind="text", path=str(path), unit="line", holdout=holdout, **more))


def write_lines(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def sample_of(corpus):
    """The documents to train on, and the held-out text that is known afterwards."""
    held_out_text = corpus.held_out()
    return list(corpus.documents(held_out_text)), held_out_text.sample()


def test_a_share_is_set_apart_with_all_copies_of_a_text(tmp_path):
    lines = LINES * 3
    random.Random(0).shuffle(lines)
    write_lines(tmp_path / "a.txt", lines)
    training, sample = sample_of(text_corpus(tmp_path, holdout=0.1))
    assert len(sample) == len(set(sample)) == pytest.approx(200, abs=45)
    assert set(training) == set(LINES) - set(sample)
    assert training == [line for line in lines if line not in set(sample)], "the order stays"
    assert list(text_corpus(tmp_path, holdout=0.1).documents()) == training, (
        "tokenizers learn from the same documents"
    )


def test_nothing_is_held_out_with_0(tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    write_lines(tmp_path / "validation.txt", ["字"])
    corpus = text_corpus(tmp_path, holdout=0)
    assert corpus.held_out() is None
    assert list(corpus.documents()) == LINES


def test_the_sample_does_not_depend_on_order_and_a_larger_share_adds_to_it(tmp_path):
    write_lines(tmp_path / "a.txt", LINES)
    write_lines(tmp_path / "b.txt", LINES[::-1])
    small = sample_of(text_corpus(tmp_path / "a.txt", holdout=0.05))[1]
    assert sample_of(text_corpus(tmp_path / "b.txt", holdout=0.05))[1] == small
    assert sample_of(text_corpus(tmp_path / "a.txt", holdout=0.1))[1][: len(small)] == small


@pytest.mark.parametrize("order", [1, -1])
def test_the_sample_is_bounded_in_bytes_and_has_the_lowest_hashes(monkeypatch, order):
    whole, bounded = SetApart(0.5), SetApart(0.5)
    list(whole.watch(LINES[::order]))
    monkeypatch.setattr(held_out, "SAMPLE_BYTES", 100)
    list(bounded.watch(LINES[::order]))
    texts = bounded.sample()
    assert 97 <= sum(len(text.encode()) for text in texts) <= 100, "the last text is cut between two characters"
    monkeypatch.undo()
    assert whole.sample()[: len(texts) - 1] == texts[:-1]
    assert whole.sample()[len(texts) - 1].startswith(texts[-1])


def test_a_long_document_is_held_out_with_all_its_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "PIECE_CHARACTERS", 50)
    for number in range(20):
        write_lines(tmp_path / f"{number:02}.txt", [f"书{number}第{line}行。" for line in range(30)])
    corpus = Corpus(corpus_settings(kind="text", path=str(tmp_path), holdout=0.5))
    training, sample = sample_of(corpus)
    books = {text[: text.index("第")] for text in training}
    assert 0 < len(sample) < 20
    assert books.isdisjoint(text[: text.index("第")] for text in sample)
    assert "".join(training).count("\n") == 30 * (20 - len(sample)), "what is trained on is whole"


class TestValidationFiles:
    def test_below_a_folder(self, tmp_path):
        write_lines(tmp_path / "train/a.txt", LINES[:50])
        write_lines(tmp_path / "more/validation-2.txt", LINES[50:60])
        (tmp_path / "validation.jsonl").write_text(json.dumps({"text": LINES[60]}) + "\n")
        (tmp_path / "validation.csv").write_text("no format that is read")
        training, sample = sample_of(text_corpus(tmp_path))
        assert training == LINES[:50], "no share is set apart as well"
        assert sorted(sample) == sorted(LINES[50:61])

    def test_beside_a_file(self, tmp_path):
        write_lines(tmp_path / "a.txt", LINES[:50])
        write_lines(tmp_path / "validation.txt", LINES[50:60])
        assert sorted(sample_of(text_corpus(tmp_path / "a.txt"))[1]) == sorted(LINES[50:60])

    @pytest.mark.parametrize("more", [{"exclude": ()}, {"holdout": 0.01}])
    def test_not_where_they_are_trained_on_or_a_share_is_given(self, tmp_path, more):
        write_lines(tmp_path / "a.txt", LINES[:50])
        write_lines(tmp_path / "validation.txt", LINES[50:60])
        corpus = text_corpus(tmp_path, **more)
        assert corpus.validation_files == ()
        assert isinstance(corpus.held_out(), SetApart)

    def test_documents_of_the_training_text_are_left_out_and_counted(self, tmp_path):
        write_lines(tmp_path / "a.txt", LINES[:50])
        write_lines(tmp_path / "validation.txt", [*LINES[40:60], *LINES[40:60]])
        corpus = text_corpus(tmp_path)
        found = corpus.held_out()
        assert isinstance(found, OtherText)
        assert list(corpus.documents(found)) == LINES[:50]
        assert sorted(found.sample()) == sorted(LINES[50:60])
        assert found.left_out == 10

    def test_they_leave_the_fingerprint_of_the_training_text_as_it_is(self, tmp_path):
        write_lines(tmp_path / "a.txt", LINES)
        before = text_corpus(tmp_path, holdout=0).fingerprint()
        assert text_corpus(tmp_path, holdout=0.1).fingerprint() != before
        write_lines(tmp_path / "validation.txt", ["字"])
        with_files = text_corpus(tmp_path)
        assert with_files.fingerprint() == before
        assert text_corpus(tmp_path, holdout=0).held_out_content() == []
        content = with_files.held_out_content()
        write_lines(tmp_path / "validation.txt", ["词"])
        assert text_corpus(tmp_path).held_out_content() != content


def test_the_demo_makes_further_sentences():
    training = list(training_text(3000))
    found = list(held_out_text(training))
    assert len(set(found)) == len(found) == HELD_OUT_SENTENCES
    assert set(found).isdisjoint(training)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "demo", "holdout": 0.1}, "holdout is not for data=demo"),
        ({"kind": "text", "holdout": 1}, "holdout"),
        ({"kind": "text", "holdout": -0.1}, "holdout"),
    ],
)
def test_what_is_not_allowed(values, message):
    with pytest.raises(UserError, match=message):
        corpus_settings(**values)


def test_a_corpus_of_which_nothing_is_left_is_refused(tmp_path):
    write_lines(tmp_path / "a.txt", ["天", "天"])
    with pytest.raises(UserError, match=r"no document with text that data\.holdout=0\.999999 does not set apart"):
        list(text_corpus(tmp_path, holdout=0.999999).documents())
