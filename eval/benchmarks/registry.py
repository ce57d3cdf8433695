"""The registry of benchmarks: which names there are, and the card that each stands for.

Every join with a table that is keyed by the names of benchmarks uses ``known_names``.
"""

from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

from ucurve.errors import UserError, nearest, refuse_missing_folder, unknown_name
from ucurve.eval.benchmarks.card import CARD_FILE, CARD_SUFFIXES, Benchmark, read_card
from ucurve.eval.pairs import full_name, split_name
from ucurve.yaml_files import file_names

CUSTOM = "custom"  # the benchmark whose card is given by the keys custom.*
CARDS = Path(__file__).parent / "cards"
_own: dict[str, Benchmark] = {}  # by name; a later card of the same file replaces an earlier one


@cache
def published_card(name: str) -> Benchmark:
    """Return the card of a name of ``benchmark_names``, for a family that of all its languages."""
    return read_card(CARDS / f"{name}.yaml", own=False)


def published_cards() -> dict[str, Benchmark]:
    """Return the cards that ucurve has, by name, one for a family."""
    return {name: published_card(name) for name in file_names(CARDS)}


def published_benchmarks() -> dict[str, Benchmark]:
    """Return the cards that ucurve has, by name, one for each language of a family."""
    return {name: member for card in published_cards().values() for name, member in card.members.items()}


def benchmark_names() -> list[str]:
    """Return the names a user may choose from, sorted, a family of languages by its bare name."""
    return sorted({CUSTOM, *file_names(CARDS)})


def is_card(name: str) -> bool:
    """Tell the path of a card, or of a folder that holds one, from the name of a benchmark."""
    path = Path(name)
    return path.suffix in CARD_SUFFIXES or (path / CARD_FILE).is_file()


def use_card(card: Benchmark) -> Benchmark:
    """Register a user's own card by its name, which no published benchmark may have, and return it."""
    if (CARDS / f"{card.name}.yaml").is_file():
        raise UserError(f"{card.place}: name: {card.name!r} is the name of a published benchmark")
    _own[card.name] = card
    return card


def find_card(name: str) -> Benchmark:
    """Return the card of a name or a path, for a family that of all its languages."""
    if is_card(name):
        file = Path(name) if Path(name).suffix in CARD_SUFFIXES else Path(name) / CARD_FILE
        if not file.is_file():
            raise UserError(f"no card {file}.{suggest_path(file)}")
        return use_card(read_card(file.absolute()))
    family, _, language = name.partition("/")
    card = _own.get(family) or (published_card(family) if (CARDS / f"{family}.yaml").is_file() else None)
    if card is None or (family != name and not card.languages):
        if Path(name).is_dir():
            raise UserError(
                f"the folder {name} holds no {CARD_FILE}, which would describe its pairs; score.py takes pairs without "
                f"a card as benchmarks=FILE, or a folder of files as benchmarks={CUSTOM} custom.path={name}"
            )
        raise unknown_name("benchmark", name, benchmark_names())
    if name == card.name:
        return card
    if name not in card.members:
        raise unknown_name(f"language of {card.name}", language, card.languages, where=repr(name))
    return card.members[name]


def suggest_path(path: Path) -> str:
    """Name the entry most like a missing path in its folder, for a message; "" without one."""
    beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    close = nearest(path.name, beside)
    return f" Did you mean {str(path.parent / close)!r}?" if close else ""


def card_of(name: str) -> Benchmark:
    """Return the card of a pair table's benchmark, or one of defaults where there is none, as for rated sentences."""
    try:
        return find_benchmark(name)
    except UserError:
        return Benchmark(name=name.partition("/")[0], language="und")


def find_benchmark(name: str) -> Benchmark:
    """Return the card of one benchmark; the name of a family needs a language."""
    card = find_card(name)
    if card.languages:
        raise UserError(
            f"benchmark {name!r} has a part for each language; name one, as {next(iter(card.members))}"
        )
    return card


def expand_benchmarks(names: Sequence[str], root: Path | None = None) -> tuple[Benchmark, ...]:
    """Return the cards of names and paths, each once; of a family, its languages that have files, or all on the hub."""
    expanded: dict[str, Benchmark] = {}
    chosen: dict[str, Benchmark] = {}
    for card in map(find_card, names):
        before = chosen.setdefault(card.name, card)
        if before.place != card.place:
            raise UserError(
                f"{card.place}: name: {card.name!r} is the name of the benchmark in {before.place} too"
            )
        expanded |= {member.name: member for member in (_present(card, root) if card.languages else [card])}
    return tuple(expanded.values())


def _present(family: Benchmark, root: Path | None) -> list[Benchmark]:
    """Return the languages of a family that have files, at least one; all of them on the hub."""
    members = list(family.members.values())
    if members[0].home(root) is None:
        if family.hub is None:
            raise UserError(
                f"benchmark {family.name!r} is not on the hub; give benchmark_root=DIR with its files"
            )
        return members
    if root is not None and family.place is None:
        refuse_missing_folder("benchmark_root", root)
    found = [member for member in members if member.matching(root)]
    if not found:
        forms = " or ".join(members[0].files)
        raise UserError(
            f"benchmark {family.name!r}: no files of any language in {members[0].home(root)}, as {forms}"
        )
    return found


def find_in_folder(folder: Path) -> tuple[tuple[Benchmark, ...], Path | None]:
    """Return the benchmarks in a folder, one for each language, and the ``benchmark_root`` to load them from."""
    refuse_missing_folder("benchmark", folder)
    if is_card(str(folder)):
        return expand_benchmarks([str(folder)]), None
    if (CARDS / f"{folder.name}.yaml").is_file():
        return expand_benchmarks([folder.name], folder.parent), folder.parent
    raise UserError(
        f"{folder}: holds no {CARD_FILE}, and {folder.name!r} is not the name of a published benchmark "
        "(python score.py list=true)"
    )


def known_names(benchmark: str, language: str = "", maker: str | None = None) -> tuple[str, ...]:
    """Return the names by which a table may know a benchmark, the nearest first.

    These are its own name, the one without the mark of a subset and that of its family; then, where its pairs have a
    maker of ``generation``, the names of the published benchmarks that this maker makes anew, in the same language:
    a subset ``suites/hin@6`` that the maker ``tse`` made is also ``suites/hin``, ``suites``, ``tse/hin`` and ``tse``.
    """
    anew = [
        each
        for name, card in (published_cards() if maker else {}).items()
        if card.maker == maker
        for each in (f"{name}/{language}", name)
    ]
    return tuple(dict.fromkeys((benchmark, full_name(benchmark), split_name(benchmark)[0], *anew)))


def benchmarks_meant(asked: str, there: Collection[str]) -> list[str]:
    """Return which benchmarks of a study a name means: the one of this name, else its subsets and its languages.

    Raises:
        UserError: when the name means none of them.
    """
    meant = [asked] if asked in there else [name for name in there if asked in known_names(name)]
    if not meant:
        raise unknown_name("benchmark", asked, there, "benchmark")
    return meant
