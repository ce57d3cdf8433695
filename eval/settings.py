"""What may be asked of scoring, checked at the border."""

from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass

from ucurve.config import check
from ucurve.config_files import completed
from ucurve.errors import UserError
from ucurve.eval.benchmarks.custom import CustomBenchmark, is_pairs
from ucurve.eval.benchmarks.registry import CUSTOM, benchmark_names, card_of, find_card, is_card, known_names
from ucurve.eval.linking import parse_linking
from ucurve.eval.metrics.accuracy import TiesRule
from ucurve.eval.metrics.fitting import FitSettings
from ucurve.eval.models.folder import Bos, Start
from ucurve.eval.models.unigram import UnigramSettings
from ucurve.eval.pairs import Subset, full_name, parse_subset
from ucurve.eval.presets import Preset, find_preset
from ucurve.eval.scoring.base import Scorer, ScorerSettings
from ucurve.eval.scoring.scorers import expand_scorers, find_scorer
from ucurve.eval.store.reported import USUAL_RULE, Reported, reported_by_card
from ucurve.fields import as_tuple, named, parse_count
from ucurve.huggingface.foreign_code import Weights

LINKING = ("lp", "mean_lp", "pen_lp", "slln_lp", "slor")
TIES_RULES: tuple[TiesRule, ...] = (USUAL_RULE,)
Value = TypeVar("Value")


def _some(values: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    if values is not None and not values:
        raise ValueError("the list is empty; give at least one")
    return None if values is None else tuple(dict.fromkeys(values))


def _with(usual: tuple[Value, ...], further: Value | None) -> tuple[Value, ...]:
    return usual if further is None or further in usual else (*usual, further)


def _none_without(key: str) -> BeforeValidator:
    """Take a part of the configuration for absent as long as its main key has no value."""
    return BeforeValidator(lambda value: None if isinstance(value, dict) and value.get(key) is None else value)


def _token_or_id(given: object) -> object:
    """Check what may precede every sentence; ``[CLS]`` on a command line is read as a list of one."""
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], str):
        return f"[{given[0]}]"
    is_id = isinstance(given, int) and not isinstance(given, bool) and given >= 0
    if given is not None and not is_id and not (isinstance(given, str) and given):
        raise ValueError(f"got {given!r}; allowed: {', '.join(get_args(Bos))}, a token such as '<s>', or its id")
    return given


Names = Annotated[
    tuple[Annotated[str, named(find_scorer)], ...] | None,
    BeforeValidator(lambda given: expand_scorers(as_tuple(given))),
    AfterValidator(_some),
]
Linkings = Annotated[
    tuple[Annotated[str, named(parse_linking)], ...] | None, BeforeValidator(as_tuple), AfterValidator(_some)
]


# Checkpoints of a run, or steps of revisions of a model by their names.
Steps = Annotated[
    Annotated[tuple[int, ...], AfterValidator(_some), Tag("a list")]
    | Annotated[
        dict[str, Annotated[int, Field(ge=0)]],
        BeforeValidator(lambda given: {str(name): step for name, step in given.items()}),
        Tag("a mapping"),
    ],
    Discriminator(lambda given: "a mapping" if isinstance(given, dict) else "a list"),
]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class ScoreSettings(ScorerSettings):
    """What to score and how; conf/eval/default.yaml has every key. None is the preset's choice or the usual one."""

    benchmarks: tuple[str, ...]
    benchmark_root: Path | None
    benchmark_revision: dict[str, str] | None
    benchmark_unpacked: Annotated[int, BeforeValidator(parse_count)]
    custom: CustomBenchmark
    too_long: Literal["error", "skip"]
    subset: Annotated[int | str, BeforeValidator(lambda asked: parse_subset(asked).asked)] | None
    preset: Annotated[str, named(find_preset)] | None
    scorer: Names
    bos: Annotated[Start | None, BeforeValidator(_token_or_id)]
    weights: Weights
    linking: Linkings
    ties_rules: Annotated[tuple[TiesRule, ...] | None, BeforeValidator(as_tuple), AfterValidator(_some)]
    unigrams: Annotated[UnigramSettings | None, _none_without("path")]
    verbose: bool
    tokens: bool
    words: bool
    fit: Annotated[FitSettings | None, _none_without("on")]
    batch_tokens: Annotated[int, Field(ge=1)] | None

    @field_validator("benchmarks")
    @classmethod
    def _known_benchmarks(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        try:
            for name in names:
                if name != CUSTOM and not is_pairs(name):
                    find_card(name)
        except UserError as error:
            raise ValueError(str(error)) from error
        absolute = (str(Path(name).absolute()) if is_card(name) or is_pairs(name) else name for name in names)
        return tuple(dict.fromkeys(absolute))  # a run may go on in another folder

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (CUSTOM in self.benchmarks) != (self.custom.path is not None):
            raise ValueError("benchmarks=custom and custom.path=FILE go together")
        if self.bow_correction and not self.words and "region" not in (self.scorer or ()):
            raise ValueError(
                "bow_correction corrects regions and words; it goes with scorer=region, or with words=true"
            )
        if self.benchmark_revision and self.benchmark_root is not None:
            raise ValueError(
                "benchmark_revision is for benchmarks of the hub; benchmark_root=DIR reads local files"
            )
        scored = {part for name in self.benchmarks for part in known_names(name)}
        for name in self.benchmark_revision or ():
            if name not in scored:
                raise ValueError(f"benchmark_revision: {name!r} is not among benchmarks={list(self.benchmarks)}")
        return self

    @property
    def keeps_tokens(self) -> bool:
        """Whether the log probability of each token is stored; sums over words are made of them."""
        return self.tokens or self.words

    def pairs_kept(self) -> Subset | None:
        """Return which pairs of each paradigm are scored; None for all."""
        if self.subset is None:
            return self.chosen.subset if self.chosen else None
        return parse_subset(self.subset)

    def revision(self, benchmark: str) -> str | None:
        """Return the revision of a benchmark's source that is asked for, by its name or its family's."""
        asked = self.benchmark_revision or {}
        return next((asked[name] for name in known_names(benchmark) if name in asked), None)

    @property
    def chosen(self) -> Preset | None:
        """The preset, or None without one."""
        return None if self.preset is None else find_preset(self.preset)

    def scorers(self, kind: str) -> tuple[str, ...] | None:
        """Return the ways to score a model of a kind, or None for the usual one."""
        if self.scorer is not None or self.chosen is None:
            return self.scorer
        return (self.chosen.scorer_masked if kind == "masked" else self.chosen.scorer_causal,)

    def start(self) -> Start:
        """Return the policy for the token before every sentence, or the token."""
        if self.bos is not None:
            return self.bos
        return self.chosen.bos if self.chosen else "auto"

    def reported(self, benchmark: str) -> Reported:
        """Return what is shown first of a benchmark: what the preset says, else its card."""
        card, preset = reported_by_card(card_of(full_name(benchmark))), self.chosen
        return Reported(preset.linking[0], preset.ties_rule, preset.aggregate, card.maker) if preset else card

    def linkings(self, scorer: type[Scorer], benchmark: str) -> tuple[str, ...]:
        """Return the linking functions for the scores of a scorer on a benchmark: the usual ones and its card's."""
        if self.linking is not None:
            return self.linking
        if self.chosen is not None:
            return scorer.linkings(self.chosen.linking)
        return scorer.linkings(_with(LINKING, self.reported(benchmark).linking))

    def rules(self, benchmark: str) -> tuple[TiesRule, ...]:
        """Return what a tie counts: the usual rule and that of the benchmark's card."""
        if self.ties_rules is not None:
            return self.ties_rules
        if self.chosen is not None:
            return (self.chosen.ties_rule,)
        return _with(TIES_RULES, self.reported(benchmark).ties_rule)


def score_settings(**given: object) -> ScoreSettings:
    """Return what is given with the defaults of conf/eval/default.yaml, checked.

    Raises:
        UserError: naming the key and the value of every problem.
    """
    return check(ScoreSettings, completed("eval/default.yaml", given))


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class ScoreCommand(ScoreSettings):
    """The configuration of ``score.py``: the settings, and a run or a model; conf/score.yaml describes every key."""

    run: str | None
    steps: Steps | None
    average: Annotated[int, Field(ge=2)] | None
    watch: bool
    model: str | None
    revisions: Annotated[tuple[str, ...], AfterValidator(_some)] | None
    out: Path | None
    keep: bool
    check: bool
    list: bool

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        if not self.benchmarks and not self.list:
            raise ValueError(f"give 'benchmarks=[...]'; there are {', '.join(benchmark_names())}")
        if self.run is not None and self.model is not None:
            raise ValueError("give exactly one of run=RUN and model=PATH_OR_HUB_ID")
        if self.check or self.list:
            return self
        if self.run is None and self.model is None:
            raise ValueError("give exactly one of run=RUN and model=PATH_OR_HUB_ID")
        if self.watch and (self.model is not None or self.steps is not None):
            raise ValueError(
                "watch=true scores every checkpoint of run=RUN; it goes with neither model= nor steps="
            )
        if (self.model is None) != (self.out is None):
            raise ValueError("out=DIR goes with model=, and model= needs it; the scores of a run go into the run")
        if self.model is None and self.weights != "safetensors":
            raise ValueError("weights=bin goes with model=; the checkpoints of a run are safetensors files")
        if not self.keep and (self.model is None or Path(self.model).expanduser().is_dir()):
            raise ValueError("keep=false removes what was fetched for these scores; it goes with model=HUB_ID")
        if self.model is None and self.revisions is not None:
            raise ValueError("revisions= goes with model=; a run has steps=")
        return self

    @model_validator(mode="after")
    def _means_of_a_run(self) -> Self:
        if self.average is not None and (self.model is not None or self.watch):
            raise ValueError(
                "average=N is of the checkpoints of a finished run; it goes with neither model= nor watch="
            )
        return self

    @model_validator(mode="after")
    def _steps_of_one_thing(self) -> Self:
        if self.model is not None and isinstance(self.steps, tuple):
            raise ValueError(
                "'steps=[...]' goes with run=; a model has 'revisions=[...]', and 'steps={REVISION: N}' gives the step "
                "of one whose name does not say it"
            )
        if self.model is None and isinstance(self.steps, dict):
            raise ValueError(
                "'steps={REVISION: N}' goes with model=; the checkpoints of a run are 'steps=[0,512]'"
            )
        return self

    @property
    def run_steps(self) -> tuple[int, ...] | None:
        """The checkpoints of the run that are scored; None for all."""
        return self.steps if isinstance(self.steps, tuple) else None

    @property
    def revision_steps(self) -> dict[str, int] | None:
        """The steps of revisions of the model whose names do not say them."""
        return self.steps if isinstance(self.steps, dict) else None
