"""A model as far as it is the same for all benchmarks: its configuration, its tokenizer, its unigram counts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eval.models.folder import Kind, model_kind, read_config
from eval.models.targets import Target
from eval.models.unigram import log_unigrams, published_probabilities, read_counts, smooth
from eval.scoring.text.sentences import Scores
from eval.settings import ScoreSettings
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.huggingface.tokenizer_files import encoding_sha256
from ucurve.storage.files import sha256_file

_CACHED = 8
_SPECIAL = ("bos", "eos", "sep", "pad", "cls", "mask")
_tokenizers: dict[str, Any] = {}  # by their files: a sweep meets the same one checkpoint after checkpoint


@dataclass(frozen=True)
class Unigrams:
    """What is known of single tokens.

    Attributes:
        logs: log probabilities by token id, float64[V]; None without counts.
        seen: counts or published probabilities, 0 for a token that was never seen; None without counts.
        add_k: what was added to every count; None for published probabilities.
    """

    logs: Scores | None = None
    seen: np.ndarray[Any, Any] | None = None
    sha256: str | None = None
    add_k: float | None = None


@dataclass(frozen=True)
class Subject:
    """What is known of a model without its weights.

    Attributes:
        config: its ``config.json``.
        tokenizer_files: hash of all files that its ids depend on.
        special: ids that no sentence is made of.
        unigrams: of the training tokens, or published.
        hashes: of weights, configuration and tokenizer, as in ``Key``.
    """

    target: Target
    config: dict[str, Any]
    kind: Kind
    tokenizer: Any
    tokenizer_files: str
    special: frozenset[int]
    unigrams: Unigrams
    hashes: tuple[str, str, str]


def subject_of(target: Target, settings: ScoreSettings) -> Subject:
    """Read what there is of a model beside its weights.

    Raises:
        UserError: when its configuration, tokenizer or counts are missing or broken.
    """
    config, files_sha256 = read_config(target.folder), encoding_sha256(target.folder)
    tokenizer = _tokenizer(files_sha256, target.folder)
    special = _special_ids(tokenizer)
    hashes = (target.weights_sha256(), sha256_file(target.folder / "config.json"), target.tokenizer_sha256())
    unigrams = _unigrams(target, tokenizer, special, settings)
    return Subject(target, config, model_kind(config), tokenizer, files_sha256, special, unigrams, hashes)


def _special_ids(tokenizer: Any) -> frozenset[int]:
    """Return the ids that no sentence is made of; an unknown token is one only when it has another part to play."""
    named = {getattr(tokenizer, f"{name}_token_id") for name in _SPECIAL} - {None}
    return frozenset(named | ({*tokenizer.all_special_ids} - {tokenizer.unk_token_id}))


def _unigrams(target: Target, tokenizer: Any, special: frozenset[int], settings: ScoreSettings) -> Unigrams:
    size = 1 + max(tokenizer.get_vocab().values())
    if settings.unigrams is not None:
        path = settings.unigrams.path
        published = published_probabilities(settings.unigrams, size, target.tokenizer_sha256())
        return Unigrams(smooth(published, special, path), published, sha256_file(path))
    counts = read_counts(target.counts, len(tokenizer), size)
    if counts is None:
        return Unigrams()
    logs = log_unigrams(counts, special, settings.add_k)
    return Unigrams(logs, counts, sha256_file(target.counts), settings.add_k)


def _tokenizer(files_sha256: str, folder: Path) -> Any:
    if files_sha256 not in _tokenizers:
        if len(_tokenizers) >= _CACHED:
            _tokenizers.clear()
        _tokenizers[files_sha256] = load_tokenizer(folder)
    tokenizer = _tokenizers[files_sha256]
    tokenizer.name_or_path = str(folder)  # for messages
    return tokenizer
