"""The questionnaires of the workbench: which there are, how one is made, and the files of their folders."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from typing import Annotated

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from ucurve.config import check
from ucurve.config_files import completed
from ucurve.errors import UserError, missing_folder, unknown_name
from ucurve.eval.benchmarks.card import CARD_FILE
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import CUSTOM, benchmark_names, find_benchmark, is_card, published_benchmarks
from ucurve.eval.pairs import in_accuracies
from ucurve.fields import STRICT, Seed, Texts
from ucurve.storage.files import read_json_object
from ucurve.validation.questionnaire.run import Formats, QuestionnaireSettings, make_questionnaire
from ucurve.workbench.replies import Values, alone
from ucurve.workbench.room import File

FOLDER = "questionnaires"  # in the folder of projects
PAGE, ITEMS, ABOUT, ANSWERS, JUDGED = "index.html", "items.csv", "questionnaire.json", "answers", "judged"
_MADE = "made"  # in a project: the benchmarks that were made from its templates
_MOST_ITEMS = 2000  # of each paradigm, over all lists
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
# The page's own scripts stand in it. It is of no origin, so it can neither ask the workbench nor read its cookie.
_PAGE_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Wanted:
    """What a person can ask for here: some keys of ``conf/questionnaire.yaml``, and no path."""

    benchmark: str
    name: str
    formats: Formats
    per_paradigm: Annotated[int, Field(strict=True, ge=1, le=200)]
    lists: Annotated[int, Field(strict=True, ge=1, le=100)]
    pairs_per_page: Annotated[int, Field(strict=True, ge=2, le=200)]  # one of them is a catch trial
    training: Annotated[int, Field(strict=True, ge=0, le=200)]
    min_seconds: Annotated[float, Field(ge=0, le=3600)]
    paradigms: Texts
    seed: Annotated[Seed, Field(strict=True)]

    @model_validator(mode="after")
    def _is_made_in_seconds(self) -> "Wanted":
        if self.lists * self.per_paradigm > _MOST_ITEMS:
            raise ValueError(
                f"lists={self.lists} with per_paradigm={self.per_paradigm} show more than {_MOST_ITEMS:,} items of "
                "each paradigm, which is what is made here; the command questionnaire makes any number"
            )
        return self


@dataclass(frozen=True, config=ConfigDict(extra="ignore"), kw_only=True)
class About:
    """What is shown of a questionnaire.json."""

    id: str
    benchmark: str
    counts: dict[str, int]
    settings: dict[str, object]


def offered_settings() -> Values:
    """Return the keys and values of a questionnaire that can be changed here."""
    values = completed("questionnaire.yaml", {})
    return {name: value for name, value in values.items() if name in Wanted.__dataclass_fields__}


class Questionnaires:
    """The folder of questionnaires beside the projects, each with its answers and what was found in them."""

    def __init__(self, projects: Path) -> None:
        self._projects = projects
        self._root = projects / FOLDER
        self._making = Lock()

    def benchmarks(self) -> list[Values]:
        """List the benchmarks that can be asked about: those made in a project, then the published ones."""
        made = [{"name": name, "made_here": True} for name in sorted(self._made())]
        return made + [{"name": name, "made_here": False} for name in sorted(published_benchmarks())]

    def paradigms(self, benchmark: str) -> list[Values]:
        """List the paradigms of a benchmark, with the number of pairs that a questionnaire can draw from."""
        pairs = load_benchmark(find_benchmark(self._benchmark(benchmark)))
        counts = pairs[in_accuracies(pairs)].groupby("paradigm", sort=True).size()
        return [{"paradigm": name, "pairs": int(number)} for name, number in counts.items()]

    def make(self, values: Mapping[str, object]) -> Values:
        """Make a questionnaire and describe it; settings that are not given are those of the command."""
        # The page is the form that can be answered here.
        asked = asdict(check(Wanted, {"formats": ["jspsych"], **offered_settings(), **values}))
        name = asked.pop("name")
        with alone(self._making, "another questionnaire is being made; wait until that is done"):
            if (self._root / safe_name(name)).exists():
                raise UserError(f"name: there is a questionnaire {name!r} already; choose another name")
            asked |= {"benchmark": self._benchmark(asked["benchmark"]), "out": self._root / name}
            make_questionnaire(check(QuestionnaireSettings, completed("questionnaire.yaml", asked)))
        return self.describe(name)

    def names(self) -> list[str]:
        """Return the names of the questionnaires that are there, sorted."""
        found = self._root.glob("*")
        return sorted(path.name for path in found if _NAME.fullmatch(path.name) and (path / ITEMS).is_file())

    def folder(self, name: str) -> Path:
        """Return the folder of a questionnaire."""
        place, names = self._root / safe_name(name), self.names()
        if name not in names:
            raise unknown_name("questionnaire", name, names) if names else missing_folder("questionnaire", place)
        return place

    def describe(self, name: str) -> Values:
        """Describe what a questionnaire asks and which files it has."""
        folder = self.folder(name)
        values = read_json_object(folder / ABOUT)
        try:
            about = check(About, values)
        except UserError as error:
            raise UserError(f"{folder / ABOUT}: {error}") from error
        return {
            "name": name,
            "folder": str(folder),
            "id": about.id,
            "benchmark": about.benchmark,
            "lists": about.settings.get("lists"),
            "counts": about.counts,
            "has_page": (folder / PAGE).is_file(),
            "files": [path for path in _files(folder) if path.partition("/")[0] not in (ANSWERS, JUDGED)],
            "answers": [path.name for path in answer_files(folder)],
        }

    def file(self, address: str) -> File:
        """Return a file by name of the questionnaire and path; the page that people answer may run its scripts."""
        name, _, path = address.partition("/")
        folder = self.folder(name)
        if path not in _files(folder):
            raise UserError(f"no file {path!r} in the questionnaire {name!r}")
        content = (folder / path).read_bytes()
        return File(content, "text/html; charset=utf-8", _PAGE_POLICY) if path == PAGE else File(content)

    def _made(self) -> dict[str, Path]:
        """Find the benchmarks of the projects, by project and name."""
        cards = self._projects.glob(f"*/{_MADE}/*/{CARD_FILE}")
        return {
            card.parent.relative_to(self._projects).as_posix(): card.parent for card in cards if card.is_file()
        }

    def _benchmark(self, name: str) -> str:
        """Return what the registry finds a benchmark by; a path that was typed is not among it."""
        made = self._made()
        if name in made:
            return str(made[name])
        published = [family for family in benchmark_names() if family != CUSTOM]
        if name.partition("/")[0] not in published or is_card(name):
            raise unknown_name("benchmark", name, [*made, *published])
        return name


def safe_name(name: str) -> str:
    """Return a name that can be that of a folder."""
    if not _NAME.fullmatch(name):
        raise UserError(
            f"name: {name!r} is not allowed; allowed are up to 64 letters without accents, digits, - and _, "
            "the first of them a letter or a digit"
        )
    return name


def answer_files(folder: Path) -> list[Path]:
    """Return the files of answers to a questionnaire, sorted by name."""
    return sorted(path for path in (folder / ANSWERS).glob("[!.]*") if path.is_file())


def _files(folder: Path) -> list[str]:
    """Return the paths of a folder's own files, without links that lead out of it and files being written."""
    home = folder.resolve()
    own = [path for path in folder.rglob("*") if path.is_file() and path.resolve().is_relative_to(home)]
    names = [path.relative_to(folder).as_posix() for path in own]
    return sorted(name for name in names if not any(part.startswith(".") for part in name.split("/")))
