import gzip
import json
import lzma
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.settings import corpus_settings
from ucurve.training.tokenizer import beginning
from ucurve.training.tokenizer.beginning import survey_beginning

LINES = ["".join(random.Random(number).choices("\u5929\u5730abc ", k=15)) for number in range(20_000)]
CHARACTERS = sum(map(len, LINES))


@pytest.fixture(autouse=True)
def reads_little(monkeypatch):
    survey_beginning.cache_clear()
    monkeypatch.setattr(beginning, "_READ", 40_000)
    yield
    survey_beginning.cache_clear()


def corpus(path):
    return corpus_settings(kind="text", path=str(path), unit="line")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_a_long_text_is_estimated_from_its_beginning_however_it_is_packed(tmp_path, pack):
    end = {gzip.compress: ".gz", lzma.compress: ".xz"}.get(pack, "")
    for name, lines in (
        ("a.txt", LINES),
        ("b.jsonl", [json.dumps({"id": "x" * 90, "text": line}) for line in LINES]),
    ):
        path = tmp_path / f"{name}{end}"
        path.write_bytes(pack("\n".join(lines).encode()))
        found = survey_beginning(corpus(path))
        assert found.scale > 1
        assert found.found.characters * found.scale == pytest.approx(CHARACTERS, rel=0.3)
        assert found.most_tokens == pytest.approx(CHARACTERS + len(LINES), rel=0.3)
        assert found.describe().startswith("about ")
        assert "(estimated from the first 4 MB of its files and their sizes)" in found.describe()


def test_a_short_text_is_counted(tmp_path):
    (tmp_path / "a.txt").write_text("abc\n\nde\n")
    (tmp_path / "b.txt").write_text("xyz")
    found = survey_beginning(corpus(tmp_path))
    assert (found.scale, found.describe(), found.most_tokens) == (1.0, "8 characters", 11)
    assert set(found.found.counts) == set("abcdexyz")


def test_several_files_are_read_up_to_the_same_size_together(tmp_path):
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text(f"{number}" * 99 + "\n" + ("x" * 99 + "\n") * 299)
    found = survey_beginning(corpus(tmp_path))
    assert set(found.found.counts) == set("01x")
    assert found.found.characters * found.scale == pytest.approx(4 * 300 * 99, rel=0.05)


def test_what_tells_nothing_is_no_estimate(tmp_path):
    pq.write_table(pa.table({"text": LINES}), tmp_path / "a.parquet")
    (tmp_path / "b.jsonl").write_text('{"other": 1}\n')
    for path in ("a.parquet", "b.jsonl", "none.txt"):
        assert survey_beginning(corpus(tmp_path / path)) is None
    assert survey_beginning(corpus_settings(kind="hub", dataset="owner/name")) is None
    assert survey_beginning(corpus_settings(kind="text")) is None
