"""The processes of one run, started by ``torchrun`` or ``deepspeed``: rank 0 prepares, writes and prints errors."""

import atexit
import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar, cast

from ucurve.errors import RunError, UcurveError, UserError
from ucurve.training.engine.signals import Interrupted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch.distributed import ProcessGroup

_PATIENCE = timedelta(days=30)  # the others wait while the first tokenizes a corpus or scores a checkpoint
_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Processes:
    """The processes of one run, seen from the one with ``rank``, which is ``local_rank`` on its machine."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0

    @property
    def is_rank0(self) -> bool:
        """Whether this process prepares, writes and prints."""
        return self.rank == 0

    def share(self, windows: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Return this process's part of a global batch, whose sequences are divided in their order."""
        count = len(windows) // self.size
        return windows[self.rank * count : (self.rank + 1) * count]

    def run_on_rank0(self, work: Callable[[], Result]) -> Result:
        """Run ``work`` in rank 0 while the others wait; return its result, a small plain value, or its error in all.

        Raises:
            UserError, RunError: in every process, what rank 0 raised.
        """
        if self.size == 1:
            return work()
        outcome: tuple[BaseException | None, Result | None] = (None, None)
        error: BaseException | None = None
        if self.is_rank0:
            try:
                outcome = (None, work())
            # Interruptions count too: the others must not wait for a value that never comes.
            except BaseException as raised:
                error, outcome = raised, (_describe(raised, self.rank), None)
        failure, result = self.broadcast(outcome)
        if error is not None:
            raise error
        if failure is not None:
            raise failure
        return cast(Result, result)

    def run_on_all(self, work: Callable[[], Result]) -> Result:
        """Run ``work`` in every process and return each one's own result; raise the error of the lowest rank in all."""
        if self.size == 1:
            return work()
        error: BaseException | None = None
        try:
            result = work()
        except BaseException as raised:
            error = raised
        self.gather(None, error)
        return result

    def gather(self, value: Result, error: BaseException | None = None) -> list[Result]:
        """Return the pickled values of all processes, in the order of their ranks, or raise the first error in all.

        Raises:
            UserError, RunError: in every process, when one of them gives an error; it is that of the lowest rank.
        """
        failures: list[tuple[BaseException | None, Result]] = [(None, value)]
        if self.size > 1:
            import torch.distributed as dist

            failures *= self.size
            own = None if error is None else _describe(error, self.rank)
            dist.all_gather_object(failures, (own, value), group=_control())
        # Any other error is a mistake in the program; it keeps its own traceback in the process that made it.
        if error is not None and not (self.size > 1 and isinstance(error, UcurveError | OSError)):
            raise error
        failure = next((failure for failure, _ in failures if failure is not None), None)
        if failure is not None:
            raise failure from error
        return [value for _, value in failures]

    def rank0_first(self, work: Callable[[], Result]) -> Result:
        """Run ``work`` in rank 0 and then in the others, which find what rank 0 built."""
        results: list[Result] = []
        self.run_on_rank0(lambda: results.append(work()))
        return self.run_on_all(lambda: results[0] if results else work())

    def any_rank(self, *flags: bool) -> tuple[bool, ...]:
        """Return for every flag whether it is set in any process."""
        if self.size == 1:
            return flags
        import torch
        import torch.distributed as dist

        values = torch.tensor(flags, dtype=torch.int32)
        dist.all_reduce(values, op=dist.ReduceOp.MAX, group=_control())
        return tuple(bool(value) for value in values)

    def broadcast(self, value: Result) -> Result:
        """Return the value of rank 0 in every process."""
        if self.size == 1:
            return value
        import torch.distributed as dist

        box = [value]
        dist.broadcast_object_list(box, src=0, group=_control())
        return box[0]


def read_processes(environment: Mapping[str, str]) -> Processes:
    """Read rank and world size from the variables of a launcher; without WORLD_SIZE there is one process.

    Raises:
        UserError: when some of the variables are missing, or hold no numbers.
    """
    if environment.get("WORLD_SIZE", "1") == "1":
        return Processes()
    missing = [name for name in _VARIABLES if name not in environment]
    if missing:
        raise UserError(
            f"WORLD_SIZE={environment['WORLD_SIZE']} is set and {', '.join(missing)} not; start several processes "
            "with torchrun or deepspeed, or set all of " + ", ".join(_VARIABLES)
        )
    numbers = []
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        value = environment.get(name, "0")
        if not value.isdecimal():
            raise UserError(f"{name}={value!r}: a number is expected, as torchrun sets it")
        numbers.append(int(value))
    rank, size, local_rank = numbers
    if rank >= size:
        raise UserError(f"RANK={rank}: a number below WORLD_SIZE={size} is expected")
    return Processes(rank, size, local_rank)


def connect(processes: Processes, device: str) -> None:
    """Initialize ``torch.distributed``: gloo on ``cpu``, NCCL on ``cuda:N``; a single process takes a free port."""
    import torch.distributed as dist

    if dist.is_initialized():
        return
    atexit.register(_disconnect)
    kind, _, index = device.partition(":")
    backend = "nccl" if kind == "cuda" else "gloo"
    if processes.size > 1:
        dist.init_process_group(backend)
        return
    # Port 0 lets the system choose a free one, so that several runs fit on one machine.
    store = dist.TCPStore("127.0.0.1", 0, world_size=1, is_master=True)  # type: ignore[attr-defined]
    # DeepSpeed reads these variables of a launcher, and would ask MPI for them if they were missing.
    os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK=index or "0")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(store.port))
    dist.init_process_group(backend, store=store, rank=0, world_size=1)


def _disconnect() -> None:
    """Shut ``torch.distributed`` down while Python still runs.

    A thread of gloo that releases tensors after that would abort the process; destroying a group waits for its threads.
    """
    import torch.distributed as dist

    if dist.is_initialized():
        # Destroying a group waits for its threads only if nothing else holds the group.
        _control.cache_clear()
        dist.destroy_process_group()


@functools.cache
def _control() -> "ProcessGroup":
    """Return the process group for control messages, on the CPU."""
    import torch.distributed as dist

    group: ProcessGroup = dist.new_group(backend="gloo", timeout=_PATIENCE)
    return group


def _describe(error: BaseException, rank: int) -> BaseException:
    """Return the error to raise in the other processes, which names the process that it comes from."""
    place = f"process {rank}: " if rank else ""
    if isinstance(error, Interrupted):
        return Interrupted(place + error.message, error.exit_code)
    if isinstance(error, UserError):
        return UserError(place + str(error))
    kind = "" if isinstance(error, UcurveError | OSError) else f"{type(error).__name__}: "
    return RunError(f"{place}{kind}{error}")
