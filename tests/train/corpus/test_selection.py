"""Which files of a folder are the corpus: corpora as they are published, with what else lies in their folders."""

import pytest

from tests.settings import corpus_settings
from ucurve.errors import UserError
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.held_out import OtherText
from ucurve.training.corpus.selection import select_files

DEFAULT = ("validation*", "test*")


def make(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def select(*paths, exclude=DEFAULT):
    found = select_files([str(path) for path in paths], exclude)
    return [file.name for file in found.files], "\n".join(found.notes)


def held_out_files(*paths, **values):
    corpus = Corpus(corpus_settings(kind="text", holdout=None, path=list(map(str, paths)), **values))
    return sorted(file.name for file in corpus.validation_files)


class TestPublishedCorpora:
    def test_c4(self, tmp_path):
        train = [f"c4-zh.tfrecord-0000{number}-of-01024.json.gz" for number in range(2)]
        make(tmp_path, *train, "c4-zh-validation.tfrecord-00000-of-00002.json.gz", "README.md")
        files, note = select(tmp_path)
        assert files == train
        assert "1 file named as held-out text (.json: c4-zh-validation.tfrecord-00000-of-00002.json.gz)" in note
        assert "1 file about the corpus (.md: README.md)" in note
        assert held_out_files(tmp_path) == ["c4-zh-validation.tfrecord-00000-of-00002.json.gz"]

    def test_english_c4(self, tmp_path):
        make(tmp_path, "c4-train.00000-of-01024.json.gz", "c4-validation.00000-of-00008.json.gz")
        assert select(tmp_path)[0] == ["c4-train.00000-of-01024.json.gz"]

    def test_babylm(self, tmp_path):
        make(
            tmp_path,
            "train_10M/childes.train",
            "train_10M/bnc_spoken.train",
            "dev/childes.dev",
            "test/childes.test",
        )
        files, note = select(tmp_path)
        assert files == ["bnc_spoken.train", "childes.train"]
        assert "1 file named as held-out text (.dev: childes.dev)" in note
        assert "1 file named as test text (.test: childes.test)" in note
        assert held_out_files(tmp_path) == ["childes.dev"]
        assert held_out_files(tmp_path / "train_10M") == []
        assert select(tmp_path / "train_10M") == (["bnc_spoken.train", "childes.train"], "")

    @pytest.mark.parametrize("end", ["raw", "tokens"])
    def test_wikitext(self, tmp_path, end):
        make(tmp_path, *(f"wiki.{split}.{end}" for split in ("train", "valid", "test")))
        assert select(tmp_path)[0] == [f"wiki.train.{end}"]
        assert held_out_files(tmp_path) == [f"wiki.valid.{end}"]

    def test_parquet_of_the_hub(self, tmp_path):
        make(tmp_path, *(f"data/{split}-00000-of-00001.parquet" for split in ("train", "validation", "test")))
        make(tmp_path, "README.md", "dataset_infos.json", ".gitattributes")
        files, note = select(tmp_path)
        assert files == ["train-00000-of-00001.parquet"]
        assert "1 file of another form than the text (.json: dataset_infos.json)" in note
        assert held_out_files(tmp_path) == ["validation-00000-of-00001.parquet"]

    @pytest.mark.parametrize("name", ["zh.txt.xz", "zh.txt.bz2", "zh.jsonl.xz", "zh.csv", "zh.tsv.gz", "zh.json"])
    def test_other_forms_alone(self, tmp_path, name):
        assert select(make(tmp_path, name)) == ([name], "")
        assert select(tmp_path / name) == ([name], "")


class TestWhatIsLeftOut:
    def test_a_readme_does_not_become_the_corpus(self, tmp_path):
        files, note = select(make(tmp_path, "big.train", "README.txt", "LICENSE", "licence-of-parts.txt"))
        assert files == ["big.train"]
        names = "3 files about the corpus (.txt no ending: LICENSE, README.txt, licence-of-parts.txt)"
        assert note == f"data.path={tmp_path}: left out {names}"

    def test_other_splits_are_left_out_of_every_form(self, tmp_path):
        names = ["README.txt", "a.txt", "ptb.test.txt", "ptb.valid.txt", "readers.txt"]
        files, note = select(make(tmp_path, *names))
        assert files == ["a.txt", "readers.txt"]
        for left in ("about the corpus (.txt: README", "as test text (.txt: ptb", "as held-out text (.txt: ptb"):
            assert left in note
        assert held_out_files(tmp_path) == ["ptb.valid.txt"]

    def test_a_compressed_copy_beside_the_file_is_left_out(self, tmp_path):
        make(tmp_path, "a.txt", "a.txt.gz", "a.txt.xz", "b.txt.gz")
        assert select(tmp_path)[0] == ["a.txt", "b.txt.gz"]
        assert select(tmp_path, exclude=[])[0] == ["a.txt", "b.txt.gz"]
        assert "2 files of another form than the text (.txt: a.txt.gz, a.txt.xz)" in select(tmp_path)[1]

    def test_only_one_family_of_forms_is_read(self, tmp_path):
        names = [
            "a.txt",
            "b.jsonl.gz",
            "c.train",
            "d.csv",
            "e.json",
            "f.pdf",
            "g.py",
            "h.pdf",
            "i.pdf",
        ]
        files, note = select(make(tmp_path, *names))
        assert files == ["a.txt", "b.jsonl.gz", "c.train"]
        assert "2 files of another form than the text (.csv .json: d.csv, e.json)" in note
        assert "4 files of a form that is not read (.pdf .py: f.pdf, g.py, h.pdf, ...)" in note
        assert held_out_files(make(tmp_path, "x.dev", "validation.csv")) == ["x.dev"]

    def test_a_file_named_on_its_own_is_taken(self, tmp_path):
        make(tmp_path, "a.txt", "childes.dev", "README.txt", "sources.csv")
        named = ["childes.dev", "README.txt", "sources.csv"]
        assert select(*(tmp_path / name for name in named)) == (sorted(named), "")

    def test_nothing_is_left_out_with_an_empty_list(self, tmp_path):
        make(tmp_path, "childes.train", "childes.dev", "childes.test", "README.txt")
        assert select(tmp_path / "childes*", exclude=[]) == (["childes.dev", "childes.test", "childes.train"], "")

    def test_a_glob_names_what_it_passes_over(self, tmp_path):
        make(tmp_path, "a.train", "a.model")
        assert "1 file of a form that is not read (.model: a.model)" in select(tmp_path / "*")[1]
        assert select(tmp_path / "*.train") == (["a.train"], "")

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("a.dev", r"1 file named as held-out text \(\.dev: a\.dev\); 'data\.exclude=\[\]' leaves out none"),
            ("a.arrow", r"allowed: text .*; 1 file of a form that is not read \(\.arrow: a\.arrow\)$"),
        ],
    )
    def test_nothing_that_is_read(self, tmp_path, name, message):
        with pytest.raises(UserError, match=rf"no text file in .*; {message}"):
            select(make(tmp_path, name))


def test_held_out_text_of_another_form_counts_beside_newer_forms(tmp_path):
    make(tmp_path, "big.train", "validation.txt")
    assert held_out_files(tmp_path) == ["validation.txt"]
    corpus = Corpus(corpus_settings(kind="text", path=str(tmp_path), holdout=None))
    assert isinstance(corpus.held_out(), OtherText)


def test_notes_are_said(tmp_path, capsys):
    make(tmp_path, "big.train", "README.txt")
    Corpus(corpus_settings(kind="text", path=str(tmp_path))).say_notes()
    assert "left out 1 file about the corpus (.txt: README.txt)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("x/childes.train", "childes"),
        ("wiki.raw", "wiki"),
        ("c4.json.gz", "c4"),
        ("a.b.txt.xz", "a_b"),
    ],
)
def test_runs_are_named_without_form_and_compression(path, name):
    assert corpus_settings(kind="text", path=path).run_name == name
