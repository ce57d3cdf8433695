"""The training configuration as frozen dataclasses, checked at once."""

import contextlib
import itertools
import json
import re
from dataclasses import asdict, fields
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    Tag,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass

from ucurve.config import check
from ucurve.config_files import choices, completed
from ucurve.errors import DamagedError, UserError
from ucurve.fields import STRICT, Folder, Name, Seed, format_count, format_words, parse_count, parse_words
from ucurve.storage.facts import (
    FullStart,
    ObjectiveKind,
    Precision,
    Seeds,
    Start,
    read_manifest,
    read_run_facts,
    read_state_facts,
)
from ucurve.storage.run_folder import HELD_OUT_COLUMNS, MANIFEST, MASKED_COLUMNS, RESUME
from ucurve.token_stream.order import split_steps
from ucurve.training.checkpoint_schedule import ScheduleSettings, fill_count
from ucurve.training.corpus.settings import CorpusSettings, WordCounter
from ucurve.training.evaluation import EvalSettings
from ucurve.training.identity import Configuration, flatten, pick_identity
from ucurve.training.model.design import ModelDesign
from ucurve.training.model.library import LibraryModel
from ucurve.training.model.neox import PythiaShape
from ucurve.training.model.precision import choose_precision
from ucurve.training.objective.settings import ObjectiveSettings
from ucurve.training.optim import OptimizerSettings, RateSettings, usual_optimizer, usual_rate
from ucurve.training.tokenizer.build import TokenizerSettings

# Groups whose keys are of a kind: a file of the user's own takes those that it leaves out from the file of its kind.
_OF_A_KIND = ("data", "tokenizer", "schedule", "engine", "rate")


@dataclass(frozen=True, config=STRICT)
class ModelSettings:
    """A size of the Pythia family: its shape and the learning rate that Pythia trains it with."""

    name: Name
    layers: PositiveInt
    width: PositiveInt
    heads: PositiveInt
    feed_forward: PositiveInt
    learning_rate: PositiveFloat
    hidden_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0  # of the embeddings, and of what layers add to them
    attention_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    objective: Literal["causal"] = "causal"
    size: Name | None = None  # by which architectures are compared; without it the number of parameters is

    @model_validator(mode="after")
    def _heads_divide_width(self) -> "ModelSettings":
        # Rotary positions turn a quarter of each head (``PythiaShape``) in pairs of numbers.
        if self.width % self.heads or (self.width // self.heads) % 8:
            raise ValueError(f"width {self.width} must be {self.heads} heads times a multiple of 8")
        return self

    @property
    def design(self) -> ModelDesign:
        """What is built, and what parameters and FLOPs are counted from."""
        shape = (self.layers, self.width, self.heads, self.feed_forward)
        return PythiaShape(*shape, self.hidden_dropout, self.attention_dropout)


@dataclass(frozen=True, config=STRICT)
class LibraryModelSettings:
    """A model of an architecture that transformers has, by its name and keys of its configuration there."""

    name: Name
    architecture: str
    config: dict[str, object]
    learning_rate: PositiveFloat
    objective: ObjectiveKind = "causal"  # the usual one; with any other a model sees both sides of a token
    size: Name | None = None

    @property
    def design(self) -> ModelDesign:
        """What is built, and what parameters and FLOPs are counted from."""
        return LibraryModel(self.architecture, json.dumps(self.config), masked=self.objective != "causal")


def _kind_of_model(values: object) -> str:
    given = values if isinstance(values, dict) else vars(values)
    return "of transformers" if "architecture" in given else "of Pythia"


AnyModelSettings = Annotated[
    Annotated[ModelSettings, Tag("of Pythia")] | Annotated[LibraryModelSettings, Tag("of transformers")],
    Discriminator(_kind_of_model),
]


@dataclass(frozen=True, config=STRICT)
class ShorterSequences:
    """A stage at the beginning of a run, for so many tokens, whose sequences are shorter."""

    length: Annotated[int, Field(ge=2)]
    tokens: Annotated[int, BeforeValidator(parse_count)]


@dataclass(frozen=True, config=STRICT)
class BatchSettings:
    """The global batch: ``sequences`` of ``length`` tokens for each step, or as many tokens in shorter sequences."""

    sequences: PositiveInt
    length: Annotated[int, Field(ge=2)]
    shorter: tuple[ShorterSequences, ...]

    @model_validator(mode="after")
    def _lengths_grow(self) -> "BatchSettings":
        # A step has equally many tokens whatever the length, so that as many shorter sequences make whole ones.
        lengths = [stage.length for stage in self.shorter]
        if lengths != sorted(set(lengths)) or any(
            self.length % length or length == self.length for length in lengths
        ):
            raise ValueError(
                f"shorter: got the lengths {', '.join(map(str, lengths))}; they must grow, and each must divide "
                f"length={self.length}, which comes last"
            )
        for number, stage in enumerate(self.shorter):
            if stage.tokens < self.tokens:
                raise ValueError(
                    f"shorter.{number}.tokens={stage.tokens} is less than one step of {self.tokens} tokens"
                )
        return self

    @property
    def stages(self) -> tuple[tuple[int, int], ...]:
        """The lengths of the shorter sequences, each with the tokens for which it is that of the run."""
        return tuple((stage.length, stage.tokens) for stage in self.shorter)

    def split_steps(self, last: int) -> list[tuple[int, range]]:
        """Return the length of each stage with its steps, of those up to ``last``; some may have none."""
        return split_steps(self.stages, self.length, self.tokens, last)

    @property
    def tokens(self) -> int:
        """Tokens in one optimizer step."""
        return self.sequences * self.length

    def describe(self) -> str:
        """Name the batch and the keys that make it smaller, for budgets that do not hold one."""
        return (
            f"one global batch of {self.tokens} tokens; give more tokens, or lower batch.sequences={self.sequences} or "
            f"batch.length={self.length}"
        )


@dataclass(frozen=True, config=STRICT)
class EngineSettings:
    """The engine that computes the steps; conf/engine/ describes every key."""

    kind: Literal["auto", "torch", "deepspeed"]
    micro_batch: int | Literal["auto"]  # sequences in one forward pass
    device: str  # ``cpu``, ``cuda``, ``cuda:N`` or ``auto``
    zero_stage: int  # what is divided: 0 nothing, 1 the optimizer's state, 2 gradients too
    config: str | None
    precision: Precision  # ``auto`` becomes what it is on this machine as soon as it is read
    compile: bool | Literal["auto"]
    reduction: Precision  # gradients are sent in this precision

    @field_validator("micro_batch", mode="before")
    @classmethod
    def _micro_batch_is_a_size(cls, value: object) -> object:
        if value != "auto" and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ValueError(f"got {value!r}; allowed: auto, or a number of sequences from 1")
        return value

    @field_validator("device")
    @classmethod
    def _device_is_known(cls, name: str) -> str:
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
            raise ValueError(f"got {name!r}; allowed: auto, cpu, cuda, or one device as cuda:1")
        return name

    @field_validator("precision", mode="before")
    @classmethod
    def _choose_precision(cls, value: object, info: ValidationInfo) -> object:
        # Fields are checked in their order, so the device is known here.
        return choose_precision(info.data.get("device", "cpu")) if value == "auto" else value

    @field_validator("compile", mode="before")
    @classmethod
    def _compile_is_a_choice(cls, value: object) -> object:
        if value != "auto" and not isinstance(value, bool):
            raise ValueError(f"got {value!r}; allowed: auto, true, false")
        return value

    @field_validator("zero_stage")
    @classmethod
    def _stage_is_supported(cls, stage: int) -> int:
        if stage not in (0, 1, 2):
            why = "; ZeRO 3 cuts the weights too, which the loss, checkpoints and resume states read whole"
            raise ValueError(f"got {stage}{why if stage == 3 else ''}; allowed: 0, 1, 2")
        return stage

    @model_validator(mode="after")
    def _torch_has_no_stages(self) -> "EngineSettings":
        if self.kind == "torch" and (self.zero_stage or self.config):
            raise ValueError("zero_stage and config are DeepSpeed's; set engine=deepspeed")
        return self


@dataclass(frozen=True, config=STRICT)
class TrackerSettings:
    """An experiment tracker beside ``metrics.jsonl``."""

    kind: Literal["none", "wandb", "trackio"]
    project: str
    mode: Literal["online", "offline"] = "offline"


def _read_place(value: object) -> int | str:
    """Read where a full state is kept: a step, or tokens, which stay text until the size of a step is known."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    with contextlib.suppress(ValueError):
        parse_count(value)
        if isinstance(value, str) and not value.isdecimal():
            return value
    raise ValueError(f"got {value!r}; allowed: a step, as 500, or tokens with a unit, as 10M")


@dataclass(frozen=True, config=STRICT)
class ResumeSettings:
    """When the rolling full state is saved, and how states and checkpoints are written."""

    seconds: NonNegativeFloat | None  # 0 saves one after every step, None as often as costs 2 % of the time
    background: bool  # beside the training, from a copy in host memory
    keep_states: tuple[Annotated[int | str, BeforeValidator(_read_place)], ...]  # steps, or tokens as text


@dataclass(frozen=True, config=STRICT)
class Paths:
    """Folders written to: run folders, tokenized corpora, built tokenizers."""

    runs: Folder
    cache: Folder
    tokenizers: Folder


def _parse_tokens(value: object) -> int:
    """Read a budget in tokens; one in words was taken before, which the message names too."""
    if value is None:
        raise ValueError("no value given, as tokens=10M; allowed: 10M, 1.5B, 3e9, 1000000, and 102Mw for words")
    if isinstance(value, list | tuple):
        raise ValueError(f"one budget is expected; several make a grid: -m tokens={','.join(map(str, value))}")
    try:
        return parse_count(value)
    except ValueError as error:
        raise ValueError(f"{error}, and 102Mw for words") from error


@dataclass(frozen=True, config=STRICT)
class RunRequest:
    """One run as it is asked for, perhaps with a budget in words; with one in tokens it is a ``RunSettings``.

    How many tokens a number of words is depends on the tokenizer; ``train.run.budget`` finds it out.
    """

    model: AnyModelSettings
    tokens: int | None  # None for a budget in words
    tokenizer: TokenizerSettings
    data: CorpusSettings
    schedule: ScheduleSettings
    batch: BatchSettings
    optimizer: OptimizerSettings
    engine: EngineSettings
    seed: Seed
    seeds: Seeds
    eval: EvalSettings
    tracker: TrackerSettings
    resume: ResumeSettings
    paths: Paths
    rate: RateSettings
    objective: ObjectiveSettings
    benchmark_root: str | None
    name: Name | None
    dry_run: bool
    grid: tuple[dict[str, object], ...]  # axes, which are expanded before there is a run
    start: str | None
    start_with: Literal["weights", "state"]
    started_from: FullStart | Start | None = (
        None  # what is at ``start``, once it is read; no key of conf/train.yaml
    )
    words: PositiveInt | None = None  # the budget in words; no key of conf/train.yaml, which has ``tokens=102Mw``

    @field_validator("seeds", mode="wrap")
    @classmethod
    def _seeds_after_seed(
        cls, value: object, check: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> object:
        return check(value) if "seed" in info.data else value  # one mistake, of the key that was given

    @model_validator(mode="after")
    def _words_can_be_counted(self) -> "RunRequest":
        if self.words is not None and self.data.words is None:
            raise ValueError(
                f"tokens={self.budget} is a number of words, which nothing counts in data={self.data.run_name}; "
                "add data.words=jieba (Chinese) or data.words=whitespace, or give tokens, as tokens=10M"
            )
        return self

    @model_validator(mode="after")
    def _minimum_is_reached(self) -> "RunRequest":
        if self.rate.kind == "constant" and self.optimizer.minimum != 1:
            raise ValueError(
                f"optimizer.minimum={self.optimizer.minimum}: rate=constant stays at its peak; leave it out"
            )
        if self.rate.kind == "wsd_s" and self.optimizer.minimum == 0:
            raise ValueError("optimizer.minimum=0: rate=wsd_s falls as 1 / x, which never reaches 0; as 0.1")
        if self.rate.form == "exponential" and self.optimizer.minimum == 0:
            raise ValueError(
                "optimizer.minimum=0: rate.form=exponential never reaches 0; as optimizer.minimum=0.1"
            )
        return self

    @model_validator(mode="after")
    def _objective_suits_the_model(self) -> "RunRequest":
        if self.objective.predicts_next != (self.model.objective == "causal"):
            sees = "only what is before a token" if self.model.objective == "causal" else "both sides of a token"
            raise ValueError(
                f"objective={self.objective.kind}: model={self.model.name} sees {sees}; "
                f"it is trained with objective={self.model.objective}"
            )
        if self.objective.whole_words and self.tokenizer.kind == "char":
            raise ValueError(
                "objective.whole_words=true: every token of tokenizer=char is a word by itself; leave it out"
            )
        if self.objective.last_rate is not None and self.rate.kind == "wsd":
            raise ValueError(
                "objective.last_rate: masks that change over the run depend on its budget, and with rate=wsd budgets "
                "share their steps; leave it out, or take another rate"
            )
        return self

    @model_validator(mode="after")
    def _stages_have_a_sequence(self) -> "RunRequest":
        for number, part in enumerate(self.data.parts):
            if part.tokens is not None and part.tokens < self.batch.length:
                length = self.batch.length
                raise ValueError(
                    f"data.parts.{number}.tokens={part.tokens} is less than one sequence (batch.length={length})"
                )
        return self

    @model_validator(mode="after")
    def _a_start_has_a_name(self) -> "RunRequest":
        if self.start is not None and self.name is None:
            raise ValueError(
                f"start={self.start} needs name=SUFFIX, which tells the run from one with random weights"
            )
        if self.start is None and self.start_with == "state" and self.started_from is None:
            raise ValueError("start_with=state needs start=RUN/checkpoints/STEP, whose state is meant")
        return self

    @property
    def start_run(self) -> Path:
        """The folder of the run that has the checkpoint at ``start``."""
        return Path(str(self.start)).expanduser().parent.parent

    @property
    def has_masks(self) -> bool:
        """Whether masked tokens are predicted, in all sequences or in some."""
        return self.objective.kind != "causal"

    @property
    def held_out_columns(self) -> tuple[str, ...]:
        """The columns of ``held_out.csv``, whose loss is of the next token where it is predicted."""
        return HELD_OUT_COLUMNS if self.objective.predicts_next else MASKED_COLUMNS

    @property
    def counted_words(self) -> tuple[int, WordCounter]:
        """The budget in words and what counts them."""
        assert self.words is not None and self.data.words is not None, "this is a budget in words"
        return self.words, self.data.words

    @property
    def budget(self) -> str:
        """The budget as it was given: ``10M`` tokens, ``102Mw`` words."""
        return format_words(self.words) if self.words is not None else format_count(self.tokens or 0)

    @property
    def run_name(self) -> str:
        """The name of the run: ``<model>-<budget>-<tokenizer>-<data>-s<seed>[-<key>=<value>...][-<name>]``."""
        # Most runs have one seed for both, which is then in the name once.
        same = self.seeds.init == self.seeds.data
        seed = f"s{self.seeds.init}" if same else f"si{self.seeds.init}d{self.seeds.data}"
        parts = [self.model.name, self.budget, self.tokenizer.name, self.data.run_name, seed]
        keys = [f"{key}={value}" for key, value in self.choices.items()]
        return "-".join([*parts, *keys, *([self.name] if self.name else [])])

    @property
    def choices(self) -> dict[str, object]:
        """The keys that are not at their default, in the order in which the name has them."""
        rate, usual = self.rate, usual_rate(self.rate.kind)
        optimizer = flatten(asdict(self.optimizer))
        others = flatten(asdict(usual_optimizer(rate.kind, self.model.learning_rate)))
        found: dict[str, tuple[object, object]] = {
            "rate": (rate.kind, "cosine"),
            "rate.decay": (rate.decay, usual.decay),
            "rate.form": (rate.form, usual.form),
            "optimizer": (self.optimizer.kind, "adamw"),
            **{
                f"optimizer.{key}": (optimizer[key], others[key])
                for key in optimizer
                if key not in ("kind", "betas")
            },
            "data.attention": (self.data.attention, "stream"),
            "objective": (self.objective.kind, self.model.objective),
            **{f"objective.{key}": values for key, values in self.objective.with_defaults().items()},
        }
        return {key: value for key, (value, default) in found.items() if value != default}

    @property
    def folder(self) -> Path:
        """The run folder."""
        return Path(self.paths.runs) / self.run_name

    @property
    def commits(self) -> dict[str, str]:
        """The commits of corpus and tokenizer, as far as they are repositories of the hub."""
        return self.data.commits | ({} if self.tokenizer.commit is None else {"tokenizer": self.tokenizer.commit})

    def identity(self) -> Configuration:
        """Return the part of the configuration that determines the outcome, as plain values."""
        return pick_identity(asdict(self))

    def with_tokens(self, tokens: int) -> "RunSettings":
        """Return the settings of a budget of so many tokens, with what follows from them.

        Raises:
            UserError: when they are less than one global batch.
        """
        if tokens < self.batch.tokens:
            raise UserError(
                f"tokens={self.budget}: so many words are {tokens:,} tokens of data={self.data.run_name} with "
                f"tokenizer={self.tokenizer.name}, less than {self.batch.describe()}"
            )
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        schedule = fill_count(self.schedule, tokens // self.batch.tokens)
        return RunSettings(**given | {"tokens": tokens, "schedule": schedule})


@dataclass(frozen=True, config=STRICT)
class RunSettings(RunRequest):
    """One run whose budget is known in tokens, also where it was asked for in words."""

    tokens: Annotated[int, BeforeValidator(_parse_tokens)]

    @model_validator(mode="after")
    def _budget_can_be_spent(self) -> "RunSettings":
        if self.tokens < self.batch.tokens:
            raise ValueError(f"tokens={self.tokens} is less than {self.batch.describe()}")
        return self

    @model_validator(mode="after")
    def _kept_states_are_reached(self) -> "RunSettings":
        if outside := [step for step in self.kept_steps if not 1 <= step <= self.steps]:
            raise ValueError(
                f"resume.keep_states: the run has the steps 1 to {self.steps}, not {', '.join(map(str, outside))}"
            )
        return self

    @model_validator(mode="after")
    def _decays_follow_each_other(self) -> "RunSettings":
        for tokens in self.rate.at:
            if not self.batch.tokens <= tokens < self.tokens:
                raise ValueError(
                    f"rate.at: {format_count(tokens)} is not between one step and the budget {self.budget}, at which "
                    "the last decay ends by itself"
                )
        for before, end in itertools.pairwise(self.decay_ends if self.rate.at else ()):
            begin = self.rate.steps_before_decay(end)
            if begin < before:
                raise ValueError(
                    f"rate.at: the decay to step {end} begins after step {begin}, before the one to step {before} has "
                    "ended; give budgets that are further apart, or a smaller rate.decay"
                )
        return self

    @model_validator(mode="after")
    def _warmup_ends_before_the_decay(self) -> "RunSettings":
        if self.rate.decay is None:
            return self
        warmup, before = self.optimizer.warmup_steps(self.steps), self.rate.steps_before_decay(self.decay_ends[0])
        if warmup > before:
            raise ValueError(
                f"optimizer.warmup={self.optimizer.warmup}: the warm-up of {warmup} steps does not end before the "
                f"decay of rate={self.rate.kind}, which begins after step {before} of {self.steps}; shorten it, or "
                "give more tokens"
            )
        return self

    @property
    def decay_ends(self) -> tuple[int, ...]:
        """The steps at which decays end, the last step among them, ascending."""
        return (*(tokens // self.batch.tokens for tokens in self.rate.at), self.steps)

    @property
    def steps(self) -> int:
        """Optimizer steps: whole global batches in the token budget."""
        return self.tokens // self.batch.tokens

    @property
    def seen_per_step(self) -> int | Fraction:
        """Tokens of one step, or words where the budget is in words."""
        # A fraction is exact, so that a whole million of words is never missed by a rounding error.
        return self.batch.tokens if self.words is None else Fraction(self.batch.tokens * self.words, self.tokens)

    @property
    def kept_steps(self) -> tuple[int, ...]:
        """The steps after which the full state is kept, ascending."""
        places = self.resume.keep_states
        return tuple(
            sorted({one if isinstance(one, int) else parse_count(one) // self.batch.tokens for one in places})
        )


def read_request(values: Configuration) -> RunRequest:
    """Check a composed configuration; with a budget in tokens the result is a ``RunSettings``.

    ``engine.precision=auto`` is what a run that exists was started in, on whatever machine it goes on.

    Raises:
        UserError: listing every problem.
    """
    values = values | _read_start(values)
    request = _read_request(values)
    engine = values["engine"]
    if isinstance(engine, dict) and engine.get("precision") == "auto":
        with contextlib.suppress(DamagedError):  # which is named where the run folder is checked
            facts = read_run_facts(request.folder)
            if facts is not None and facts.engine.precision != request.engine.precision:
                return _read_request(values | {"engine": engine | {"precision": facts.engine.precision}})
    return request


def _read_start(values: Configuration) -> Configuration:
    """Read the manifest of the checkpoint that a run starts from."""
    given = values.get("start")
    if given is None:
        return {}
    folder = Path(str(given)).expanduser().absolute()
    if not (folder / MANIFEST).is_file():
        raise UserError(
            f"start={given}: no checkpoint of a run, which holds {MANIFEST}; as RUN/checkpoints/step00000512"
        )
    manifest = read_manifest(folder)
    run = folder.parent.parent  # the folder is RUN/checkpoints/STEP
    facts = read_run_facts(run)  # whose name stays when the folder gets another one
    found = Start(
        run.name if facts is None else facts.name,
        manifest.step,
        manifest.weights_sha256,
        manifest.tokenizer_sha256,
    )
    if values.get("start_with") != "state":
        return {"started_from": asdict(found)}
    state = run / RESUME / folder.name
    try:
        kept = read_state_facts(state)
    except DamagedError as error:
        raise UserError(
            f"start_with=state: {state} holds no full state; 'resume.keep_states=[{manifest.step}]' keeps it where "
            f"{run.name} is trained"
        ) from error
    return {"started_from": asdict(found) | {"state_sha256": kept.state_sha256}}


def _read_request(values: Configuration) -> RunRequest:
    words = parse_words(values.get("tokens"))
    if words is not None:
        return check(RunRequest, _complete(values) | {"tokens": None, "words": words})
    return read_settings(values)


def read_settings(values: Configuration) -> RunSettings:
    """Check a configuration with a number of tokens, and fill in the number of checkpoints.

    Raises:
        UserError: listing every problem.
    """
    settings = check(RunSettings, {"tokens": None} | _complete(values))
    return settings.with_tokens(settings.tokens)


def _complete(values: Configuration) -> Configuration:
    """Add what a file of the user's own leaves out, and put the objective of the model in the place of ``auto``."""
    added: dict[str, object] = {}
    for group in _OF_A_KIND:
        given = values.get(group)
        if isinstance(given, dict) and (file := f"{group}/{given.get('kind')}.yaml") in choices(group):
            usual = completed(file, {})
            of_group = usual.get(group)  # a file of ``rate`` has keys of other groups beside its own
            added[group] = (of_group if isinstance(of_group, dict) else usual) | given
    given, model = values.get("objective"), values.get("model")
    if isinstance(given, dict):
        kind = given.get("kind")
        if kind == "auto" and isinstance(model, dict):
            kind = model.get("objective", "causal")
        objective = given | {"kind": kind}
        # Keys that this objective does not read have the values of those that do.
        for file in choices("objective"):
            objective = completed(file, objective)
        added["objective"] = objective
    return values | added
