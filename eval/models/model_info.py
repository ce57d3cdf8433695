"""What is known of a model without its weights, the same for every benchmark: configuration, tokenizer, unigrams."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ucurve.eval.models.folder import Kind, hash_of_parts, model_kind, read_config
from ucurve.eval.models.targets import Target
from ucurve.eval.models.unigram import UnigramSettings, log_unigrams, published_probabilities, read_counts, smooth
from ucurve.huggingface.tokenizer_files import tokenizer_sha256
from ucurve.storage.files import sha256_file

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_SPECIAL = ("bos", "eos", "sep", "pad", "cls", "mask")


@dataclass(frozen=True)
class Unigrams:
    """Unigram probabilities of the tokens of a vocabulary."""

    # Natural log probabilities by token id, float64[V]; None without counts.
    logs: npt.NDArray[np.float64] | None = None
    # Counts or published probabilities, 0 for an unseen token; None without counts.
    seen: npt.NDArray[np.int64 | np.float64] | None = None
    sha256: str | None = None
    add_k: float | None = None  # what was added to every count; None for published probabilities


@dataclass(frozen=True)
class ModelInfo:
    """What is known of a model without its weights."""

    target: Target
    config: dict[str, object]  # its `config.json`
    kind: Kind
    tokenizer: "PreTrainedTokenizerBase"
    tokenizer_files: str  # hash of all files that its token ids depend on
    vocabulary: int  # one more than the largest token id
    special: frozenset[int]  # ids that never stand for text of a sentence
    unigrams: Unigrams  # of the training tokens, or published
    hashes: tuple[str, str, str]  # of weights, configuration and tokenizer, in the order of a score's key
    weight_parts: dict[str, str]  # hash of each file of the weights


def read_model_info(
    target: Target,
    tokenizer: "PreTrainedTokenizerBase",
    tokenizer_files: str,
    published: UnigramSettings | None,
    add_k: float,
) -> ModelInfo:
    """Read what a model's folder says; a published table takes the place of the counts of the training tokens."""
    config = read_config(target.folder)
    named = {getattr(tokenizer, f"{name}_token_id") for name in _SPECIAL} - {None}
    # The unknown token is special only if it also has another role, such as separator.
    special = frozenset(named | ({*tokenizer.all_special_ids} - {tokenizer.unk_token_id}))
    parts = target.weight_parts()
    hashes = (hash_of_parts(parts), sha256_file(target.folder / "config.json"), tokenizer_sha256(target.folder))
    size = 1 + max(tokenizer.get_vocab().values())
    if published is not None:
        probabilities = published_probabilities(published, size, tokenizer_sha256(target.folder))
        logs = smooth(probabilities, special, published.path)
        unigrams = Unigrams(logs, probabilities, sha256_file(published.path))
    elif (counts := read_counts(target.counts, len(tokenizer), size)) is not None:
        unigrams = Unigrams(log_unigrams(counts, special, add_k), counts, sha256_file(target.counts), add_k)
    else:
        unigrams = Unigrams()
    return ModelInfo(
        target, config, model_kind(config), tokenizer, tokenizer_files, size, special, unigrams, hashes, parts
    )
