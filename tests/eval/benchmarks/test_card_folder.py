"""A card, which may be somebody else's, reads below its own folder only; what the user names may lie anywhere."""

import json

import pytest

from tests.settings import custom_benchmark
from ucurve.errors import UserError
from ucurve.eval.benchmarks.custom import custom_card
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.ratings.load import load_ratings
from ucurve.eval.benchmarks.registry import find_card

TABLE = "sentence_good,sentence_bad\nit rains .,it rain .\n"
JUDGED = "sentence,who,score\nit rains .,a,1\n"


@pytest.fixture
def place(tmp_path):
    """A folder with a card and pairs, and a table of somebody beside it; returns what writes the card."""
    (tmp_path / "got" / "data").mkdir(parents=True)
    (tmp_path / "mine" / "data").mkdir(parents=True)
    for name in ("got/data/p.csv", "mine/secret.csv", "mine/data/q.csv"):
        (tmp_path / name).write_text(TABLE)
    (tmp_path / "mine" / "judged.csv").write_text(JUDGED)

    def write(more):
        (tmp_path / "got" / "card.yaml").write_text(f"name: got\nlanguage: eng\n{more}")
        return find_card(str(tmp_path / "got"))

    return write


OUT = r"card\.yaml:\d: .* leads out of the card's folder, and a card reads below its own folder only; .*custom\.path"


@pytest.mark.parametrize(
    "pattern",
    ["../mine/secret.csv", "data/../../mine/sec*.csv", "/etc/*.csv", "../**/*.csv", "{language}/../../mine/*"],
)
@pytest.mark.parametrize("key", ["files: ['{}']\n", "ratings: {{files: '{}', raters: {{sentence: s, people: p}}}}\n",
    "ratings: {{survey: {{sentences: '{}', group: a}}}}\n"])  # fmt: skip
def test_a_pattern_that_leads_out(place, key, pattern):
    with pytest.raises(UserError, match=OUT):
        place(key.format(pattern))


def test_a_language_that_leads_out(place, tmp_path):
    (tmp_path / "got" / "card.yaml").write_text(
        "name: got\nlanguages: {eng: {code: ../mine/secret}}\nfiles: '{code}.csv'\n"
    )
    with pytest.raises(UserError, match=r"card\.yaml:2: .*code: '\.\./mine/secret' is not a name"):
        find_card(str(tmp_path / "got"))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", r"'' is not a pattern of files, such as \*\.csv"),
        (" ", r"' ' is not a pattern of files"),
        ("a**b.csv", r"'a\*\*b\.csv': '\*\*' stands for folders, alone between slashes, as in \*\*/\*\.csv"),
        ("a\\0.csv", r".*is not a pattern of files"),
    ],
)
def test_a_pattern_that_cannot_be(place, pattern, message):
    with pytest.raises(UserError, match=r"card\.yaml:3: files: " + message):
        place(f'files: ["{pattern}"]\n')


@pytest.mark.parametrize("more", ["", "files: .\n", "files: ['.']\n", "files: data\n", "files: 'data/'\n", "files: '**/*.csv'\n",
    "files: '**/**/**/*.csv'\n", "files: '**'\n", "files: './data/*.csv'\n"])  # fmt: skip
def test_files_below_the_folder(place, more):
    assert len(load_benchmark(place(more))) == 1


LINK = r"card\.yaml: files: .*z\.csv is a link to .*secret\.csv, and a card reads below its own folder only; .*benchmark_root=DIR"


@pytest.mark.parametrize("more", ["", "files: '*.csv'\n", "files: z.csv\n", "files: '**/z.csv'\n"])
def test_a_link_that_leads_out_and_whose_it_is(place, tmp_path, more):
    (tmp_path / "got" / "z.csv").symlink_to(tmp_path / "mine" / "secret.csv")
    card = place(more)
    with pytest.raises(UserError, match=LINK):
        load_benchmark(card)
    with pytest.raises(UserError, match=LINK):
        load_benchmark(card, tmp_path / "mine" / "data")
    assert len(load_benchmark(card, tmp_path / "mine")) == (2 if more == "" else 1)


def test_a_folder_that_is_a_link_to_elsewhere(place, tmp_path):
    (tmp_path / "got" / "more").symlink_to(tmp_path / "mine" / "data")
    with pytest.raises(UserError, match=r"q\.csv is a link to .*mine/data/q\.csv"):
        load_benchmark(place("files: 'more/*.csv'\n"))


def test_judgments_of_a_card_lie_below_its_folder_too(place, tmp_path):
    (tmp_path / "got" / "j.csv").symlink_to(tmp_path / "mine" / "judged.csv")
    card = place(
        "files: data\nratings: {files: j.csv, judgments: {sentence: sentence, person: who, value: score}}\n"
    )
    pairs = load_benchmark(card)
    with pytest.raises(UserError, match=r"j\.csv is a link to .*judged\.csv"):
        load_ratings(card, None, pairs)


def test_a_link_within_the_folder_and_a_folder_that_is_a_link_itself(place, tmp_path):
    (tmp_path / "got" / "a.csv").symlink_to(tmp_path / "got" / "data" / "p.csv")
    place("files: a.csv\n")
    (tmp_path / "here").symlink_to(tmp_path / "got")
    assert len(load_benchmark(find_card(str(tmp_path / "here")))) == 1


def test_what_the_user_names_may_lie_and_lead_anywhere(place, tmp_path):
    (tmp_path / "got" / "data" / "z.csv").symlink_to(tmp_path / "mine" / "secret.csv")
    for path in (
        tmp_path / "got" / "data" / ".." / ".." / "mine" / "secret.csv",
        tmp_path / "got" / "data" / "z.csv",
    ):
        assert len(load_benchmark(custom_card(custom_benchmark(path=path)))) == 1
    assert len(load_benchmark(custom_card(custom_benchmark(path=tmp_path / "got" / "data")))) == 2


@pytest.mark.parametrize("linked", ["blimp", "blimp/u.jsonl"])
def test_a_root_of_links_to_a_shared_disk(tmp_path, linked):
    record = {"sentence_good": "a", "sentence_bad": "b", "field": "f", "UID": "u", "linguistics_term": "t"}
    disk, root = tmp_path / "disk", tmp_path / "root"
    for folder in (disk / "blimp", root / linked):
        folder.parent.mkdir(parents=True, exist_ok=True)
    (disk / "blimp").mkdir()
    (disk / "blimp" / "u.jsonl").write_text(json.dumps(record))
    (root / linked).symlink_to(disk / linked)
    assert len(load_benchmark("blimp", root)) == 1
