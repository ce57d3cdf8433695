"""The processes of a run score its checkpoints together."""

from collections.abc import Callable
from dataclasses import dataclass

from ucurve.eval.scoring.sharing import ProcessGroup
from ucurve.training.engine.processes import Processes
from ucurve.training.engine.signals import StopSignals


@dataclass(frozen=True, kw_only=True)
class RunProcesses(Processes):
    """All processes of a run; a signal ends their work between two batches, never in the middle of an exchange."""

    signals: StopSignals
    note: str

    def check(self) -> None:
        """Raise ``Interrupted`` after a signal."""
        if self.signals.requested:
            raise self.signals.interruption(self.note)


def score_in_all(
    processes: Processes,
    signals: StopSignals,
    score: Callable[[ProcessGroup | None], None],
    note: str = "the same command goes on",
) -> None:
    """Score in all processes, each of which calls this; a signal to one raises ``Interrupted`` in every process."""
    if processes.size == 1:
        with signals.at_once(note):
            score(None)
    else:
        group = RunProcesses(processes.rank, processes.size, processes.local_rank, signals=signals, note=note)
        processes.run_on_all(lambda: score(group))
