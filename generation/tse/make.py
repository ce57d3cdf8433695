"""The maker of targeted suites, after Kryvosheieva and Levy (Controlled Evaluation of Syntactic Knowledge)."""

from pathlib import Path
from types import ModuleType
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError, missing_folder, unknown_name
from ucurve.fields import STRICT, as_tuple
from ucurve.generation.maker import Drawn, Made
from ucurve.generation.tse import basque, hindi, swahili
from ucurve.generation.tse.steps import Suite
from ucurve.yaml_files import read_yaml

_DEFAULT_PAIRS = 1000  # the published files have as many of each suite
_LANGUAGES: dict[str, tuple[str, ModuleType]] = {
    "eus": ("basque", basque),
    "hin": ("hindi", hindi),
    "swa": ("swahili", swahili),
}
_QUIRKS = {
    "hin": "Hindi targets are two words.",
    "swa": "Swahili: N_of_Poss_ni_A and N_of_Poss_D_A_V1_V2 failed the paper's check by people; they count here.",
}


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Settings:
    """Which suites are made, and of which words; conf/source/tse.yaml describes every key."""

    vocabulary: Path
    languages: Annotated[tuple[str, ...], BeforeValidator(as_tuple), Field(min_length=1)] = tuple(_LANGUAGES)
    as_published: bool = False

    @field_validator("languages")
    @classmethod
    def _known(cls, languages: tuple[str, ...]) -> tuple[str, ...]:
        for language in languages:
            if language not in _LANGUAGES:
                raise ValueError(str(unknown_name("language", language, _LANGUAGES)))
        return tuple(dict.fromkeys(languages))


def make(settings: Settings, seed: int) -> Made:
    """Return the suites of the languages."""
    del seed  # all that is random is drawn by the paradigms
    found = [suite for language in settings.languages for suite in read_suites(settings, language)]
    names = {language: {"code": _LANGUAGES[language][0]} for language in settings.languages}
    return Made(
        paradigms=[
            Drawn(name=f"{suite.language}-{suite.name}", phenomenon=suite.phenomenon, draw=suite.draw)
            for suite in found
        ],
        card=_card(names, settings),
        inputs=[settings.vocabulary / f"{entry['code']}.csv" for entry in names.values()],
        default_pairs=_DEFAULT_PAIRS,
    )


def read_suites(settings: Settings, language: str) -> list[Suite]:
    """Return the suites of a language."""
    if not settings.vocabulary.is_dir():
        raise missing_folder("vocabulary", settings.vocabulary)
    name, module = _LANGUAGES[language]
    file = settings.vocabulary / f"{name}.csv"
    if not file.is_file():
        raise UserError(f"vocabulary: no file {file}")
    grammar = read_yaml(Path(__file__).with_name(f"{name}.yaml"), module.Grammar)
    made: list[Suite] = module.suites(grammar, settings.vocabulary, settings.as_published)
    return made


def _card(languages: dict[str, dict[str, str]], settings: Settings) -> dict[str, object]:
    faults = "repeated" if settings.as_published else "not repeated"
    quirks = [f"Sentences are made anew; the faults of the published code are {faults}."]
    quirks += [text for language, text in _QUIRKS.items() if language in settings.languages]
    return {
        "languages": languages,
        "citation": "Vocabularies: Kryvosheieva and Levy, Controlled Evaluation of Syntactic Knowledge in Multilingual "
        "Language Models",
        "license": "not stated (vocabularies)",
        "files": ["{code}-*.jsonl"],
        "file_names": "[a-z]+-(?P<suite>.+)",
        "columns": {"paradigm": "suite", **{name: name for name in ("condition", "target_good", "target_bad")}},
        "scorer": "conditional",
        "masked_scorer": "pll_conditional",
        "linking": "lp",
        "aggregate": "macro",
        "quirks": quirks,
    }
