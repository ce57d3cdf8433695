"""The plan of a run, from its settings and vocabulary alone: steps, parameters, FLOPs, checkpoints, disk."""

from dataclasses import asdict, dataclass

from ucurve.storage.facts import CheckpointFacts, FullStart, ParentFacts
from ucurve.token_stream.store import StreamSize
from ucurve.training.checkpoint_schedule import checkpoint_steps
from ucurve.training.config import RunSettings
from ucurve.training.identity import config_sha256
from ucurve.training.model.design import Parameters, flops_6nd
from ucurve.training.model.precision import describe_precision
from ucurve.training.optim import learning_rate, muon_flops

_BYTES_PER_WEIGHT = 4  # of float32
_MOST_TOKENS_BETWEEN = 1_000  # start tokens; beyond it the plan warns
_MOST_FLOPS = 2.0  # times 6ND; beyond it the plan warns
_SPACES = {  # what a token is, where a reader may count words
    "word": "; a token is a word or a piece of one, a punctuation mark, or a single space",
    "char": "; a token is a character, spaces included",
}
_STATES_KEPT, _VALUES_PER_STATE = 2, 3  # weights and two moments


@dataclass(frozen=True)
class Plan:
    """The settings of a run with what follows from them and the vocabulary."""

    settings: RunSettings
    vocabulary: int  # rows of the embedding
    parameters: Parameters
    checkpoint_steps: tuple[int, ...]  # ascending
    config_sha256: str
    parent: ParentFacts | None = None  # the run whose state this one goes on from

    @property
    def steps(self) -> int:
        """Optimizer steps."""
        return self.settings.steps

    @property
    def tokens(self) -> int:
        """Tokens in all steps."""
        return self.steps * self.settings.batch.tokens

    @property
    def own_steps(self) -> int:
        """The steps that are not its parent's."""
        return self.steps - (self.parent.step if self.parent else 0)

    @property
    def disk_bytes(self) -> int:
        """Estimated size of the run folder: checkpoints and the resume states."""
        states = _STATES_KEPT + len(self.settings.kept_steps)
        copies = len(self.checkpoint_steps) + states * _VALUES_PER_STATE
        return copies * self.parameters.total * _BYTES_PER_WEIGHT

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of 1-based ``step``."""
        settings = self.settings
        return learning_rate(settings.optimizer, step, self.steps, settings.rate, settings.decay_ends[:-1])

    def flops(self, tokens: int) -> float:
        """Training FLOPs after ``tokens`` tokens by 6ND, N being all parameters."""
        return flops_6nd(self.parameters.total, tokens)

    def flops_exact(self, tokens: int) -> float:
        """Training FLOPs after ``tokens`` tokens, matrix products counted, with those that Muon computes."""
        settings, steps = self.settings, tokens // self.settings.batch.tokens
        predicted = settings.objective.mean_rate(steps, self.steps)  # of the output layer, whatever the length
        of_model = (
            settings.model.design.count_flops(self.vocabulary, length, len(of) * settings.batch.tokens, predicted)
            for length, of in settings.batch.split_steps(steps)
        )
        return sum(of_model) + steps * self.optimizer_flops

    @property
    def optimizer_flops(self) -> float:
        """The FLOPs of the matrix products that the optimizer computes in a step, beside those of the model."""
        return muon_flops(self.parameters.hidden) if self.settings.optimizer.kind == "muon" else 0.0

    def describe_checkpoint(self, step: int, data_sha256: str, corpus_tokens: int) -> CheckpointFacts:
        """Return what the manifest of the checkpoint at ``step`` holds."""
        tokens = step * self.settings.batch.tokens
        return CheckpointFacts(
            step=step,
            tokens=tokens,
            flops=self.flops(tokens),
            flops_exact=self.flops_exact(tokens),
            epoch=tokens / corpus_tokens,
            data_sha256=data_sha256,
            config_sha256=self.config_sha256,
            precision=self.settings.engine.precision,
            parts=self.part_tokens(step),
            parent=self.parent,
            start=self.settings.started_from,
        )

    def part_tokens(self, step: int) -> dict[str, int] | None:
        """Return the tokens seen of each part of the corpus up to a step; None for one corpus."""
        data, batch = self.settings.data, self.settings.batch
        if data.joining is None:
            return None
        seen = [0] * len(data.parts)
        for length, steps in batch.split_steps(step):
            before, after = (
                data.joining.count(end * batch.tokens // length, length)
                for end in (steps.start - 1, steps.stop - 1)
            )
            seen = [one + length * (to - since) for one, since, to in zip(seen, before, after, strict=True)]
        return {part.name: count for part, count in zip(data.parts, seen, strict=True)}


def make_plan(settings: RunSettings, vocabulary: int) -> Plan:
    """Plan a run, or refuse with a ``UserError`` a model that cannot compute a step or whose FLOPs nobody counts."""
    scheduled = checkpoint_steps(settings.schedule, settings.steps, settings.seen_per_step)
    plan = Plan(
        settings=settings,
        vocabulary=vocabulary,
        parameters=settings.model.design.count_parameters(vocabulary, settings.batch.length),
        checkpoint_steps=tuple(sorted({*scheduled, *settings.decay_ends})),
        config_sha256=config_sha256(settings.identity()),
    )
    plan.flops_exact(plan.tokens)  # which goes through a step without computing, before anything is written
    return plan


def describe_plan(
    plan: Plan, vocabulary_note: str, stream: StreamSize | None = None, tokens_note: str = ""
) -> str:
    """Return a plan as text, as ``dry_run=true`` prints it.

    Args:
        vocabulary_note: where the size of the vocabulary is from.
        stream: the size of the token stream, where it is known.
        tokens_note: where the tokens of a budget in words are from.
    """
    settings, batch, tokens = plan.settings, plan.settings.batch, plan.tokens
    by_muon = settings.optimizer.kind == "muon"
    tied = "tied" if plan.parameters.tied else "not tied"
    parts = [
        f"part           {name}: {count:,} tokens ({100 * count / tokens:.4g} %)"
        f"{'' if count else '; the budget ends before this part'}"
        for name, count in (plan.part_tokens(plan.steps) or {}).items()
    ]
    lines = [
        f"run            {settings.run_name}",
        f"vocabulary     {plan.vocabulary:,} {vocabulary_note}",
        *[f"parameters     {name:<14}{count:>15,}" for name, count in plan.parameters.as_dict().items()],
        f"embeddings     {tied} to the output layer{_note_large_vocabulary(plan)}",
        *[
            f"steps          {len(steps):,} of {batch.tokens // length} x {length} tokens"
            for length, steps in batch.split_steps(plan.steps)
        ],
        *([f"goes on from   step {plan.parent.step:,} of {plan.parent.name}"] if plan.parent else []),
        f"tokens         {tokens:,} {tokens_note}".rstrip() + _SPACES.get(settings.tokenizer.kind, ""),
        *_describe_start(plan),
        *parts,
        f"precision      {describe_precision(settings.engine.precision)}",
        f"start token    {describe_start_token(plan, stream)}",
        f"learning rate  {_describe_rate(plan)}",
        *(["optimizer      Muon for matrices between embedding and output layer, AdamW for the rest"] * by_muon),
        f"FLOPs          {plan.flops(tokens):.3e} (6ND), {plan.flops_exact(tokens):.3e} (matrix products)",
        *([f"beyond 6ND     {warning}"] if (warning := warn_of_flops(plan)) else []),
        f"checkpoints    {len(plan.checkpoint_steps)}: {' '.join(map(str, plan.checkpoint_steps))}",
        f"disk           {plan.disk_bytes / 1e9:.2f} GB",
    ]
    return "\n".join(lines)


def warn_of_flops(plan: Plan) -> str:
    """Say that the matrix products of a plan are more than twice its 6ND, and what they are of; empty if not."""
    ratio = plan.flops_exact(plan.tokens) / plan.flops(plan.tokens)
    if ratio <= _MOST_FLOPS:
        return ""
    batch, share = plan.settings.batch, plan.steps * plan.optimizer_flops / plan.flops_exact(plan.tokens)
    reason = (
        f"{100 * share:.0f} % of them are Muon's own, since a batch of {batch.tokens:,} tokens is small for it"
        if share > 0.5
        else "6ND counts every parameter once, and not what attention or a scan computes over "
        f"{batch.length:,} tokens (batch.length) nor that layers may share parameters"
    )
    return f"warning: matrix products take {ratio:.1f} times the FLOPs of 6ND: {reason}"


def _describe_rate(plan: Plan) -> str:
    """Describe the learning rate, with its form where that is not the default."""
    rate, peak = plan.settings.rate, plan.settings.optimizer.learning_rate
    first, last = plan.learning_rate(1), plan.learning_rate(plan.steps)
    form = "" if rate.kind == "cosine" else f"; rate={rate.kind}{f' ({rate.form})' * (rate.form != 'sqrt')}"
    if rate.decay is not None:
        begins = [f"{rate.steps_before_decay(end):,}" for end in plan.settings.decay_ends]
        form += f" falls after step {', '.join(begins)}"
    scales = asdict(plan.settings.optimizer.scale)
    form += "".join(f"; {value:g} times as high for {group}" for group, value in scales.items() if value != 1)
    return f"{first:.3g} at step 1, {peak:.3g} at its peak, {last:.3g} at the end{form}"


def _describe_start(plan: Plan) -> list[str]:
    start = plan.settings.started_from
    if start is None:
        return []
    what = "weights and optimizer" if isinstance(start, FullStart) else "weights"
    new = "" if isinstance(start, FullStart) else ", a new optimizer"
    return [f"start          {what} of step {start.step} of {start.run}{new}"]


def describe_start_token(plan: Plan, stream: StreamSize | None) -> str:
    """Describe how often a run trains on the token that precedes every document, with which scoring begins."""
    if stream is None:
        unit = "" if plan.settings.data.parts else f" (data.unit={plan.settings.data.unit})"
        return f"before every document{unit} and scored sentence; its count is known after tokenizing"
    if warning := warn_of_start_token(plan, stream):
        return warning
    seen, distance = count_start_tokens(plan, stream), _start_distance(plan, stream)
    return f"before every document and scored sentence, seen about {seen:,} times, once in {distance:,.0f} tokens"


def warn_of_start_token(plan: Plan, stream: StreamSize) -> str:
    """Say that a run seldom trains on the token with which scoring begins, and what helps; empty where it does not."""
    distance = _start_distance(plan, stream)
    if distance <= _MOST_TOKENS_BETWEEN:
        return ""
    is_line = plan.settings.data.unit == "line"
    remedy = "cut the long lines of this corpus" if is_line else "data.unit=line puts it before every line"
    return (
        f"warning: every scored sentence begins with the start token, which training sees only once in {distance:,.0f} "
        f"tokens, so the first token of a sentence is predicted badly; {remedy}"
    )


def count_start_tokens(plan: Plan, stream: StreamSize) -> int:
    """Return how often a run trains on the start token: exact for whole epochs, in proportion for other budgets."""
    seen = plan.part_tokens(plan.steps)
    if seen is None:
        # Every document has one start token in the stream.
        return round(plan.tokens * stream.documents / stream.length)
    sizes = zip(seen.values(), stream.parts, strict=True)
    return round(sum(tokens * part.documents / part.length for tokens, part in sizes))


def _start_distance(plan: Plan, stream: StreamSize) -> float:
    """Return how many tokens there are to each document."""
    if not stream.parts:
        return stream.length / stream.documents
    return plan.tokens / max(count_start_tokens(plan, stream), 1)


def _note_large_vocabulary(plan: Plan) -> str:
    """Note where most parameters belong to the vocabulary, whose size then determines the speed of training."""
    share = 1 - plan.parameters.non_embedding / plan.parameters.total
    if share <= 0.5:
        return ""
    tokenizer = plan.settings.tokenizer
    how = "tokenizer.vocab_size=" if tokenizer.kind in ("word", "bpe") else "another tokenizer"
    return (
        f"; together they are {100 * share:.0f} % of the parameters: a smaller vocabulary ({how}) trains faster"
    )
