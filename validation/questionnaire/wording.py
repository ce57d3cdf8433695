"""The texts that people read in a questionnaire."""

import re
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from pydantic.dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.fields import STRICT
from ucurve.storage.files import read_utf8
from ucurve.yaml_files import read_yaml

_WORDINGS = Path(__file__).parent / "wordings.yaml"
_DEFAULT = "eng"


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Wording:
    """All texts of a questionnaire in one language; ``{page}`` and the like stand for what the page fills in."""

    tag: str  # the language as pages name it (BCP 47)
    title: str
    instructions: str  # paragraphs with an empty line between two
    begin: str
    training: str
    training_over: str
    page: str
    next: str
    wait: str
    right: str
    wrong: str
    thanks: str
    download: str
    keep: str  # what to do with the saved answers where the page sends nothing
    sending: str
    sent: str
    not_sent: str
    no_list: str
    answers: tuple[str, ...] = ()  # yes, no and neither, where people are asked whether they accept a pair
    comment: str = ""  # stands above the field for typos
    accept: dict[str, Any] = field(default_factory=dict)  # the texts that are others where this is asked

    @property
    def paragraphs(self) -> list[str]:
        """The instructions, paragraph by paragraph."""
        return [" ".join(part.split()) for part in re.split(r"\n\s*\n", self.instructions) if part.strip()]


def find_wording(language: str, instructions: Path | None = None, question: str = "choose") -> Wording:
    """Return the texts for a language (ISO 639-3) or the English ones, with the instructions of a file if given.

    ``question`` is what people are asked: to ``choose`` a sentence, or whether they ``accept`` a pair.
    """
    wordings = read_yaml(_WORDINGS, dict[str, Wording])
    wording = wordings.get(language, wordings[_DEFAULT])
    wording = replace(wording, **(wording.accept if question == "accept" else {}), accept={})
    if instructions is None:
        return wording
    text = read_utf8(instructions)
    if not text.strip():
        raise UserError(f"instructions: {instructions} is empty")
    return replace(wording, instructions=text)
