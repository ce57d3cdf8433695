"""Computing the rows of a stored score: accuracies, statistics and fits that are asked for and not there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pandas as pd

from ucurve.errors import DamagedError
from ucurve.eval.linking import Linking, parse_linking
from ucurve.eval.metrics.accuracy import TiesRule, accuracy_table
from ucurve.eval.metrics.fitting import FitSettings, fit
from ucurve.eval.metrics.ratings import read_ratings
from ucurve.eval.metrics.significance import statistics_table
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.store.rows import ScoreRows, read_rows
from ucurve.eval.store.tables import ACCURACY, FITS, STATISTICS, Labels, make_blocks
from ucurve.eval.sweep.prepare import Job
from ucurve.progress import log_line
from ucurve.storage.files import sha256_file
from ucurve.storage.score_key import read_key


@dataclass(frozen=True, eq=False)
class Rated:
    """The scores of rated sentences by one model and scorer, with the column ``rating``."""

    scores: pd.DataFrame
    sources: dict[str, str]  # hashes of the ratings and of the scores


def read_rated(scores: Path, ratings: Path) -> Rated:
    """Read the stored scores of rated sentences, with the ratings of a file."""
    sources = {"ratings_sha256": sha256_file(ratings), "rated_scores_sha256": read_key(scores).scores_sha256}
    return Rated(pd.read_parquet(scores).assign(rating=read_ratings(ratings)["rating"]), sources)


def known_rows(scores: Path) -> ScoreRows:
    """Read the rows of a stored score; those that are damaged or of another score are not taken."""
    try:
        rows = read_rows(scores)
    except DamagedError as error:
        log_line(f"{error}; they are made again from the scores")
        rows = None
    return rows or ScoreRows(read_key(scores).score_sha256)


def add_rows(rows: ScoreRows, job: Job, path: Path, settings: ScoreSettings, rated: Rated | None) -> bool:
    """Add what is asked for and not there to the rows of the scores in a file, and tell whether there was anything."""
    missing, fits = _missing(settings, job, rows), _missing_fits(settings, job, rows, rated)
    if not missing and not fits:
        return False
    scores = pd.read_parquet(path)
    for rule, linkings in missing.items():
        _add_rows(job, scores, rows, linkings, rule)
    for request, fitted, rule in fits:
        table = fit(job.pairs, scores, fitted, None if rated is None else rated.scores, rule)
        for of, lines in make_blocks(FITS, table, _labels(job)).items():
            rows.add(FITS, of, lines, request)
    return True


def _missing(settings: ScoreSettings, job: Job, rows: ScoreRows) -> dict[TiesRule, list[Linking]]:
    """Return the linking functions whose rows are asked for and not there, by rule for ties."""
    names = settings.linkings(type(job.scorer), job.benchmark)
    linkings = [parse_linking(name) for name in names]
    there = {*rows.blocks(ACCURACY)} & {*rows.blocks(STATISTICS)}
    missing = {
        rule: [linking for linking in linkings if (linking.name, rule) not in there]
        for rule in settings.rules(job.benchmark)
    }
    return {rule: linkings for rule, linkings in missing.items() if linkings}


def _missing_fits(
    settings: ScoreSettings, job: Job, rows: ScoreRows, rated: Rated | None
) -> list[tuple[dict[str, object], FitSettings, TiesRule]]:
    """Return what parameters are to be fitted and are not there, as it is stored with the rows and as settings."""
    asked = settings.fit
    if asked is None or not job.scorer.fits_parameters:
        return []
    of: dict[str, object] = {"on": asked.on, "share": asked.share, "seed": asked.seed}
    of |= {} if rated is None else rated.sources
    found = []
    for rule, family in product(settings.rules(job.benchmark), asked.families):
        request = {"family": family, "ties_rule": rule, **of}
        if request not in rows.requests.values():
            found.append((request, replace(asked, families=(family,)), rule))
    return found


def _add_rows(job: Job, scores: pd.DataFrame, rows: ScoreRows, linkings: Sequence[Linking], rule: TiesRule) -> None:
    """Compute accuracies and statistics of linking functions, and add them to the rows of a score."""
    accuracies = accuracy_table(job.pairs, scores, linkings, [rule])
    statistics = statistics_table(job.pairs, scores, linkings, rule)
    for kind, table in ((ACCURACY, accuracies), (STATISTICS, statistics)):
        blocks = make_blocks(kind, table, _labels(job))
        for linking in linkings:  # one that reads what the scores lack has no rows
            rows.add(kind, (linking.name, rule), blocks.get((linking.name, rule), b""))


def _labels(job: Job) -> Labels:
    target = job.target
    flops = None if target.manifest is None else target.manifest.flops
    return Labels(target.name, target.step, target.tokens, flops, job.benchmark, job.scorer.name)
