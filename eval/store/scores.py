"""What scoring leaves in a run folder: pair tables, and scores with their keys, written and read back."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ucurve.errors import RunError, UserError
from ucurve.eval.pairs import data_hash
from ucurve.eval.store.keys import (
    PAIRS,
    check_pairs,
    check_scores,
    find_key,
    scored_hashes,
    scores_below,
    stored_hash,
)
from ucurve.eval.store.ratings import ratings_path
from ucurve.eval.store.reported import reported_path
from ucurve.eval.store.views import remove_tables
from ucurve.progress import log_line
from ucurve.provenance import versions
from ucurve.storage.files import has_hash, new_file, sha256_file
from ucurve.storage.locks import Claims
from ucurve.storage.run_folder import EVAL, RECORD, SENTENCES, STEP_TOKENS, STEPS, parse_step, step_name
from ucurve.storage.score_key import ScoreInputs, ScoreKey, TokenFacts, key_path, write_key

_TRIES, _PAUSE = 50, 0.1  # other processes need this long at most to store pairs


def score_path(folder: Path, benchmark: str, scorer: str, step: int) -> Path:
    """Return where a step's scores are, below the run folder ``folder``."""
    return folder / EVAL / benchmark / scorer / f"{step_name(step)}.parquet"


def pairs_path(folder: Path, benchmark: str) -> Path:
    """Return where a benchmark's pair table is, below the run folder ``folder``."""
    return folder / EVAL / benchmark / PAIRS


def check_out(out: Path, model: str | None = None, weights: Mapping[int, str] | None = None) -> None:
    """Check that a folder may get the scores of a model: it is no run, and has no scores of another model."""
    if any(path.is_file() for path in (out, *out.parents)):
        raise UserError(f"out={out} is a file or lies below one; give a folder")
    if (out / RECORD).exists():
        raise UserError(f"out={out} is a run folder; its scores are those of its checkpoints (run={out})")
    for scores in sorted(scores_below(out)) if model is not None else ():
        key = find_key(scores)
        if key is None:  # damaged: its score is computed again
            continue
        step = parse_step(scores.stem)
        sha256 = None if step is None else (weights or {}).get(step)
        if key.model != model if sha256 is None else key.weights_sha256 != sha256:
            raise UserError(f"out={out} holds scores of another model ({key_path(scores)}); give another folder")


def share_pairs(folder: Path, pairs: pd.DataFrame, claims: Claims) -> None:
    """Store a benchmark's pair table and protect it from changes by other processes until the claims end.

    Raises:
        RunError: Another process is scoring other pairs of the benchmark into the folder.
    """
    benchmark = str(pairs["benchmark"].iloc[0])
    name = f"pairs of {benchmark}"
    for _ in range(_TRIES):
        claims.acquire_shared(name)
        if stored_hash(pairs_path(folder, benchmark)) == data_hash(pairs):
            return
        claims.release(name)
        if claims.acquire(name):  # nobody scores these or other pairs of the benchmark
            keep_pairs(folder, pairs)
            claims.acquire_shared(name)
            return
        time.sleep(_PAUSE)
    raise RunError(
        f"{folder}: another process is scoring other pairs of {benchmark} into this folder; wait until it has ended"
    )


def keep_pairs(folder: Path, pairs: pd.DataFrame) -> None:
    """Store a benchmark's pair table in a run folder; scores of other pairs there, with their rows, go first."""
    benchmark = str(pairs["benchmark"].iloc[0])
    path = pairs_path(folder, benchmark)
    wanted = data_hash(pairs)
    if stored_hash(path) == wanted:
        return
    if path.exists() and scored_hashes(path.parent) == {wanted}:
        log_line(f"{path} is not what was written; it is written again")
    elif path.exists():
        log_line(
            f"{benchmark}: the pairs in {path} are not those asked for; all scores of them are removed, also those of "
            "scorers and steps that are not asked for now"
        )
        remove_tables(folder)  # first: a table must never have rows of scores that are gone
        of_scores = (*path.parent.glob(f"*/{STEPS}.*"), *path.parent.glob(f"*/{STEP_TOKENS}"))
        of_pairs = (
            *path.parent.glob(SENTENCES),
            ratings_path(folder, benchmark),
            reported_path(folder, benchmark),
        )
        for file in (*of_scores, *of_pairs):
            file.unlink(missing_ok=True)
    with new_file(path) as temporary:
        pairs.to_parquet(temporary, index=False)


def write_scores(
    path: Path,
    scores: pd.DataFrame,
    inputs: ScoreInputs,
    model: str,
    notes: Mapping[str, object],
    token_scores: TokenFacts | None = None,
    revision: str | None = None,
) -> ScoreKey:
    """Store the scores of a step at ``.../step00000512.parquet``, then the key with their SHA-256, and return it."""
    key_path(path).unlink(missing_ok=True)  # a kill in between leaves scores without a key, which do not count
    with new_file(path) as temporary:
        scores.to_parquet(temporary, index=False)
    facts = {name: getattr(inputs, name) for name in ScoreInputs.model_fields}
    facts |= {"model": model, "revision": revision, "scores_sha256": sha256_file(path), "notes": notes}
    key = ScoreKey(**facts, token_scores=token_scores, versions=versions())
    write_key(path, key)
    return key


def has_scores(path: Path, inputs: ScoreInputs) -> bool:
    """Tell whether undamaged scores that were computed from these inputs are stored."""
    key = find_key(path)
    return key is not None and key.inputs_sha256 == inputs.inputs_sha256 and has_hash(path, key.scores_sha256)


@dataclass(frozen=True)
class StoredScores:
    """The scores of one model on the pairs of one benchmark; damaged files are refused."""

    folder: Path  # the run folder, or the one that a model alone is scored into
    run: str  # name of the run or the model
    step: int  # of the checkpoint; -1 for a model alone
    benchmark: str
    scorer: str

    def pair_table(self) -> pd.DataFrame:
        """Read the pairs: ``benchmark, language, paradigm, phenomenon, pair, good, bad`` and what else is published."""
        path = pairs_path(self.folder, self.benchmark)
        check_pairs(path)
        return pd.read_parquet(path)

    def score_table(self) -> pd.DataFrame:
        """Read the scores: ``pair``, then ``lp, n, unigram, unk, ...``, each as ``_good`` and ``_bad``."""
        path = score_path(self.folder, self.benchmark, self.scorer, self.step)
        check_scores(self.folder, path)
        return pd.read_parquet(path)

    def pairs(self) -> pd.DataFrame:
        """Join the scores to their pairs; a published column with the name of a score gets ``_published``."""
        tables = self.pair_table(), self.score_table()
        return tables[0].merge(tables[1], on="pair", validate="one_to_one", suffixes=("_published", ""))
