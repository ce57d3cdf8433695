"""The Slurm job array of a grid: one task for each run, or one that fills a node, which requeues itself."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from pydantic import ConfigDict, Field, NonNegativeInt, PositiveInt
from pydantic.dataclasses import dataclass as checked

from ucurve.interpreter import IN_CHECKOUT, ROOT

Word = Annotated[str, Field(pattern=r"^[^\s]+$", coerce_numbers_to_str=True)]
_TASKS = 1001  # of an array at most: Slurm's MaxArraySize, unless a cluster sets another, bounds the index
_CORES = 2  # for each process: one that computes, one that reads batches and writes checkpoints
_Time = Annotated[str, Field(pattern=r"^(\d+-)?\d{1,3}:\d{2}:\d{2}$")]


@checked(frozen=True, config=ConfigDict(extra="forbid"))
class SlurmSettings:
    """The options of Slurm; None and 0 leave one out."""

    name: Word
    time: (
        _Time  # limit of one run, ``HH:MM:SS`` or ``D-HH:MM:SS``; a run that needs longer is requeued and goes on
    )
    partition: Word | None
    account: Word | None
    gpus: NonNegativeInt
    cpus: PositiveInt | None
    memory: Word | None
    at_once: PositiveInt | None  # largest number of runs at the same time
    warning: PositiveInt  # seconds before the limit at which the run receives the signal to save and end
    logs: Word
    options: tuple[Annotated[str, Field(pattern=r"^-[^\n]*$")], ...]

    def cores(self, processes: int) -> int:
        """Return the cores of a node that a run with so many processes there gets."""
        return self.cpus or _CORES * processes

    def array(self, runs: int) -> str:
        """Return the indices of the tasks of an array, one for each run."""
        return f"--array=0-{runs - 1}" + (f"%{self.at_once}" if self.at_once else "")

    def submissions(self, script: str, runs: int) -> list[str]:
        """Return the commands that submit a script: all but the first say with which run their array begins."""
        more = [
            f"sbatch {self.array(min(_TASKS, runs - first))} {script} {first}"
            for first in range(_TASKS, runs, _TASKS)
        ]
        return [f"sbatch {script}", *more]


@dataclass(frozen=True)
class Start:
    """How one run, or a node full of them, is started; see ``EmitSettings`` for the launchers."""

    python: str
    launcher: str
    nodes: int
    processes: int

    def alone(self) -> str:
        """Return the command on one node, without the arguments of ``train.py``."""
        train, relay = train_script(self.launcher), f"{self.python} -m ucurve.launch.relay"
        if self.launcher == "python":
            return f"{self.python} {train}"
        if self.launcher == "workers":
            return f"{self.python} -m ucurve workers"
        if self.launcher == "deepspeed":
            return (
                # Without the last option DeepSpeed adds --local_rank to the arguments of the script.
                f"{relay} deepspeed --num_gpus {self.processes} --master_port ${{MASTER_PORT:-29500}} "
                f"--no_local_rank {train}"
            )
        torchrun = f"{relay} {self.python} -m torch.distributed.run"
        return f"{torchrun} --standalone --nproc-per-node {self.processes} {train}"

    def in_job(self) -> str:
        """Return the command of a job's script, which has the arguments of ``train.py`` in ``"$@"``."""
        if self.nodes == 1:
            return f'{self.alone()} "$@"'
        start = f"{self.python} -m ucurve.launch.relay "
        if self.launcher == "deepspeed":
            start += (
                'deepspeed --no_ssh --node_rank "$SLURM_NODEID" --hostfile "$HOSTFILE" '
                '--master_addr "$MASTER_ADDR" --master_port "$MASTER_PORT" --no_local_rank'
            )
        else:
            start += (
                f"{self.python} -m torch.distributed.run --nnodes {self.nodes} --nproc-per-node {self.processes} "
                '--rdzv-backend c10d --rdzv-id "$SLURM_JOB_ID" --rdzv-endpoint "$MASTER_ADDR:$MASTER_PORT"'
            )
        return f'srun --ntasks-per-node=1 bash -c \'{start} {train_script(self.launcher)} "$@"\' task "$@"'


def train_script(launcher: str) -> str:
    """Return the script that a launcher starts; outside a checkout the installed command."""
    words = python_script("train")
    return " ".join(["--module" if launcher == "deepspeed" and word == "-m" else word for word in words])


def python_script(name: str) -> list[str]:
    """Return the words after ``python`` that start a command with a script of its own, as ``train`` and ``score``."""
    return [f"{name}.py"] if IN_CHECKOUT and Path.cwd() == ROOT else ["-m", "ucurve", name]


def directives(settings: SlurmSettings, start: Start, runs: int) -> list[str]:
    """Return the options of sbatch for an array of runs, or the first of several arrays."""
    asked = {
        "--partition": settings.partition,
        "--account": settings.account,
        "--gpus-per-node": settings.gpus,
        "--cpus-per-task": settings.cores(start.processes),
        "--mem": settings.memory,
    }
    return [
        f"--job-name={settings.name}",
        settings.array(min(_TASKS, runs)),
        f"--nodes={start.nodes}",
        "--ntasks-per-node=1",  # the launcher starts the processes of a node
        f"--time={settings.time}",
        *[f"{option}={value}" for option, value in asked.items() if value],
        "--requeue",
        "--open-mode=append",  # a requeued task goes on with its log
        # B sends it to the script alone, which passes it on to the run.
        f"--signal=B:USR1@{settings.warning}",
        f"--output={settings.logs}/%A_%a.log",
        *settings.options,
    ]


def array_script(settings: SlurmSettings, start: Start, runs: Sequence[Sequence[str]], name: str) -> str:
    """Return the script of a job array; ``runs`` are the arguments of ``train.py`` for each run, ``name`` its file."""
    environment = Environment(
        loader=PackageLoader("ucurve.launch"), autoescape=select_autoescape(), undefined=StrictUndefined,
        trim_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    template = environment.get_template("array.sbatch")
    return template.render(
        options=directives(settings, start, len(runs)),
        submissions=settings.submissions(name, len(runs)),
        start=start,
        runs=[shlex.join(run) for run in runs],
    )
