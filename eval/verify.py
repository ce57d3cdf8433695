"""Checks what is stored below ``eval/``: scores, rows, pairs and tables are what was written, for the run there."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast, get_args

import pandas as pd

from ucurve.config import check
from ucurve.errors import DamagedError
from ucurve.eval.linking import FAMILIES, parse_linking
from ucurve.eval.metrics.accuracy import TiesRule
from ucurve.eval.metrics.fitting import FitSettings, fit
from ucurve.eval.metrics.ratings import read_ratings
from ucurve.eval.scoring.scorers import SCORERS
from ucurve.eval.store.keys import PAIRS, order_of, score_faults
from ucurve.eval.store.ratings import read_ratings_beside
from ucurve.eval.store.reported import read_reported
from ucurve.eval.store.rows import ScoreRows, add_linkings, read_score_rows, rows_path
from ucurve.eval.store.tables import ACCURACY, FITS, TABLES, Labels, make_blocks, read_labels
from ucurve.eval.store.tokens import token_faults, token_path
from ucurve.eval.store.views import RATED, table_faults
from ucurve.storage.facts import read_manifest
from ucurve.storage.faults import faults_of, foreign_faults
from ucurve.storage.files import OF_DESKTOPS, has_hash, is_leftover
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
        try:
            pd.read_parquet(place / PAIRS)
        except (OSError, ValueError) as error:
            found.append(f"{place / PAIRS}: cannot be read ({str(error).splitlines()[0]})")
        for read in (read_reported, read_ratings_beside):
            found += faults_of(partial(read, folder, name))
        files = (path for path in place.glob(f"*/{STEPS}") if _is_of_step(path))
        for path in sorted({path.with_suffix(".parquet") for path in files}):  # also where only key or rows are
            found += _score_faults(folder, path) or (_recomputed_faults(folder, path) if deep else [])
    try:
        return found + table_faults(folder)
    except DamagedError as error:
        return found if found else [str(error)]


def _score_faults(folder: Path, path: Path) -> list[str]:
    """Name what is wrong with a score, its key, its rows or its tokens, or that its checkpoint is not there."""
    if problems := score_faults(folder, path):
        return problems
    if not key_path(path).exists():
        alone = path if path.exists() else rows_path(path)
        return [f"{key_path(path)}: missing, and {alone.name} is there"]
    found = faults_of(partial(read_score_rows, path)) + token_faults(path)
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
    for rule in get_args(TiesRule):
        names = [linking for linking, of_rule in rows.names(ACCURACY) if of_rule == rule]
        known = [parse_linking(name) for name in names if name.partition(":")[0] in FAMILIES]  # else a user's own
        if known:
            labels = _labels(folder, path, rows.table(ACCURACY, (known[0].name, rule)))
            add_linkings(made, pairs, scores, known, rule, labels)
    for of in rows.names(FITS):
        fitted = _fit_again(folder, path, of, rows, pairs, scores)
        if fitted is not None:
            made.add(FITS, of, fitted)
    return [
        f"{rows_path(path)}: the rows of {kind.name}, {', '.join(of)}, are not what the scores give"
        for kind in TABLES
        for of in made.names(kind)
        if made.lines(kind, of) != rows.blocks.get((kind.name, of))
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
    if not has_hash(ratings, str(request["ratings_sha256"])):
        return None
    for scores in (folder / EVAL).glob(f"{RATED}*/{path.parent.name}/{path.name}"):
        if has_hash(scores, str(request["rated_scores_sha256"])):
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
    foreign = (path for path in paths if (is_leftover(path) if path.is_dir() else path not in known))
    return foreign_faults(foreign, "not part of the scores")


def _is_of_step(path: Path) -> bool:
    return path.suffix in _SCORE and parse_step(path.stem) is not None
