"""Repairs tables of a run folder that were changed after they were written, from the stored scores."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast, get_args

import pandas as pd

from eval.linking import parse_linking
from eval.metrics.accuracy import TiesRule, accuracy_table
from eval.metrics.significance import statistics_table
from eval.models.targets import Target, has_checkpoint, run_targets
from eval.pairs import data_hash
from eval.store.checksums import adopt, is_summed, is_whole, read_sums, sums_path
from eval.store.keys import check_scores, find_key
from eval.store.scores import PAIRS, pairs_path, score_path
from eval.store.tables import ACCURACY, FITS, TABLES, TableFile, labels, read_table, replace_table
from eval.store.tokens import adopt_sentences
from ucurve.errors import DamagedError, UserError
from ucurve.progress import say
from ucurve.storage.locks import holding_tables
from ucurve.storage.run_folder import EVAL, STEPS

Mended = dict[TableFile, pd.DataFrame]


def mended_tables(folder: Path, targets: Sequence[Target]) -> Mended:
    """Compute the damaged tables again from the stored scores; nothing is written yet.

    Every score that has rows in a table must be stored undamaged, with its pairs. The new rows are computed with the
    linking functions and ties rules that the table names.

    Args:
        targets: the models that are going to be scored; all checkpoints of a run are known besides.

    Raises:
        UserError: when a table cannot be computed again.
    """
    damaged = [kind for kind in TABLES if kind.path(folder).exists() and not is_whole(folder, kind.path(folder))]
    if not damaged:
        return {}
    known = {target.step: target for target in (*targets, *(run_targets(folder) if has_checkpoint(folder) else ()))}
    return {kind: _made_again(kind, folder, known) for kind in damaged}


def store_mended(folder: Path, mended: Mended) -> None:
    """Replace the damaged tables by those that were computed again, and a damaged manifest by a new one."""
    with holding_tables(folder):
        if _sums_are_damaged(folder):
            say(f"{sums_path(folder)} is not what was written; it is made again")
            sums_path(folder).unlink()
            _adopt_pairs(folder)
            adopt_sentences(folder)
        for kind, rows in mended.items():
            if not is_summed(folder, kind.path(folder)):  # another process may have mended it
                say(f"{kind.path(folder)} is not what was written; its rows are made again from the stored scores")
                replace_table(kind, folder, rows)


def _sums_are_damaged(folder: Path) -> bool:
    try:
        read_sums(folder)
    except DamagedError:
        return True
    return False


def _adopt_pairs(folder: Path) -> None:
    """Record in a new manifest the pairs whose hash every key beside them holds."""
    for path in (folder / EVAL).rglob(PAIRS):
        keys = [find_key(file) for file in path.parent.glob(f"*/{STEPS}.json")]
        with suppress(OSError, ValueError):
            if {key.data_sha256 for key in keys if key is not None} == {data_hash(pd.read_parquet(path))}:
                adopt(folder, path)


def _made_again(kind: TableFile, folder: Path, known: dict[int, Target]) -> pd.DataFrame:
    path = kind.path(folder)
    try:
        if kind is FITS:
            raise UserError("what was fitted is not stored in the scores")
        rows = list(_remake_rows(kind, folder, known))
    except (OSError, ValueError, UserError) as error:
        why = str(error).splitlines()[0]
        raise UserError(
            f"{path}: not what was written, and it cannot be made again ({why}); restore it from a copy, or remove it "
            "and score again; stored scores are not computed again"
        ) from error
    return pd.concat(rows, ignore_index=True)[list(kind.columns)].astype(dict(kind.types))


def _remake_rows(kind: TableFile, folder: Path, known: dict[int, Target]) -> Iterable[pd.DataFrame]:
    named = ["step", "benchmark", "scorer", "ties_rule"]
    shown = read_table(kind, kind.path(folder))[[*named, "linking"]].drop_duplicates()
    for where, group in shown.groupby(named, sort=False):
        step, benchmark, scorer, rule = cast(tuple[int, str, str, str], where)
        if step not in known or rule not in get_args(TiesRule):
            raise UserError(f"it has rows of step {step}, {benchmark}, {scorer}, ties {rule}, which is not known here")
        pairs, scores = _stored(folder, benchmark, scorer, step)
        linkings = [parse_linking(name) for name in group["linking"]]
        ties = cast(TiesRule, rule)
        made = (
            accuracy_table(pairs, scores, linkings, [ties])
            if kind is ACCURACY
            else statistics_table(pairs, scores, linkings, ties)
        )
        yield made.assign(**labels(known[step], benchmark, scorer))


def _stored(folder: Path, benchmark: str, scorer: str, step: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read stored scores and their pairs, checked by the key alone: the sums may be what is damaged."""
    path = score_path(folder, benchmark, scorer, step)
    check_scores(folder, path)
    key = find_key(path)
    pairs_file = pairs_path(folder, benchmark)
    if key is None or not pairs_file.is_file():
        raise UserError(f"the scores of step {step}, {benchmark}, {scorer} are not stored")
    pairs = pd.read_parquet(pairs_file)
    if data_hash(pairs) != key.data_sha256:
        raise UserError(f"{pairs_file}: not the pairs of {path}")
    return pairs, pd.read_parquet(path)
