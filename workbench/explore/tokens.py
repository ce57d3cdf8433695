"""The log probability of each token of both members of a pair, as it is stored, or from the checkpoint itself."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from ucurve.errors import UserError
from ucurve.eval.models.folder import Bos, Kind
from ucurve.eval.models.targets import run_targets
from ucurve.eval.scoring.base import TokenScorer
from ucurve.eval.scoring.text.sentences import Sentences
from ucurve.eval.settings import score_settings
from ucurve.eval.store.keys import find_key
from ucurve.eval.store.scores import score_path
from ucurve.eval.store.tokens import StoredSentences, read_sentences, read_tokens
from ucurve.eval.sweep.jobs import prepare
from ucurve.eval.sweep.load import SweepCache
from ucurve.workbench.explore.curves import Asked
from ucurve.workbench.explore.library import Library, import_transformers
from ucurve.workbench.explore.matrix import ScoreMatrix
from ucurve.workbench.explore.pairs import row_of
from ucurve.workbench.replies import Values, text_of, whole_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Number = TypeVar("Number", bound=np.generic)
_SIDES = ("good", "bad")
_BATCH = 4096
_read_sentences = lru_cache(maxsize=4)(read_sentences)


class Token(TypedDict):
    """A token as a text."""

    token: str
    logprob: float  # natural; NaN where it has none
    scored: bool


Tokens = dict[str, list[Token]]  # of both members


@dataclass
class TokenTables:
    """Makes the tables of tokens, one at a time; the models asked last are kept."""

    _cache: SweepCache = field(default_factory=SweepCache, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def table(self, library: Library, asked: Asked, values: Values) -> dict[str, object]:
        """Read the tokens of a pair, or score them with a checkpoint under the settings of the stored scores.

        ``sums`` are what the scored tokens add up to, ``stored`` the sums that the scores hold.
        """
        matrix = library.matrix(text_of(values, "run"), asked.benchmark, asked.scorer)
        row, step = row_of(matrix, values), whole_of(values, "step")
        at = int((matrix.steps == step).argmax())
        columns = {side: matrix.columns[f"lp_{side}"] for side in _SIDES}
        stored = {
            side: float(column[at, row] if column.ndim == 2 else column[row]) for side, column in columns.items()
        }
        found = _read(matrix, int(matrix.pairs["pair"].iloc[row]), step) or self._compute(
            matrix, row, step, asked
        )
        sums = {side: sum(one["logprob"] for one in found[side] if one["scored"]) for side in _SIDES}
        return {**found, "sums": sums, "stored": stored}

    def _compute(self, matrix: ScoreMatrix, row: int, step: int, asked: Asked) -> Tokens:
        """Score the tokens of both members of a pair with the model."""
        if step < 0:
            raise UserError(
                f"{matrix.run.label} holds the scores of a model and not the model; no token can be scored"
            )
        import_transformers()
        (target,) = run_targets(matrix.run.folder, [step])
        key = find_key(score_path(matrix.run.folder, matrix.benchmark, matrix.scorer, step))
        given = {"scorer": [matrix.scorer], **start_of({} if key is None else key.settings)}
        pairs = matrix.pairs.iloc[[row]].reset_index(drop=True)
        with self._lock:
            (job,) = prepare(target, [pairs], score_settings(**given), self._cache)
            scorer = job.scorer
            if not isinstance(scorer, TokenScorer):
                raise UserError(f"scorer {asked.scorer!r} has no log probabilities of single tokens")
            model = _load(str(target.folder), scorer.info.kind)
            found = scorer.token_log_probabilities(model, _BATCH, None)
        sentences, tokenizer = scorer.sentences, scorer.info.tokenizer
        return {
            side: _listed(
                [_shown(tokenizer, int(token)) for token in sentences.ids(place)],
                _of(sentences, place, found),
                _of(sentences, place, sentences.scored),
            )
            for side, place in (("good", int(sentences.good[0])), ("bad", int(sentences.bad[0])))
        }


def start_of(settings: Mapping[str, object]) -> dict[str, str | int]:
    """Return the setting ``bos`` that stored scores were made with, from the settings in their key; of some, none."""
    rule = settings.get("start_rule")
    if rule == "token":
        return {"bos": int(str(settings["start_id"]))}
    return {"bos": str(rule)} if rule in get_args(Bos) else {}


def _read(matrix: ScoreMatrix, pair: int, step: int) -> Tokens | None:
    """Read the tokens of both members of a pair; None where they are not stored, or not with their characters."""
    folder = matrix.run.folder
    stored = read_tokens(folder, matrix.benchmark, matrix.scorer, step)
    sentences = None if stored is None else _read_sentences(folder, matrix.benchmark, stored.sentences)
    if stored is None or sentences is None or sentences.places is None:
        return None
    members = sentences.members.loc[sentences.members["pair"] == pair]
    found: Tokens = {}
    for side in _SIDES:
        place = int(members[side].iloc[0])
        characters = _of(sentences, place, sentences.places).tolist()
        texts = [sentences.texts[place][first:end] for first, end in characters]
        found[side] = _listed(
            texts, _of(sentences, place, stored.values), _of(sentences, place, sentences.scored)
        )
    return found


def _listed(texts: Iterable[str], values: Iterable[float], scored: Iterable[bool]) -> list[Token]:
    return [
        {"token": text, "logprob": float(value), "scored": bool(counts)}
        for text, value, counts in zip(texts, values, scored, strict=True)
    ]


@lru_cache(maxsize=2)
def _load(folder: str, kind: Kind) -> "PreTrainedModel":
    from ucurve.eval.scoring.loading import load_model

    return load_model(Path(folder), kind)


def _of(
    sentences: Sentences | StoredSentences, place: int, per_token: npt.NDArray[Number]
) -> npt.NDArray[Number]:
    """Return a value of each token of one sentence."""
    return per_token[sentences.starts[place] : sentences.starts[place + 1]]


def _shown(tokenizer: "PreTrainedTokenizerBase", token: int) -> str:
    """Return the text of a token, or its name in the vocabulary if it cannot be shown by itself."""
    text = str(tokenizer.decode([token]))
    return text if text.strip() and "\ufffd" not in text else str(tokenizer.convert_ids_to_tokens(token))
