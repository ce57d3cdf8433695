"""Storing what a sweep computes: scores with their keys and tokens, and the rows of each score."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pandas as pd

from eval.linking import Linking, parse_linking
from eval.metrics.accuracy import TiesRule, accuracy_table
from eval.metrics.fitting import FitSettings, fit
from eval.metrics.significance import statistics_table
from eval.settings import ScoreSettings
from eval.store.rows import ScoreRows, read_rows
from eval.store.scores import has_scores, write_scores
from eval.store.tables import ACCURACY, FITS, STATISTICS, Labels, make_blocks
from eval.store.tokens import token_path
from eval.store.views import drop_rows, store_rows
from eval.sweep.compute import Computed
from eval.sweep.prepare import Job
from eval.sweep.tokens import TokenStore
from ucurve.errors import DamagedError
from ucurve.progress import say
from ucurve.storage.locks import Claims
from ucurve.storage.score_key import key_path, read_key


@dataclass(frozen=True, eq=False)
class Rated:
    """The scores of rated sentences by one model and scorer, with the column ``rating``."""

    scores: pd.DataFrame
    sources: dict[str, object]  # hashes of the ratings and of the scores


@dataclass(frozen=True, eq=False)
class Summary:
    """The rows of a score that were just computed."""

    scores: pd.DataFrame
    accuracies: pd.DataFrame
    statistics: pd.DataFrame  # of the same linking functions and rules for ties


@dataclass(frozen=True)
class Results:
    """The results of a sweep in a run folder."""

    folder: Path
    settings: ScoreSettings
    claims: Claims  # every job that is stored is claimed

    def drop_outdated(self, jobs: Sequence[Job]) -> None:
        """Delete outdated scores with their rows, before the first is computed again."""
        for job in jobs:
            if key_path(job.path(self.folder)).exists() and self.claims.take(str(job.identity)):
                if not has_scores(job.path(self.folder), job.inputs):  # another process may have stored it
                    self._drop(job)
                self.claims.give(str(job.identity))

    def _drop(self, job: Job) -> None:
        scores = job.path(self.folder)
        drop_rows(self.folder, scores, self.claims)
        key_path(scores).unlink(missing_ok=True)
        token_path(scores).unlink(missing_ok=True)

    def store(self, job: Job, computed: Computed) -> None:
        """Store a score that was just computed, with the log probabilities of its tokens."""
        scores = job.path(self.folder)
        if key_path(scores).exists():  # another process has stored scores of other settings in the meantime
            self._drop(job)
        tokens = TokenStore(self.folder, self.settings).write(job, computed.tokens)
        target = job.target
        write_scores(scores, computed.scores, job.inputs, target.name, computed.notes, tokens, target.revision)

    def summarise(self, job: Job, rated: Rated | None) -> Summary | None:
        """Compute and store the rows of a score that are asked for and not stored; None where all are."""
        path = job.path(self.folder)
        rows = self._known_rows(path)
        missing, fits = self._missing(job, rows), self._missing_fits(job, rows, rated)
        if not missing and not fits:
            return None
        scores = pd.read_parquet(path)
        made = [_add_rows(job, scores, rows, linkings, rule) for rule, linkings in missing.items()]
        for request, settings, rule in fits:
            table = fit(job.pairs, scores, settings, None if rated is None else rated.scores, rule)
            for of, lines in make_blocks(FITS, table, _labels(job)).items():
                rows.add(FITS, of, lines, request)
        store_rows(self.folder, path, rows, self.claims)
        if not made:
            return None
        accuracies, statistics = (pd.concat(part, ignore_index=True) for part in zip(*made, strict=True))
        return Summary(scores, accuracies, statistics)

    def _known_rows(self, scores: Path) -> ScoreRows:
        """Read the rows of a stored score; those that are damaged or of another score are not taken."""
        try:
            rows = read_rows(scores)
        except DamagedError as error:
            say(f"{error}; they are made again from the scores")
            rows = None
        return rows or ScoreRows(read_key(scores).score_sha256)

    def _missing(self, job: Job, rows: ScoreRows) -> dict[TiesRule, list[Linking]]:
        """Return the linking functions whose rows are asked for and not there, by rule for ties."""
        names = self.settings.linkings(type(job.scorer), job.benchmark)
        linkings = [parse_linking(name) for name in names]
        there = {*rows.blocks(ACCURACY)} & {*rows.blocks(STATISTICS)}
        missing = {
            rule: [linking for linking in linkings if (linking.name, rule) not in there]
            for rule in self.settings.rules(job.benchmark)
        }
        return {rule: linkings for rule, linkings in missing.items() if linkings}

    def _missing_fits(
        self, job: Job, rows: ScoreRows, rated: Rated | None
    ) -> list[tuple[dict[str, object], FitSettings, TiesRule]]:
        """Return what parameters are to be fitted and are not there, as it is stored with the rows and as settings."""
        asked = self.settings.fit
        if asked is None or not job.scorer.fits_parameters:
            return []
        of: dict[str, object] = {
            "on": asked.on,
            "share": asked.share,
            "seed": asked.seed,
            "ratings": asked.ratings and str(asked.ratings),
        }
        of |= {} if rated is None else rated.sources
        found = []
        for rule, family in product(self.settings.rules(job.benchmark), asked.families):
            request = {"family": family, "ties_rule": rule, **of}
            if request not in rows.requests.values():
                found.append((request, replace(asked, families=(family,)), rule))
        return found


def _add_rows(
    job: Job, scores: pd.DataFrame, rows: ScoreRows, linkings: Sequence[Linking], rule: TiesRule
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compute accuracies and statistics of linking functions, and add them to the rows of a score."""
    accuracies = accuracy_table(job.pairs, scores, linkings, [rule])
    statistics = statistics_table(job.pairs, scores, linkings, rule)
    for kind, table in ((ACCURACY, accuracies), (STATISTICS, statistics)):
        blocks = make_blocks(kind, table, _labels(job))
        for linking in linkings:  # one that reads what the scores lack has no rows
            rows.add(kind, (linking.name, rule), blocks.get((linking.name, rule), b""))
    return accuracies, statistics


def _labels(job: Job) -> Labels:
    target = job.target
    flops = None if target.manifest is None else target.manifest.flops
    return Labels(target.name, target.step, target.tokens, flops, job.benchmark, job.scorer.name)
