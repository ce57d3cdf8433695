"""What ``ucurve.launch.emit`` writes; ``test_slurm.py`` runs it."""

import os
import shlex
import subprocess

import pytest

from ucurve.errors import UserError
from ucurve.launch.arguments import expand_grid
from ucurve.launch.emit import emit_command

GRID = ["model=tiny", "tokenizer=char", "data=demo", "tokens=100K,200K", "seed=0,1", "schedule.count=3"]


@pytest.fixture
def emitted(tmp_path):
    def call(*arguments):
        out = tmp_path / "out"
        emit_command([f"out={out}", f"slurm.logs={tmp_path / 'logs'}", *arguments, *GRID])
        return out.read_text()

    return call


def test_commands_are_a_line_for_each_run_that_give_the_cells_of_the_grid(emitted):
    lines = [shlex.split(line) for line in emitted("format=commands").splitlines()]
    assert [line[:2] for line in lines] == [["python", "train.py"]] * 4
    again = [cell.settings for line in lines for cell in expand_grid(line[2:])]
    assert again == [cell.settings for cell in expand_grid(GRID)]


def test_several_processes_are_started_under_the_relay(emitted):
    first, *_ = emitted("format=commands", "processes=2").splitlines()
    assert first.startswith(
        "python -m ucurve.launch.relay python -m torch.distributed.run --standalone --nproc-per-node 2 "
    )
    first, *_ = emitted("format=commands", "processes=2", "launcher=deepspeed").splitlines()
    assert first.startswith("python -m ucurve.launch.relay deepspeed --num_gpus 2 ")
    assert " --no_local_rank train.py " in first


@pytest.mark.parametrize(
    ("launcher", "started"),
    [
        ("python", "python -m ucurve train model=tiny "),
        ("torchrun", "--nproc-per-node 1 -m ucurve train model=tiny "),
        ("deepspeed", "--no_local_rank --module ucurve train model=tiny "),
    ],
)
def test_outside_a_checkout_the_installed_command_is_started(emitted, tmp_path, monkeypatch, launcher, started):
    monkeypatch.chdir(tmp_path)
    assert started in emitted("format=commands", f"launcher={launcher}").splitlines()[0]


def test_the_grid_is_printed_without_a_file(capsys):
    emit_command(["format=commands", *GRID])
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_what_is_asked_of_slurm_stands_in_the_script(emitted):
    text = emitted(
        "processes=2",
        "slurm.time=1-02:00:00",
        "slurm.partition=long",
        "slurm.gpus=2",
        "slurm.at_once=3",
        "slurm.options=['--qos=high']",
    )
    asked = {line.removeprefix("#SBATCH ") for line in text.splitlines() if line.startswith("#SBATCH")}
    wanted = {
        "--time=1-02:00:00",
        "--partition=long",
        "--gpus-per-node=2",
        "--array=0-3%3",
        "--qos=high",
        "--requeue",
    }
    wanted |= {"--cpus-per-task=4"}
    assert wanted <= asked


@pytest.mark.parametrize(
    ("given", "cores"), [([], 2), (["processes=8"], 16), (["processes=8", "slurm.cpus=9"], 9)]
)
def test_the_cores_follow_from_the_processes(emitted, given, cores):
    assert f"#SBATCH --cpus-per-task={cores}\n" in emitted(*given)


def test_more_runs_than_one_array_of_slurm_may_have_are_several_arrays(emitted, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ucurve.launch.emit.expand_grid", lambda grid: expand_grid(grid) * 550)
    text, script = emitted("slurm.at_once=5"), tmp_path / "out"
    arrays = [
        f"sbatch {script}",
        f"sbatch --array=0-1000%5 {script} 1001",
        f"sbatch --array=0-197%5 {script} 2002",
    ]
    assert f"submit it with: {'; '.join(arrays)}\n" in capsys.readouterr().err
    assert "#SBATCH --array=0-1000%5\n" in text
    assert all(f"\n#   {one}\n" in text for one in arrays)
    script.write_text(text.partition("\n# The warning")[0] + '\necho "$run $*"\n')
    for words, task, run in ([], 1000, 1000), (["1001"], 0, 1001), (["2002"], 197, 2199):
        environment = {"SLURM_ARRAY_TASK_ID": str(task), "PATH": os.environ["PATH"]}
        done = subprocess.run(
            ["bash", script, *words], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == f"{run} {' '.join(expand_grid(GRID)[run % 4].overrides)}\n"


def test_on_several_nodes_every_process_gets_the_cores_of_the_job(emitted):
    export = 'export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK"'
    assert export in emitted("nodes=2", "processes=4", "launcher=torchrun", "slurm.gpus=4", "slurm.cpus=16")
    assert export not in emitted("processes=4", "launcher=torchrun", "slurm.gpus=4", "slurm.cpus=16")


def test_a_host_file_is_made_for_deepspeed_on_several_nodes(emitted):
    text = emitted("nodes=2", "processes=4", "launcher=deepspeed", "slurm.gpus=4")
    assert "s/$/ slots=4/" in text
    assert (
        '--hostfile "$HOSTFILE" --master_addr "$MASTER_ADDR" --master_port "$MASTER_PORT" --no_local_rank' in text
    )
    assert "MASTER_PORT=29500" not in text, "each job takes a port that is free"


def test_a_job_fills_a_node_with_workers_that_share_the_grid(emitted):
    text = emitted("launcher=workers", "nodes=2", "processes=8", "slurm.gpus=8")
    assert "#SBATCH --array=0-1\n" in text and "#SBATCH --nodes=1\n" in text
    assert "#SBATCH --gpus-per-node=8\n" in text and "#SBATCH --cpus-per-task=16\n" in text
    assert text.count(f"set -- gpus=8 {shlex.join(GRID)} ;;\n") == 2
    assert '\npython -m ucurve workers "$@" &\n' in text


def test_submitit_gets_one_command_whose_axes_are_the_grid(emitted):
    (line,) = emitted("format=submitit", "slurm.time=00:30:30", "slurm.partition=short").splitlines()
    words = shlex.split(line)
    assert words[:3] == ["python", "train.py", "-m"]
    assert {
        "hydra/launcher=submitit_slurm",
        "hydra.launcher.timeout_min=30",
        "hydra.launcher.partition=short",
    } <= {*words}
    assert words[-len(GRID) :] == GRID


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["launcher=python", "processes=2"], "launcher=python starts one process, not 1 x 2"),
        (
            ["format=submitit", "processes=2"],
            "format=submitit starts one process for each run; use format=slurm-array",
        ),
        (["format=commands", "launcher=workers"], "launcher=workers fills nodes of Slurm .* not format=commands"),
        (["format=commands", "nodes=2"], "format=commands is for one node; use format=slurm-array"),
        (
            ["slurm.gpus=8"],
            "slurm.gpus=8: .* processes=1 would leave 7 of them idle; slurm.gpus=1 is .*, or processes=8 trains",
        ),
        (["format=submitit", "slurm.gpus=2"], "slurm.gpus=2: .* processes=1 would leave 1 of them idle"),
        (["slurm.time=soon"], "slurm.time"),
        (["slurm.options=[qos=high]"], "slurm.options"),
        (["python='python -u'"], "python"),
        (["format=slurm"], "slurm-array"),
    ],
)
def test_what_cannot_be_written_is_refused(emitted, tmp_path, arguments, message):
    with pytest.raises(UserError, match=message):
        emitted(*arguments)
    assert not (tmp_path / "out").exists()
