"""What a run will do, from its settings and vocabulary alone: steps, parameters, FLOPs, checkpoints, disk."""

from dataclasses import asdict, dataclass

from train.checkpoint_schedule import checkpoint_steps
from train.config import RunSettings, config_sha256
from train.model.flops import Parameters, count_parameters, flops_6nd, flops_exact
from train.optim import learning_rate

_BYTES_PER_WEIGHT = 4
_STATES_KEPT, _VALUES_PER_STATE = 2, 3  # weights and two moments


@dataclass(frozen=True)
class CheckpointFacts:
    """Where in its run a checkpoint stands.

    Attributes:
        step: optimizer steps taken.
        tokens: training tokens seen.
        flops: training FLOPs so far by 6ND.
        flops_exact: training FLOPs so far, matrix products counted.
        epoch: tokens seen divided by the tokens of the corpus.
        data_sha256: content hash of the token stream.
        config_sha256: hash of the configuration that decides the outcome.
    """

    step: int
    tokens: int
    flops: float
    flops_exact: float
    epoch: float
    data_sha256: str
    config_sha256: str


@dataclass(frozen=True)
class Plan:
    """The plan of a run.

    Attributes:
        vocabulary: tokens in the vocabulary.
        checkpoint_steps: steps at which a checkpoint is written, ascending.
        config_sha256: hash of the configuration that decides the outcome.
    """

    settings: RunSettings
    vocabulary: int
    parameters: Parameters
    checkpoint_steps: tuple[int, ...]
    config_sha256: str

    @property
    def steps(self) -> int:
        """Optimizer steps."""
        return self.settings.steps

    @property
    def disk_bytes(self) -> int:
        """Estimated size of the run folder: checkpoints and the resume states."""
        copies = len(self.checkpoint_steps) + _STATES_KEPT * _VALUES_PER_STATE
        return copies * self.parameters.total * _BYTES_PER_WEIGHT

    def flops(self, tokens: int) -> float:
        """Training FLOPs after ``tokens`` tokens by 6ND, N being all parameters."""
        return flops_6nd(self.parameters.total, tokens)

    def flops_exact(self, tokens: int) -> float:
        """Training FLOPs after ``tokens`` tokens, matrix products counted."""
        return flops_exact(self.settings.model.shape, self.vocabulary, self.settings.batch.length, tokens)

    def facts(self, step: int, data_sha256: str, corpus_tokens: int) -> CheckpointFacts:
        """Return what the manifest of the checkpoint at ``step`` says."""
        tokens = step * self.settings.batch.tokens
        return CheckpointFacts(
            step=step,
            tokens=tokens,
            flops=self.flops(tokens),
            flops_exact=self.flops_exact(tokens),
            epoch=tokens / corpus_tokens,
            data_sha256=data_sha256,
            config_sha256=self.config_sha256,
        )


def make_plan(settings: RunSettings, vocabulary: int) -> Plan:
    """Plan a run.

    Raises:
        UserError: when the checkpoint schedule does not fit the run's length.
    """
    return Plan(
        settings=settings,
        vocabulary=vocabulary,
        parameters=count_parameters(settings.model.shape, vocabulary),
        checkpoint_steps=checkpoint_steps(settings.schedule, settings.steps, settings.batch.tokens),
        config_sha256=config_sha256(settings.identity()),
    )


def describe(plan: Plan, vocabulary_note: str) -> str:
    """Write a plan for a person, as ``dry_run=true`` prints it."""
    settings, tokens = plan.settings, plan.steps * plan.settings.batch.tokens
    groups = asdict(plan.parameters) | {"total": plan.parameters.total, "non_embedding": plan.parameters.non_embedding}
    lines = [
        f"run            {settings.run_name}",
        f"vocabulary     {plan.vocabulary:,} {vocabulary_note}",
        *[f"parameters     {name:<14}{count:>15,}" for name, count in groups.items()],
        f"embeddings     not tied to the output layer{_most_of_the_model(plan)}",
        f"steps          {plan.steps:,} of {settings.batch.sequences} x {settings.batch.length} tokens",
        f"tokens         {tokens:,}",
        f"learning rate  {_rates(settings)}",
        f"FLOPs          {plan.flops(tokens):.3e} (6ND), {plan.flops_exact(tokens):.3e} (matrix products)",
        f"checkpoints    {len(plan.checkpoint_steps)}: {' '.join(map(str, plan.checkpoint_steps))}",
        f"disk           {plan.disk_bytes / 1e9:.2f} GB",
    ]
    return "\n".join(lines)


def _most_of_the_model(plan: Plan) -> str:
    """Say that most parameters belong to the vocabulary, where they do: its size then decides how fast training is."""
    share = 1 - plan.parameters.non_embedding / plan.parameters.total
    if share <= 0.5:
        return ""
    tokenizer = plan.settings.tokenizer
    how = "tokenizer.vocab_size=" if tokenizer.kind in ("word", "bpe") else "another tokenizer"
    return f"; together they are {100 * share:.0f} % of the parameters: a smaller vocabulary ({how}) trains faster"


def _rates(settings: RunSettings) -> str:
    first, last = (learning_rate(settings.optimizer, step, settings.steps) for step in (1, settings.steps))
    return f"{first:.3g} at step 1, {settings.optimizer.learning_rate:.3g} at its peak, {last:.3g} at the end"
