import importlib
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra

from ucurve import cli
from ucurve.config_files import CONFIGURATION

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A command with a group, in a folder of its own: ``call(*arguments)`` runs it."""
    folder = tmp_path_factory.mktemp("program")
    files = {
        "conf/main.yaml": """\
            defaults:
              - command
              - size: small
              - _self_
            need: ???
            fail: null
            twice: ${need}
            name: ${size.name}
            """,
        "conf/plain.yaml": """\
            defaults:
              - command
              - _self_
            size: null
            """,
        "conf/whole.yaml": "defaults: [command, size: small, _self_]\nneed: ???\n",
        "conf/size/small.yaml": "name: small\nwidth: 1\n",
        "conf/size/large.yaml": "name: large\nwidth: 2\n",
        "conf/command.yaml": (ROOT / "conf" / "command.yaml").read_text(),
        "run.py": f"""\
            import sys
            from pathlib import Path
            sys.path.insert(0, {str(ROOT)!r})
            from ucurve import cli, config_files, errors
            config_files.CONFIGURATION = Path(__file__).parent / "conf"

            def task(values):
                kinds = {{"user": errors.UserError, "run": errors.RunError, "bug": ValueError, "hand": KeyboardInterrupt}}
                kind = kinds.get(values.get("fail"))
                if values.get("fail") == "stumble":
                    try:
                        raise KeyboardInterrupt
                    finally:
                        None.flags
                if kind:
                    raise kind("told so")
                print(values)

            def whole(cells):
                print(*(cell.overrides for cell in cells))

            cli.COMMANDS = {{
                name: cli.Command("Try", f"__main__.{{function}}", "", takes, "what was made is kept")
                for name, function, takes in [("main", "task", "values"), ("plain", "task", "values"),
                                              ("whole", "whole", "cells"), ("given", "print", "arguments")]
            }}
            cli.run(sys.argv.pop(1))
            """,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def call(*arguments, name="main"):
        words = [sys.executable, "run.py", name, *arguments]
        return subprocess.run(words, check=False, cwd=folder, capture_output=True, text=True, timeout=60)

    call.folder = folder
    return call


def test_task_gets_plain_values(program):
    done = program("need=1", "size=large")
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout.strip()
        == "{'size': {'name': 'large', 'width': 2}, 'need': 1, 'fail': None, 'twice': 1, 'name': 'large'}"
    )


def test_hydra_leaves_no_folders(program):
    program("need=1")
    program("-m", "need=1,2")
    left = {path.name for path in program.folder.iterdir()}
    assert left <= {"conf", "run.py"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "error: need: no value given"),
        (["size=smal"], "error: unknown size 'smal'; allowed: large, small. Did you mean 'small'?"),
        (
            ["ned=1"],
            "error: unknown key 'ned'; the keys are those of conf/main.yaml and its groups. Did you mean 'need'?",
        ),
        (["size.widt=1", "need=1"], "error: unknown key 'size.widt'; .* Did you mean 'size.width'?"),
        (["siz=large"], "error: unknown key 'siz'; .* Did you mean 'size'?"),
        (["need=[1"], "error: the argument 'need=[1' cannot be read: "),
        (["need=1", "need.x=2"], "error: "),
        (["need=1", "fail=user"], "error: told so"),
    ],
)
def test_a_mistake_is_one_message(program, arguments, message):
    done = program(*arguments)
    assert done.returncode == 2
    first, _, last = message.partition(".*")
    assert done.stderr.startswith(first)
    assert last in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_a_run_that_fails_exits_with_one(program):
    done = program("need=1", "fail=run")
    assert (done.returncode, done.stderr) == (1, "error: told so\n")


def test_a_fault_of_ours_shows_its_traceback(program):
    done = program("need=1", "fail=bug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ValueError: told so" in done.stderr


def test_a_failing_cell_does_not_stop_the_others(program):
    done = program("-m", "need=1", "fail=run,user,null")
    assert done.returncode == 2
    assert done.stderr == "error: told so\nerror: told so\n"
    assert "'need': 1, 'fail': None" in done.stdout


@pytest.mark.parametrize("how", ["hand", "stumble"])
def test_ctrl_c_is_one_message_and_no_further_cell(program, how):
    done = program("-m", "need=1,2", f"fail={how},null")
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "error: interrupted: what was made is kept\n"


def test_a_key_may_bear_the_name_of_another_commands_group(program):
    done = program("size=any/path", name="plain")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{'size': 'any/path'}"


def test_a_command_may_get_all_cells_at_once(program):
    done = program("-m", "need=1,2", "size=large", name="whole")
    assert (done.returncode, done.stdout) == (0, "('need=1', 'size=large') ('need=2', 'size=large')\n"), (
        done.stderr
    )
    done = program("-m", "need=1,2", "size=larg", name="whole")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("unknown size 'larg'") == 1


@pytest.mark.parametrize("name", ["main", "whole"])
@pytest.mark.parametrize("option", ["--help", "--hydra-help", "--cfg=job", "--info=defaults"])
def test_hydras_own_options_do_what_they_do_elsewhere(program, name, option):
    done = program(option, *["need=1"] * (option == "--cfg=job"), name=name)
    assert (done.returncode, done.stderr) == (0, "")
    wanted = {
        "--help": f"(?s)^usage: ucurve {name} .*size=small  *one of large, small.*size.width=1",
        "--cfg=job": "need: 1",
        "--info=defaults": "size/small",
        "--hydra-help": "Hydra",
    }
    assert re.search(wanted[option], done.stdout)


def test_a_group_of_ones_own_is_found(program):
    folder = program.folder.parent / "mine"
    (folder / "size").mkdir(parents=True)
    (folder / "size" / "huge.yaml").write_text("name: huge\nwidth: 9\n")
    done = program("need=1", "--config-dir", str(folder), "-m", "size=small,huge")
    assert (done.returncode, [line.count("huge") for line in done.stdout.splitlines()]) == (0, [0, 2]), (
        done.stderr
    )


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_its_configuration_and_its_function(name):
    assert (CONFIGURATION / f"{name}.yaml").is_file()
    module, _, function = cli.COMMANDS[name].task.rpartition(".")
    assert callable(getattr(importlib.import_module(module), function))


@pytest.mark.parametrize(
    "words", [["--local_rank=1"], ["--local-rank=1"], ["--local_rank", "1"], ["--local-rank", "1"], []]
)
def test_what_the_launcher_of_deepspeed_adds_is_left_out(words):
    assert cli._without_local_rank([*words, "model=14m", "-m", "seed=0,1"]) == ["model=14m", "-m", "seed=0,1"]


def test_only_training_takes_a_local_rank():
    started = ucurve("train", "--local_rank=0", "modle=14m")
    assert (started.returncode, started.stderr.count("Did you mean 'model'?")) == (2, 1)
    refused = ucurve("verify", "--local_rank=0", "run=/nowhere")
    assert (refused.returncode, refused.stderr) == (
        2,
        "error: settings are key=value: local_rank=0 run=/nowhere\n",
    )


def ucurve(*arguments):
    command = [sys.executable, "-m", "ucurve", *arguments]
    return subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_the_console_command_lists_its_commands(arguments):
    done = ucurve(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"  {name} " in done.stdout for name in cli.COMMANDS)


def test_help_is_a_command_too():
    assert ucurve("help").stdout == ucurve().stdout
    assert ucurve("help", "cost").stdout == ucurve("cost", "--help").stdout != ""


def test_the_module_of_the_command_line_is_a_program_too():
    command = [sys.executable, "-m", "ucurve.cli", "verify", "run=/nowhere"]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (2, "error: run: no folder /nowhere.\n")


def test_the_console_command_names_the_nearest_command():
    done = ucurve("analyse", "runs=x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: unknown command 'analyse'; allowed: analyze, ")
    assert done.stderr.endswith(" Did you mean 'analyze'?\n")


def test_the_console_command_runs_a_command():
    done = ucurve("verify", "run=/nowhere")
    assert (done.returncode, done.stderr) == (2, "error: run: no folder /nowhere.\n")


def test_help_of_a_command_that_takes_the_arguments_of_a_grid():
    done = ucurve("cost", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "  format=text " in done.stdout


@pytest.mark.parametrize("script", ["train.py", "score.py", "analyze.py", "verify.py", "tokenizers/build.py"])
def test_ctrl_c_during_the_first_imports_is_one_message(script):
    """Python is interrupted as soon as it has begun to import Hydra, by a hook that stands in for the user's hand."""
    hook = (
        "import signal, sys, runpy\n"
        "class Hand:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'hydra': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Hand())\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.argv[:] = [{script!r}]\n"
        f"runpy.run_path({script!r}, run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", hook], check=False, cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 130
    assert done.stderr.startswith("error: interrupted: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"), [(PermissionError(13, "Permission denied"), 2), (OSError(28, "No space left"), 1)]
)
def test_what_the_system_refuses_is_one_message(monkeypatch, capsys, error, code):
    def fail(_):
        raise error

    GlobalHydra.instance().clear()
    monkeypatch.setattr(sys, "argv", ["verify.py", "run=x"])
    monkeypatch.setattr(cli.COMMANDS["verify"].task, fail)
    with pytest.raises(SystemExit) as caught:
        cli.run("verify")
    assert caught.value.code == code
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert "Traceback" not in message
