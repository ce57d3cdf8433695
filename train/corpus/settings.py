"""The settings of a corpus: where its text comes from, what a document is, and the parts of one that is joined."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt, field_validator, model_validator
from pydantic.dataclasses import dataclass

from ucurve.config_files import choices, completed
from ucurve.errors import unknown_name
from ucurve.fields import STRICT, format_count, parse_count
from ucurve.token_stream.joining import Joining, Mixture, Stages
from ucurve.training.corpus.files import plain_name
from ucurve.training.corpus.interventions import Intervention
from ucurve.training.corpus.readers import Unit

_JOINED = ("mixture", "stages")  # kinds that consist of other corpora
# Only the parts have these keys, and not the whole.
_OF_ONE = ("path", "dataset", "subset", "revision", "max_documents", "words", "interventions", "holdout")
_ONLY_FOR = {"path": "text", "dataset": "hub", "subset": "hub", "revision": "hub", "max_documents": "hub"}

WordCounter = Literal["jieba", "whitespace"]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class CorpusSettings:
    """Where the training text comes from and what counts as a document; conf/data/ describes every key but one.

    A key with a default here is one that some kinds do not have, and the default what it then is.
    """

    kind: Literal["demo", "text", "hub", "mixture", "stages"]
    name: Annotated[str, Field(pattern=r"^\w+$")] | None
    path: str | tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ("validation*", "test*")
    text_field: str = "text"
    unit: Unit = "record"  # what is one document
    max_epochs: PositiveInt = 1  # how often a budget may go through the text
    dataset: str | None = None
    subset: str | None = None
    split: str = "train"
    max_documents: PositiveInt | None = None  # only a dataset of the hub has it; None takes all
    revision: str | None = None  # it is a branch, tag or commit; None is the newest
    benchmarks: tuple[str, ...]
    commit: str | None = None  # of a dataset of the hub, as ``pin_corpus`` found it; no key of conf/data/
    holdout: Annotated[float, Field(ge=0, lt=1)] | None = 0.0
    words: WordCounter | None = None
    attention: Literal["stream", "document"]  # what a token sees: all before it, or its document
    interventions: tuple[Intervention, ...] = ()
    parts: tuple["CorpusPart", ...] = ()

    @field_validator("parts", mode="before")
    @classmethod
    def _parts_have_all_keys(cls, parts: object) -> object:
        return [_complete_part(part) for part in parts] if isinstance(parts, list | tuple) else parts

    @field_validator("interventions", mode="before")
    @classmethod
    def _interventions_are_keys(cls, steps: object) -> object:
        for step in steps if isinstance(steps, list | tuple) else ():
            if not isinstance(step, Mapping | Intervention):
                example = "{name: no_any, do: drop, unit: sentence, contains: any}"
                raise ValueError(f"got {step!r}; a step is a mapping of keys, as {example}")
        return steps

    @model_validator(mode="after")
    def _parts_fit_the_kind(self) -> "CorpusSettings":
        if self.kind not in _JOINED:
            if self.parts:
                raise ValueError(f"parts is for data=mixture and data=stages only; this is data.kind={self.kind}")
            return self
        if len(self.parts) < 2:
            example = "{data: demo, weight: .7}, {path: TEXTS, weight: .3}"
            example = example if self.kind == "mixture" else "{data: demo, tokens: 5M}, {path: TEXTS}"
            raise ValueError(f"parts: at least two corpora are expected, as 'data.parts=[{example}]'")
        for key in _OF_ONE:
            if getattr(self, key):
                raise ValueError(f"{key} is not for data={self.kind}; it can stand in each of the parts")
        if any(part.data.attention != "stream" for part in self.parts):
            raise ValueError(
                "attention is of all sequences: data.attention=document, and not in one of the parts"
            )
        names = [part.name for part in self.parts]
        if len(set(names)) < len(names):
            raise ValueError(
                f"parts: two have one name, {', '.join(names)}; name: NAME in a part gives it another"
            )
        _check_lengths(self.kind, self.parts)
        return self

    @model_validator(mode="after")
    def _fields_fit_the_kind(self) -> "CorpusSettings":
        for field, kind in _ONLY_FOR.items():
            if getattr(self, field) is not None and self.kind != kind:
                raise ValueError(f"{field} is for data={kind} only; this is data.kind={self.kind}")
        if self.kind == "hub" and not self.dataset:
            raise ValueError("dataset: no dataset given; data=hub needs data.dataset=ID")
        if self.kind == "demo" and self.holdout != 0:
            raise ValueError(
                "holdout is not for data=demo, whose grammar makes held-out sentences beside the text"
            )
        names = [step.name for step in self.interventions]
        if len(set(names)) < len(names):
            raise ValueError(f"interventions: two steps have one name: {', '.join(names)}")
        return self

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, folders and globs, always as a tuple."""
        paths = (self.path,) if isinstance(self.path, str) else self.path or ()
        return tuple(path for path in paths if path)

    @property
    def run_name(self) -> str:
        """The name of the corpus in the names of runs, followed by those of its interventions."""
        return "_".join([self._own_name, *(step.name for step in self.interventions)])

    @property
    def _own_name(self) -> str:
        """The name of the text before interventions: letters, digits and single underscores, unless it is given."""
        if self.name:
            return self.name
        if self.kind == "mixture":
            # Weights need not add up to 1; the name has their shares in per cent.
            total = sum(part.weight or 0 for part in self.parts)
            return "_".join(
                f"{part.name}_{_in_name(f'{100 * (part.weight or 0) / total:.4g}')}" for part in self.parts
            )
        if self.kind == "stages":
            lengths = [f"_{_in_name(format_count(part.tokens))}" if part.tokens else "" for part in self.parts]
            return "_then_".join(part.name + length for part, length in zip(self.parts, lengths, strict=True))
        if self.kind != "text":
            return name_in_runs(self.dataset or self.kind)
        if not self.paths:
            return self.kind
        more = f"_and_{len(self.paths) - 1}_more" if len(self.paths) > 1 else ""
        return name_in_runs(self.paths[0]) + more

    @property
    def has_text(self) -> bool:
        """Whether it is said where the text is."""
        return (self.kind != "text" or bool(self.paths)) and all(part.data.has_text for part in self.parts)

    @property
    def is_streamed(self) -> bool:
        """Whether the text, or that of a part, comes from the hub."""
        return self.kind == "hub" or any(part.data.is_streamed for part in self.parts)

    @property
    def joining(self) -> Joining | None:
        """How the parts follow each other; None for one corpus."""
        if self.kind == "mixture":
            return Mixture(tuple(part.weight or 0.0 for part in self.parts))
        return Stages(tuple(part.tokens or 0 for part in self.parts[:-1])) if self.kind == "stages" else None

    @property
    def commits(self) -> dict[str, str]:
        """The commits of data sets of the hub, those of parts by their names."""
        own = {} if self.commit is None else {"data": self.commit}
        return own | {
            f"data.{part.name}{key.removeprefix('data')}": commit
            for part in self.parts
            for key, commit in part.data.commits.items()
        }


@dataclass(frozen=True, config=STRICT)
class CorpusPart:
    """A corpus of a mixture or of stages: its keys may stand beside ``weight`` and ``tokens``."""

    data: CorpusSettings
    weight: PositiveFloat | None = None
    tokens: PositiveInt | None = None

    @field_validator("tokens", mode="before")
    @classmethod
    def _tokens_are_a_count(cls, value: object) -> object:
        return value if value is None else parse_count(value)

    @property
    def name(self) -> str:
        """The name of the corpus."""
        return self.data.run_name


def _check_lengths(kind: str, parts: Sequence[CorpusPart]) -> None:
    """Check that the parts of a mixture have weights, and those of stages tokens, but for the last."""
    for number, part in enumerate(parts):
        wanted = {"weight"} if kind == "mixture" else {"tokens"} if number < len(parts) - 1 else set()
        given = {key for key in ("weight", "tokens") if getattr(part, key) is not None}
        if missing := wanted - given:
            raise ValueError(f"parts.{number}: {missing.pop()} is missing; every part but a last stage needs it")
        if more := given - wanted:
            raise ValueError(
                f"parts.{number}: {more.pop()} is not for {'this part' if wanted else 'the last stage'}"
            )
    if kind == "mixture":
        _ = Mixture(tuple(part.weight or 0.0 for part in parts)).shares  # which are refused if they are many


def _complete_part(given: object) -> object:
    """Add to the keys of a part the defaults of its corpus, and put those of the corpus below ``data``."""
    if isinstance(given, CorpusPart):
        return given
    if not isinstance(given, Mapping):
        raise ValueError(f"got {given!r}; a part is keys of a corpus, as {{data: demo, weight: .7}}")
    data = given.get("data")
    keys = {key: value for key, value in given.items() if key not in ("data", "weight", "tokens")}
    if isinstance(data, Mapping):
        # What stands in the part itself goes before what stands below ``data``.
        keys = {**data, **keys}
    if not isinstance(data, str | Mapping | None):
        raise ValueError(f"data: got {data!r}; a choice of conf/data/ is expected")
    usual = "text" if "path" in keys else "hub" if "dataset" in keys else None
    choice = data if isinstance(data, str) else keys.get("kind", usual)
    if choice is None:
        raise ValueError("data: no corpus given; a part needs data=CHOICE, path=TEXTS or dataset=ID")
    if (file := f"data/{choice}.yaml") not in choices("data"):
        raise ValueError(str(unknown_name("data", str(choice), [Path(one).stem for one in choices("data")])))
    # A part does not go through Hydra, which composes the defaults of one corpus only.
    return {"data": completed(file, keys)} | {key: given[key] for key in ("weight", "tokens") if key in given}


def _in_name(number: str) -> str:
    return number.replace(".", "_")


def name_in_runs(path: str) -> str:
    """Make what stands for a path or an id in the names of runs: its last part, in letters, digits and underscores."""
    last = Path(path).name
    if last in ("", ".."):
        last = Path(path).resolve().name
    return re.sub(r"[\W_]+", "_", plain_name(last)).strip("_") or "text"
