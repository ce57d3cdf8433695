import gzip
import tracemalloc

import pytest

from ucurve.errors import UserError
from ucurve.generation.treebank import read_treebank

SENTENCE = """# sent_id = s1
# text = De hond eet het.
1	De	de	DET	_	Definite=Def	2	det	_	_
2	hond	hond	NOUN	_	Gender=Com|Number=Sing	3	nsubj:outer	_	_
3	eet	eten	VERB	_	Number=Sing	0	root	_	_
4	het	het	PRON	_	_	3	obj	_	SpaceAfter=No
5	.	.	PUNCT	_	_	3	punct	_	_
"""
SEVERAL = """1-2	al	_	_	_	_	_	_	_	_
1	a	a	ADP	_	_	3	case	_	_
2	el	el	DET	_	_	3	det	_	_
3	mar	mar	NOUN	_	Number=Sing	0	root	_	SpaceAfter=No
3.1	va	ir	VERB	_	_	_	_	0:root	_
4	!	!	PUNCT	_	_	3	punct	_	_
"""


@pytest.fixture
def read(tmp_path):
    def read(text, name="x-ud-dev.conllu"):
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(
            gzip.compress(data) if name.endswith(".gz") and isinstance(text, str) else data
        )
        return list(read_treebank(tmp_path / name))

    return read


@pytest.mark.parametrize("name", ["x-ud-dev.conllu", "x-ud-dev.conllu.gz"])
def test_sentence_with_its_tree_and_places(read, name):
    [sentence] = read(SENTENCE, name)
    assert (sentence.id, sentence.source, sentence.text) == ("s1", "x-ud-dev", "De hond eet het.")
    assert [sentence.text[word.start : word.end] for word in sentence.words] == ["De", "hond", "eet", "het", "."]
    noun, verb = sentence.words[1:3]
    assert (noun.feats["Gender"], noun.relation, noun.deprel) == ("Com", "nsubj", "nsubj:outer")
    assert sentence.head_of(noun) == verb
    assert sentence.head_of(verb) is None
    assert [word.form for word in sentence.children[3]] == ["hond", "het", "."]
    assert sentence.replaced({2: "honden", 3: "eten"}) == "De honden eten het."


def test_text_is_made_of_the_tokens_where_it_is_missing_or_another(read):
    for sentence in read("\n".join([SENTENCE.replace("# text = De hond eet het.\n", ""),
                                    SENTENCE.replace("De hond eet het.", "Een hond")])):  # fmt: skip
        assert sentence.text == "De hond eet het."
        assert sentence.replaced({5: "!"}) == "De hond eet het!"


def test_words_of_a_multiword_token_have_no_text_of_their_own(read):
    [sentence] = read(SEVERAL)
    assert sentence.text == "al mar!"
    assert [word.form for word in sentence.words] == ["a", "el", "mar", "!"]
    assert [(word.start, word.end) for word in sentence.words] == [(None, None), (None, None), (3, 6), (6, 7)]
    with pytest.raises(ValueError, match="word 1 has no text of its own"):
        sentence.replaced({1: "b"})


def test_sentences_after_one_another_and_windows_line_ends(read):
    assert [
        found.id for found in read(f"\n\n{SENTENCE}\n{SENTENCE.replace('s1', 's2')}".replace("\n", "\r\n"))
    ] == [
        "s1",
        "s2",
    ]
    assert read(SEVERAL)[0].id == "x-ud-dev.conllu:1"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "3	eet	eten	VERB	_",
            "3	eet	eten	VERB",
            r"dev.conllu:5: a word has 10 fields between tabs, this has 9",
        ),
        ("	0	root", "	9	root", r"dev.conllu:5: the head is 9; allowed: 0 to 5"),
        ("	0	root", "	x	root", r"dev.conllu:5: .*x"),
        ("	0	root", "	_	root", r"dev.conllu:5: the head is None; allowed: 0 to 5"),
        ("3	eet", "4	eet", r"dev.conllu:5: word 4 stands where word 3 is expected"),
        ("3	eet", "drie	eet", r"dev.conllu:5: .*drie"),
        ("3	eet", f"{'9' * 5000}	eet", r"dev.conllu:5: .*digits"),
        (
            "1	De",
            "1-100000000	De" + "	_" * 8 + "\n1	De",
            r"dev.conllu:3: the token 1-100000000 is of words that are not there; "
            "the sentence has 5",
        ),
        (
            "1	De",
            "3-2	De" + "	_" * 8 + "\n1	De",
            r"dev.conllu:3: .*'3-2' is not a valid ID",
        ),
        (
            "1	De",
            "0-2	De" + "	_" * 8 + "\n1	De",
            r"dev.conllu:3: .*'0-2' is not a valid ID",
        ),
        ("# text", "# " + "x" * 1_000_001 + "\n# text", r"dev.conllu:2: a line of more than 1,000,000 bytes"),
        (
            "# text",
            "# x\n" * 10_001 + "# text",
            r"dev.conllu:1: a sentence of more than 10000 lines; an empty line ends one",
        ),
    ],
)
def test_a_broken_line_is_named(read, old, new, message):
    with pytest.raises(UserError, match=message):
        read(SENTENCE.replace(old, new))


@pytest.mark.parametrize("end", ["\u00a0", "\u2003", "\u3000", ""])
def test_a_last_form_that_ends_in_a_space_of_another_kind(read, end):
    rows = f"1\tkm{end}\tkm\tNOUN\t_\t_\t0\troot\t_\t_\n2\t.{end}\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_\n"
    [sentence] = read(rows)
    assert sentence.text == f"km{end} .{end}"
    assert [sentence.text[word.start : word.end] for word in sentence.words] == [f"km{end}", f".{end}"]


def test_an_empty_last_field_says_nothing(read):
    [sentence] = read(SENTENCE.replace("punct\t_\t_", "punct\t_\t"))
    assert sentence.words[-1].misc == {}


def test_memory_does_not_grow_with_what_a_compressed_file_unpacks_to(tmp_path):
    (tmp_path / "x.conllu.gz").write_bytes(gzip.compress(b"\0" * 50_000_000))
    tracemalloc.start()
    with pytest.raises(UserError, match=r"x.conllu.gz:1: a line of more than 1,000,000 bytes"):
        list(read_treebank(tmp_path / "x.conllu.gz"))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000_000


def test_files_that_cannot_be_read(read, tmp_path):
    with pytest.raises(UserError, match=r"nix.conllu .No such file"):
        list(read_treebank(tmp_path / "nix.conllu"))
    with pytest.raises(UserError, match=r"x.conllu.gz: not a gzip file"):
        read(b"1\tplain", "x.conllu.gz")
    with pytest.raises(UserError, match=r"x.conllu:1: not UTF-8"):
        read("1\té".encode("latin-1"), "x.conllu")
