"""Checks what is stored below ``eval/``: scores, rows, pairs and tables are what was written, for the run there."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

import pandas as pd

from ucurve.config import check
from ucurve.errors import DamagedError
from ucurve.eval.linking import FAMILIES, parse_linking
from ucurve.eval.metrics.accuracy import TiesRule, accuracy_table
from ucurve.eval.metrics.fitting import FitSettings, fit
from ucurve.eval.metrics.ratings import read_ratings
from ucurve.eval.metrics.significance import statistics_table
from ucurve.eval.scoring.scorers import SCORERS
from ucurve.eval.store.keys import PAIRS, find_key, order_of, score_fault
from ucurve.eval.store.ratings import ratings_fault
from ucurve.eval.store.reported import reported_fault
from ucurve.eval.store.rows import ScoreRows, read_score_rows, rows_fault, rows_path
from ucurve.eval.store.tables import ACCURACY, FITS, STATISTICS, TABLES, Labels, make_blocks, read_labels
from ucurve.eval.store.tokens import token_fault, token_path
from ucurve.eval.store.views import RATED, table_faults
from ucurve.storage.facts import read_manifest
from ucurve.storage.files import OF_DESKTOPS, is_leftover, sha256_file
from ucurve.storage.locks import EVAL_LOCKS, FETCHED
from ucurve.storage.run_folder import (
    CHECKPOINTS,
    EVAL,
    MANIFEST,
    RATINGS,
    REPORTED,
    SENTENCES,
    STEPS,
    checkpoint_folder,
    parse_step,
)
from ucurve.storage.score_key import key_path

_SCORE = {".parquet", ".json", ".rows"}  # a score, its key and its rows


def verify_scores(folder: Path, deep: bool = False) -> list[str]:
    """Name what is wrong below ``eval/``; with ``deep``, rows are computed from the scores and compared too."""
    root = folder / EVAL
    if not root.is_dir():
        return []
    benchmarks = [path.parent for path in sorted(root.rglob(PAIRS))]
    found = _foreign(root, benchmarks)
    for place in benchmarks:
        name = place.relative_to(root).as_posix()
        found += [problem for problem in (_unreadable(place / PAIRS), reported_fault(folder, name)) if problem]
        if (place / RATINGS).exists() and (problem := ratings_fault(folder, name)):
            found.append(problem)
        files = (path for path in place.glob(f"*/{STEPS}") if _is_of_step(path))
        for path in sorted({path.with_suffix(".parquet") for path in files}):  # also where only key or rows are
            found += _score_faults(folder, path) or (_recomputed_faults(folder, path) if deep else [])
    try:
        return found + table_faults(folder)
    except DamagedError as error:
        return found if found else [str(error)]


def _unreadable(pairs: Path) -> str | None:
    try:
        pd.read_parquet(pairs)
    except (OSError, ValueError) as error:
        return f"{pairs}: cannot be read ({str(error).splitlines()[0]})"
    return None


def _score_faults(folder: Path, path: Path) -> list[str]:
    problem = score_fault(folder, path)
    if problem is not None:
        return [problem]
    key = find_key(path)
    if key is None:
        alone = path if path.exists() else rows_path(path)
        return [f"{key_path(path)}: missing, and {alone.name} is there"]
    found = [problem for problem in (rows_fault(path), token_fault(path)) if problem]
    if (folder / CHECKPOINTS).is_dir() and not (folder / CHECKPOINTS / path.stem).exists():
        found.append(f"{path}: of step {parse_step(path.stem)}, of which there is no checkpoint")
    return found


def _recomputed_faults(folder: Path, path: Path) -> list[str]:
    """Name the blocks of rows that are not what is computed from a whole score."""
    rows = read_score_rows(path)
    if rows is None:
        return []
    pairs, scores = pd.read_parquet(path.parents[1] / PAIRS), pd.read_parquet(path)
    made = ScoreRows(rows.score_sha256)
    for kind in (ACCURACY, STATISTICS):
        for rule in get_args(TiesRule):
            names = [linking for linking, of_rule in rows.names(kind) if of_rule == rule]
            known = [parse_linking(name) for name in names if name.partition(":")[0] in FAMILIES]  # else a user's own
            computed = pairs, scores, known
            table = accuracy_table(*computed, [rule]) if kind is ACCURACY else statistics_table(*computed, rule)
            stored = [rows.table(kind, (linking.name, rule)) for linking in known]
            blocks = make_blocks(kind, table, _labels(folder, path, stored[0])) if stored else {}
            for linking in known:
                made.add(kind, (linking.name, rule), blocks.get((linking.name, rule), kind.empty()))
    for of in rows.names(FITS):
        fitted = _fit_again(folder, path, of, rows, pairs, scores)
        if fitted is not None:
            made.add(FITS, of, fitted)
    return [
        f"{rows_path(path)}: the rows of {kind.name}, {', '.join(of)}, are not what the scores give"
        for kind in TABLES
        for of in made.names(kind)
        if made.lines(kind, of) != rows.lines(kind, of)
    ]


def _fit_again(
    folder: Path, path: Path, of: tuple[str, ...], rows: ScoreRows, pairs: pd.DataFrame, scores: pd.DataFrame
) -> pd.DataFrame | None:
    """Return what a stored fit should be; None where the ratings it was fitted on are not at hand."""
    request = rows.requests[FITS.name, of]
    asked = {name: request[name] for name in ("on", "share", "seed")} | {"families": (request["family"],)}
    rated = asked["ratings"] = None
    if request["on"] == "ratings":
        ratings = Path(of[FITS.block.index("fitted_on")].partition(" sentences in ")[2])
        rated = _find_rated(folder, path, ratings, request)
        if rated is None:
            return None
        asked["ratings"] = ratings
    rule = cast(TiesRule, request["ties_rule"])
    table = fit(pairs, scores, check(FitSettings, asked), rated, rule)
    return make_blocks(FITS, table, _labels(folder, path, rows.table(FITS, of))).get(of, FITS.empty())


def _find_rated(folder: Path, path: Path, ratings: Path, request: Mapping[str, object]) -> pd.DataFrame | None:
    """Return the scores of the rated sentences that a fit was made on, with the ratings; None if some are gone."""
    if not ratings.is_file() or sha256_file(ratings) != request["ratings_sha256"]:
        return None
    for scores in (folder / EVAL).glob(f"{RATED}*/{path.parent.name}/{path.name}"):
        if sha256_file(scores) == request["rated_scores_sha256"]:
            return pd.read_parquet(scores).assign(rating=read_ratings(ratings)["rating"])
    return None


def _labels(folder: Path, path: Path, stored: pd.DataFrame) -> Labels:
    """Return what rows are to be about: as their file and the manifest of the checkpoint say, else as they say."""
    step, benchmark, scorer = order_of(folder, path)
    said = replace(read_labels(stored), step=step, benchmark=benchmark, scorer=scorer)
    checkpoint = checkpoint_folder(folder, step)
    if not (checkpoint / MANIFEST).is_file():
        return said
    manifest = read_manifest(checkpoint)
    return replace(said, tokens=manifest.tokens, flops=manifest.flops)


def _foreign(root: Path, benchmarks: list[Path]) -> list[str]:
    """Name what is neither a table, a lock, pairs nor a score; folders count by what is in them."""
    known = {root / name for name in (*EVAL_LOCKS, *(kind.name for kind in TABLES))}
    known |= {*(root / FETCHED).glob("*")}
    known |= {place / name for place in benchmarks for name in (PAIRS, RATINGS, REPORTED)}
    known |= {path for place in benchmarks for path in place.glob(SENTENCES)}
    known |= {
        path
        for place in benchmarks
        for path in place.glob(f"*/{STEPS}")
        if path.parent.name in SCORERS and _is_of_step(path)
    }
    known |= {token_path(path) for path in known if path.suffix == ".parquet"}
    paths = sorted(path for path in root.rglob("*") if path.name not in OF_DESKTOPS)
    return [
        foreign_fault(path, "not part of the scores")
        for path in paths
        if (is_leftover(path) if path.is_dir() else path not in known)
    ]


def _is_of_step(path: Path) -> bool:
    return path.suffix in _SCORE and parse_step(path.stem) is not None


def foreign_fault(path: Path, why: str) -> str:
    """Name what does not belong where it is: what a killed process left behind, or else ``why``."""
    return f"{path}: {'left behind by a killed process, or being written' if is_leftover(path) else why}"
