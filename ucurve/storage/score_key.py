"""The key beside stored scores, ``step00000512.json``: whose scores they are, and what they were computed from."""

from collections.abc import Mapping
from pathlib import Path

from ucurve.storage.facts import Facts, RunIdentity, known, read_facts
from ucurve.storage.files import sha256_json
from ucurve.storage.sealed import KEY


class ScoreInputs(Facts):
    """What a score depends on: two scores with equal inputs are the same score."""

    run: RunIdentity | None = None  # None for a model that was not trained as a run here
    step: int  # of the checkpoint; -1 for a model alone
    benchmark: str
    scorer: str
    weights_sha256: str
    config_sha256: str  # of the model's ``config.json``
    tokenizer_sha256: str
    tokens_sha256: str  # of the token ids of the sentences
    data_sha256: str  # of the pairs
    settings: Mapping[str, object]  # of the scorer

    @property
    def inputs_sha256(self) -> str:
        """Hash of the inputs alone: equal for the inputs that are wanted and the key of a score made from them."""
        return sha256_json(self.model_dump(mode="json", include=set(ScoreInputs.model_fields)))


class TokenFacts(Facts):
    """The log probabilities of tokens that are stored beside a score."""

    sentences: str  # name of the file that describes them
    sentences_sha256: str
    sha256: str  # of the file of log probabilities
    words: bool  # whether it has sums over words too
    corrected: bool = False  # whether these are the probabilities of words, not of how words begin


class ScoreKey(ScoreInputs):
    """The key of a stored score: its inputs, and what came of them."""

    model: str  # name of the run or of the model
    revision: str | None = (
        None  # of a model on the hub or a subfolder of its folder; None where none was asked for
    )
    scores_sha256: str  # of the Parquet file
    notes: Mapping[str, object] = {}  # facts about the sentences, for the reader
    token_scores: TokenFacts | None = None  # None where no log probabilities of tokens are stored
    versions: Mapping[str, str]

    @property
    def score_sha256(self) -> str:
        """Hash of the inputs and of the score itself, by which other files name the score."""
        return sha256_json([self.inputs_sha256, self.scores_sha256])


def key_path(scores: Path) -> Path:
    """Return where the key of a score is, beside its Parquet file."""
    return scores.with_suffix(".json")


def write_key(scores: Path, key: ScoreKey) -> None:
    """Write the key of a score, without what is not known."""
    KEY.write(key_path(scores), known(key))


def read_key(scores: Path) -> ScoreKey:
    """Read the key of a score (``read_facts``).

    Raises:
        DamagedError: when it is missing, unreadable or not what was written.
    """
    return read_facts(key_path(scores), KEY, ScoreKey)
