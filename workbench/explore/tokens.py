"""The log probability of each token of both members of a pair, from the checkpoint itself."""

import threading
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from eval.models.folder import Bos, Kind
from eval.models.targets import Target, run_targets
from eval.scoring.base import TokenScorer
from eval.scoring.text.sentences import Sentences
from eval.settings import ScoreSettings
from eval.store.checksums import read_key
from eval.store.scores import score_path
from eval.sweep.cache import SweepCache
from eval.sweep.prepare import Job, prepare
from ucurve.config import check
from ucurve.errors import UserError
from workbench.explore.curves import Asked
from workbench.explore.library import Library
from workbench.explore.matrix import ScoreMatrix
from workbench.explore.pairs import row_of, whole
from workbench.replies import Values, text_of

_BATCH = 4096


@dataclass
class TokenTables:
    """Makes the tables of tokens, one at a time; the models asked last are kept."""

    _cache: SweepCache = field(default_factory=SweepCache, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def table(self, library: Library, asked: Asked, values: Values) -> dict[str, Any]:
        """Score the tokens of a pair with a checkpoint of a run, under the settings of the stored scores.

        Returns:
            ``good`` and ``bad``, each a list of ``token``, ``logprob`` (natural log; None where a token has none) and
            ``scored``; ``sums``, what the scored tokens add up to; ``stored``, the sums that the scores hold.

        Raises:
            UserError: when the checkpoint is not there, or the way to score has no log probabilities of tokens.
        """
        matrix = library.matrix(text_of(values, "run"), asked.benchmark, asked.scorer)
        row, step = row_of(matrix, values), whole(values, "step")
        target = _checkpoint(matrix, step)
        with self._lock:
            job = self._job(matrix, row, target, step)
            scorer = job.scorer
            if not isinstance(scorer, TokenScorer):
                raise UserError(f"scorer {asked.scorer!r} has no log probabilities of single tokens")
            model = _load(str(target.folder), scorer.kind)
            found = scorer.token_log_probabilities(model, _BATCH, None)
        sentences, tokenizer = scorer.sentences, scorer.info.tokenizer
        places = {"good": int(sentences.good[0]), "bad": int(sentences.bad[0])}
        sums = sentences.sums(found)
        at = int((matrix.steps == step).argmax())
        stored = {side: float(_at(matrix.columns[f"lp_{side}"], at, row)) for side in places}
        reply: dict[str, Any] = {
            side: [
                {"token": _shown(tokenizer, int(token)), "logprob": float(value), "scored": bool(counts)}
                for token, value, counts in zip(
                    sentences.ids(place),
                    _of(sentences, place, found),
                    _of(sentences, place, sentences.scored),
                    strict=True,
                )
            ]
            for side, place in places.items()
        }
        return {**reply, "sums": {side: float(sums[place]) for side, place in places.items()}, "stored": stored}

    def _job(self, matrix: ScoreMatrix, row: int, target: Target, step: int) -> Job:
        key = read_key(score_path(matrix.run.folder, matrix.benchmark, matrix.scorer, step).with_suffix(".json")) or {}
        rule = (key.get("settings") or {}).get("start_rule")
        pairs = matrix.pairs.iloc[[row]].reset_index(drop=True)
        given = {"scorer": [matrix.scorer], **({"bos": rule} if rule in get_args(Bos) else {})}
        (job,) = prepare(target, [pairs], check(ScoreSettings, given), self._cache)
        return job


def _checkpoint(matrix: ScoreMatrix, step: int) -> Target:
    if step < 0:
        raise UserError(f"{matrix.run.label} holds the scores of a model and not the model; no token can be scored")
    (target,) = run_targets(matrix.run.folder, [step])
    return target


@lru_cache(maxsize=2)
def _load(folder: str, kind: Kind) -> Any:
    from eval.scoring.loading import load_model

    return load_model(Path(folder), kind)


def _of(sentences: Sentences, place: int, per_token: Any) -> Any:
    """Return a value of each token of one sentence."""
    return per_token[sentences.starts[place] : sentences.starts[place + 1]]


def _at(column: Any, step: int, row: int) -> Any:
    return column[step, row] if column.ndim == 2 else column[row]


def _shown(tokenizer: Any, token: int) -> str:
    """Return the text of a token, or its name in the vocabulary where it is no text by itself."""
    text = str(tokenizer.decode([token]))
    return text if text.strip() and "\ufffd" not in text else str(tokenizer.convert_ids_to_tokens(token))
