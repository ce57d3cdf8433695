"""One model on one benchmark by one scorer: gathered and checked before weights are loaded."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd

from ucurve.eval.benchmarks.registry import card_of
from ucurve.eval.metrics.ratings import rating_pairs, read_ratings
from ucurve.eval.models.folder import Kind, read_config
from ucurve.eval.models.hub_weights import HubWeights
from ucurve.eval.models.model_info import ModelInfo, read_model_info
from ucurve.eval.models.targets import Target
from ucurve.eval.pairs import TOO_LONG, data_hash, full_name
from ucurve.eval.scoring.base import Scorer
from ucurve.eval.scoring.loading import Dtype, on_accelerator
from ucurve.eval.scoring.scorers import check_kind, find_scorer
from ucurve.eval.scoring.text.sentences import TooLongError
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.store.keys import find_key, scores_below
from ucurve.eval.store.scores import score_path
from ucurve.eval.store.views import RATED
from ucurve.eval.sweep.load import SweepCache
from ucurve.progress import log_line
from ucurve.storage.score_key import ScoreInputs

_HALF: tuple[Dtype, ...] = ("bfloat16", "float16")


@dataclass(frozen=True)
class Job:
    """One model on one benchmark by one scorer, ready to be scored."""

    scorer: Scorer
    inputs: ScoreInputs

    @property
    def target(self) -> Target:
        """The model."""
        return self.scorer.info.target

    @property
    def pairs(self) -> pd.DataFrame:
        """The pair table of the benchmark."""
        return self.scorer.pairs

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""
        return str(self.pairs["benchmark"].iloc[0])

    @property
    def identity(self) -> tuple[int, str, str]:
        """Step, benchmark and scorer: where the scores go within a run folder."""
        return self.target.step, self.benchmark, self.scorer.name

    @property
    def weights_to_have(self) -> HubWeights | None:
        """Weights of the hub that must be in the cache before this can be scored; None where none must."""
        return self.target.hub if self.scorer.loads == "model" else None

    @property
    def columns(self) -> set[str]:
        """What the scores have of each member of a pair."""
        return self.scorer.columns(self.scorer.unigrams.logs is not None)

    def path(self, folder: Path) -> Path:
        """Return where the scores go below a run folder."""
        return score_path(folder, self.benchmark, self.scorer.name, self.target.step)


def choose_scorers(pairs: pd.DataFrame, kind: Kind, settings: ScoreSettings) -> list[type[Scorer]]:
    """Return the ways in which a benchmark is scored with a model of a kind; its card says the default."""
    card = card_of(full_name(str(pairs["benchmark"].iloc[0])))
    usual = {"causal": card.scorer, "masked": card.masked_scorer}
    kinds = usual if kind == "hybrid" else (kind,)
    names = dict.fromkeys(name for one in kinds for name in settings.scorers(one) or (usual[one],))
    return [find_scorer(name) for name in names]


def prepare(
    target: Target, benchmarks: Sequence[pd.DataFrame], settings: ScoreSettings, cache: SweepCache
) -> list[Job]:
    """Check that a model fits every benchmark and gather what scoring needs, without loading weights.

    Raises:
        UserError: Tokenizer, scorer or pairs do not fit the model; ``TooLongError`` for a sentence longer than its
            context, unless ``too_long=skip`` leaves such pairs out and some are left.
    """
    settings = choose_dtype(settings, [target])  # unless a sweep has chosen for all of its targets
    tokenizer, tokenizer_files = cache.tokenizer(target.folder)
    info = read_model_info(target, tokenizer, tokenizer_files, settings.unigrams, settings.add_k)
    return [
        job
        for pairs in benchmarks
        for job in _make_jobs(info, choose_scorers(pairs, info.kind, settings), pairs, settings, cache)
    ]


def _make_jobs(
    info: ModelInfo,
    scorers: Sequence[type[Scorer]],
    pairs: pd.DataFrame,
    settings: ScoreSettings,
    cache: SweepCache,
) -> list[Job]:
    """Make the jobs of a benchmark; pairs too long for one of the scorers are left out of all, if that is wanted."""
    try:
        return [_make_job(info, scorer, pairs, settings, cache) for scorer in scorers]
    except TooLongError as error:
        if settings.too_long == "error" or not error.fits.any():
            raise
        fitting = pairs[error.fits].reset_index(drop=True)
    fitting.attrs[TOO_LONG] = len(pairs) - len(fitting) + pairs.attrs.get(TOO_LONG, 0)
    return _make_jobs(info, scorers, fitting, settings, cache)


def _make_job(
    info: ModelInfo, scorer: type[Scorer], pairs: pd.DataFrame, settings: ScoreSettings, cache: SweepCache
) -> Job:
    """Make the job of one model, benchmark and scorer, with the hashes of all that its scores depend on."""
    check_kind(scorer, info.kind, info.target.folder)
    data_sha256 = data_hash(pairs)
    bound = scorer(
        info,
        pairs,
        settings,
        lambda part, bare: cache.sentences(info, pairs, data_sha256, part, bare, settings.leading_space),
    )
    sentences, of_tokens = bound.sentences, hashlib.sha256()
    for numbers in (sentences.tokens, sentences.starts, sentences.good, sentences.bad, sentences.scored):
        # The same on machines of any byte order.
        of_tokens.update(np.ascontiguousarray(numbers, dtype="<i8").tobytes())
    weights_sha256, config_sha256, tokenizer_sha256 = info.hashes
    inputs = ScoreInputs(
        run=info.target.identity,
        step=info.target.step,
        benchmark=str(pairs["benchmark"].iloc[0]),
        scorer=scorer.name,
        weights_sha256=weights_sha256,
        config_sha256=config_sha256,
        tokenizer_sha256=tokenizer_sha256,
        tokens_sha256=of_tokens.hexdigest(),
        data_sha256=data_sha256,
        settings=bound.key_settings(),
    )
    return Job(bound, inputs)


def rated_pairs(file: Path) -> pd.DataFrame:
    """Read rated sentences as the pair table of a benchmark whose name tells them from those of other files."""
    pairs = rating_pairs(read_ratings(file))
    return pairs.assign(benchmark=f"{RATED}{data_hash(pairs)[:8]}")


def rated_job(job: Job, pairs: pd.DataFrame, settings: ScoreSettings, cache: SweepCache) -> Job:
    """Gather what scoring the sentences of ``rated_pairs`` needs, by the model and the scorer of another job."""
    return _make_job(job.scorer.info, type(job.scorer), pairs, settings, cache)


def choose_dtype(settings: ScoreSettings, targets: Sequence[Target], folder: Path | None = None) -> ScoreSettings:
    """Put a type in the place of ``dtype=auto``, one for all targets, and say what it costs.

    Models of this suite are scored in float32. For others it is the type of the scores that are in the folder already,
    else on an accelerator the half precision in which the first target's weights are stored, else float32.
    """
    if settings.dtype != "auto":
        return settings
    if targets[0].ours:
        return replace(settings, dtype="float32")
    stored = set() if folder is None else {dtype_of(scores) for scores in scores_below(folder)} - {None}
    if len(stored) == 1 and (known := [name for name in get_args(Dtype) if name in stored]):
        return replace(settings, dtype=known[0])
    config = read_config(targets[0].folder)
    text = config.get("text_config")
    # A model of text and images says it of its text alone.
    places = (config, text if isinstance(text, dict) else {})
    named = {place.get(name) for place in places for name in ("dtype", "torch_dtype")}
    saved = next((half for half in _HALF if half in named), None)
    if saved is None or not on_accelerator(settings.device):
        return replace(settings, dtype="float32")
    gigabytes = targets[0].weight_bytes() / 1e9
    log_line(
        f"dtype=auto: {targets[0].name} is scored in {saved}, the type of its weights ({gigabytes:.2g} GB), with a "
        "float32 log-softmax; dtype=float32 takes twice the memory, and by an estimate for an H100 ten times as long"
    )
    return replace(settings, dtype=saved)


def dtype_of(scores: Path) -> object:
    """Return the type of a stored score; None where its key cannot be read."""
    key = find_key(scores)
    return None if key is None else key.settings.get("dtype")
