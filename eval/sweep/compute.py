"""Computing one score: with the model or the counts it needs, alone or shared among processes that score together."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pandas as pd

from ucurve.eval.scoring.base import Loaded, TokenScorer
from ucurve.eval.scoring.batching import within_memory
from ucurve.eval.scoring.loading import Workspace
from ucurve.eval.scoring.sharing import ProcessGroup, sharing
from ucurve.eval.scoring.text.sentences import Scores, Sentences
from ucurve.eval.settings import ScoreSettings
from ucurve.eval.sweep.jobs import Job
from ucurve.progress import ProgressBar


@dataclass(frozen=True, eq=False)
class Computed:
    """A score that was just computed."""

    scores: pd.DataFrame  # a row for each pair, as ``Scorer.score`` returns them
    notes: dict[str, object]  # for the reader of its key
    tokens: Scores | None = None  # float64[tokens], log probabilities of its tokens, where these were asked for
    corrections: Scores | None = None  # float64[words], of its words, where these were asked for


class Computer:
    """Computes the scores of the jobs of a sweep, in this process alone or in all processes of a group.

    In a group, rank 0 decides what is scored: it sends out the identity of each job, and the others, which made the
    same jobs, compute their shares of its batches (``ucurve.eval.scoring.sharing``).
    """

    def __init__(
        self, jobs: Sequence[Job], settings: ScoreSettings, workspace: Workspace, group: ProcessGroup | None
    ) -> None:
        self._jobs = {job.identity: job for job in jobs}
        self._settings, self._workspace, self._group = settings, workspace, group
        # All that are scored with what is loaded: n-grams of all benchmarks are counted in one pass over the tokens.
        self._sentences: dict[str, set[Sentences]] = {}
        for job in jobs:
            self._sentences.setdefault(job.scorer.loads, set()).add(job.scorer.sentences)

    def load(self, job: Job) -> Loaded:
        """Load what a job is scored with, such as a model, or return it where it is loaded.

        Raises:
            UserError: The weights are damaged, or do not fit the configuration or the device.
        """
        return job.scorer.load(self._workspace, self._sentences[job.scorer.loads])

    def compute(self, job: Job, with_tokens: bool, bar: ProgressBar | None = None) -> Computed:
        """Compute a score; the other processes compute their shares of it.

        Raises:
            RunError: A score is not finite, or the memory of the device does not hold ``batch_tokens``.
        """
        loaded = self.load(job)

        def attempt(size: int) -> Computed:
            with self._together(job, size), _counting(job, bar, self._group) as advance:
                if with_tokens and isinstance(job.scorer, TokenScorer):
                    scored = job.scorer.score_tokens(loaded, size, advance)
                    return Computed(*scored, self._correct(job, loaded, size))
                return Computed(*job.scorer.score(loaded, size, advance))

        if job.scorer.loads != "model":
            return attempt(0)  # n-grams are looked up, without a forward pass that could fill a device
        return within_memory(self._settings.batch_tokens, loaded, attempt)

    def assist(self) -> None:
        """Compute this process's share of every score that rank 0 asks for, until it asks for no more."""
        assert self._group is not None
        while (order := self._group.broadcast(None)) is not None:
            identity, size = order
            with suppress(BaseException), sharing(self._group):  # rank 0 raises the errors of all processes
                job = self._jobs[identity]
                loaded = self.load(job)
                job.scorer.score(loaded, size, lambda _: self.check())
                self._correct(job, loaded, size)

    def _correct(self, job: Job, loaded: Loaded, size: int) -> Scores | None:
        """Compute this process's share of what is added to the words of a job, if words are stored."""
        if not self._settings.words or not isinstance(job.scorer, TokenScorer):
            return None
        return job.scorer.word_corrections(loaded, size)

    def check(self) -> None:
        """Raise what is to end the work of this process, such as a signal."""
        if self._group is not None:
            self._group.check()

    def close(self) -> None:
        """Free the memory of the model, and let the other processes go."""
        self._workspace.drop("model")  # its memory is for the training until the next checkpoint
        if self._group is not None and self._group.rank == 0:
            self._group.broadcast(None)

    @contextmanager
    def _together(self, job: Job, size: int) -> Iterator[None]:
        """Let the other processes compute their shares of a score; they have no job for rated sentences."""
        if self._group is None or not job.scorer.shared or job.identity not in self._jobs:
            yield
            return
        self._group.broadcast((job.identity, size))
        with sharing(self._group):
            yield


@contextmanager
def _counting(job: Job, bar: ProgressBar | None, group: ProcessGroup | None) -> Iterator[Callable[[int], None]]:
    """Count finished sentences on the bar, and subtract them again if the batch fails and is repeated."""
    done = 0

    def advance(units: int) -> None:
        nonlocal done
        done += units
        if bar is not None:
            place = job.target.revision or "" if job.target.run is None else f"step {job.target.step}"
            bar.advance(units, f"{place} {job.benchmark} {job.scorer.name}".lstrip())
        if group is not None:
            group.check()

    try:
        yield advance
        if group is not None and done < job.scorer.size:
            advance(job.scorer.size - done)  # what the other processes have done
    except Exception:
        if bar is not None:
            bar.advance(-done)
        raise
