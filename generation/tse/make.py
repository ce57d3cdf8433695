"""The maker of targeted suites, after Kryvosheieva and Levy (Controlled Evaluation of Syntactic Knowledge)."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, field_validator
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError, refuse_missing_folder, unknown_name
from ucurve.fields import STRICT, as_tuple
from ucurve.generation.maker import Drawn, Made
from ucurve.generation.tse import basque, hindi, swahili
from ucurve.generation.tse.suite import Suite, Table
from ucurve.generation.tse.vocabulary import read_vocabulary
from ucurve.yaml_files import read_yaml


class _Language(NamedTuple):
    name: str  # of its files
    grammar: type[Table]
    suite: type[Suite[Any]]


_LANGUAGES = {
    "eus": _Language("basque", basque.Grammar, basque.Basque),
    "hin": _Language("hindi", hindi.Grammar, hindi.Hindi),
    "swa": _Language("swahili", swahili.Grammar, swahili.Swahili),
}
_QUIRKS = {
    "hin": "Hindi targets are two words.",
    "swa": "Swahili: N_of_Poss_ni_A and N_of_Poss_D_A_V1_V2 failed the paper's check by people; they count here.",
}


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Settings:
    """Which suites are made, and of which words; conf/source/tse.yaml describes every key."""

    vocabulary: Path
    languages: Annotated[tuple[str, ...], BeforeValidator(as_tuple), Field(min_length=1)]
    as_published: bool

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
    names = {language: {"code": _LANGUAGES[language].name} for language in settings.languages}
    return Made(
        paradigms=[
            Drawn(
                name=f"{_LANGUAGES[language].name}-{suite.name}",
                phenomenon=suite.grammar.phenomena[suite.frame.focus],
                draw=suite.draw,
            )
            for language in settings.languages
            for suite in read_suites(settings, language)
        ],
        card=_card(names, settings),
        inputs=[settings.vocabulary / f"{entry['code']}.csv" for entry in names.values()],
        default_pairs=1000,  # the published files have as many of each suite
    )


def read_suites(settings: Settings, language: str) -> list[Suite[Any]]:
    """Return the suites of a language, in the order of its YAML file."""
    # The folder itself may be misspelled, of which its own message gives the nearest name.
    refuse_missing_folder("vocabulary", settings.vocabulary)
    name, grammar_type, suite_type = _LANGUAGES[language]
    file = settings.vocabulary / f"{name}.csv"
    if not file.is_file():
        raise UserError(f"vocabulary: no file {file}")
    grammar = read_yaml(Path(__file__).with_name(f"{name}.yaml"), grammar_type)
    vocabulary = read_vocabulary(file, grammar.words)
    return [suite_type(grammar, vocabulary, suite, settings.as_published) for suite in grammar.suites]


def _card(languages: dict[str, dict[str, str]], settings: Settings) -> dict[str, object]:
    """Return the card: in these files the suite stands in the file's name, and only targets are scored."""
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
