import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ucurve import command
from ucurve.command import check, resolve
from ucurve.errors import UserError

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Inner:
    rate: float


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Outer:
    inner: Inner
    steps: int = Field(ge=1)
    names: tuple[str, ...] = ()


def test_check_builds_the_dataclass():
    assert check(Outer, {"steps": 3, "inner": {"rate": "0.5"}, "names": ["a"]}) == Outer(Inner(0.5), 3, ("a",))


def test_check_reports_every_problem_at_once():
    with pytest.raises(UserError) as caught:
        check(Outer, {"steps": 0, "inner": {"rat": 1}, "names": "a", "more": 2})
    lines = str(caught.value).splitlines()
    assert lines[0] == "5 problems in the configuration:"
    assert sorted(lines[1:]) == [
        "  inner.rat: unknown key",
        "  inner.rate: no value given",
        "  more: unknown key",
        "  names: got 'a'; a list is expected, as [a,b]",
        "  steps: got 0; Input should be greater than or equal to 1",
    ]


def test_resolve_fills_references():
    assert resolve(OmegaConf.create({"seed": 3, "init": "${seed}"})) == {"seed": 3, "init": 3}


def test_resolve_leaves_what_has_no_value_to_the_check():
    values = resolve(OmegaConf.create({"steps": "???", "inner": {"rate": "???"}}))
    with pytest.raises(UserError, match=r"(?s)inner\.rate: no value given.*steps: no value given"):
        check(Outer, values)


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
              - override hydra/hydra_logging: none
              - override hydra/job_logging: none
            need: ???
            fail: null
            twice: ${need}
            name: ${size.name}
            """,
        "conf/plain.yaml": """\
            defaults:
              - command
              - _self_
              - override hydra/hydra_logging: none
              - override hydra/job_logging: none
            size: null
            """,
        "conf/size/small.yaml": "name: small\nwidth: 1\n",
        "conf/size/large.yaml": "name: large\nwidth: 2\n",
        "conf/command.yaml": (ROOT / "conf" / "command.yaml").read_text(),
        "run.py": f"""\
            import sys
            from pathlib import Path
            sys.path.insert(0, {str(ROOT)!r})
            from ucurve import command, errors
            command.CONFIGURATION = Path(__file__).parent / "conf"

            def task(values):
                kinds = {{"user": errors.UserError, "run": errors.RunError, "bug": ValueError, "hand": KeyboardInterrupt}}
                kind = kinds.get(values.get("fail"))
                if kind:
                    raise kind("told so")
                print(values)

            command.run_command(sys.argv.pop(1), task, "what was made is kept")
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


def test_ctrl_c_is_one_message_and_no_further_cell(program):
    done = program("-m", "need=1,2", "fail=hand,null")
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "error: interrupted: what was made is kept\n"


def test_a_key_may_bear_the_name_of_another_commands_group(program):
    done = program("size=any/path", name="plain")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{'size': 'any/path'}"


def test_commands_of_the_project_have_their_configuration():
    for script in ROOT.glob("*.py"):
        if "run_command(" in script.read_text():
            assert (command.CONFIGURATION / f"{script.stem}.yaml").is_file()


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("data.path=语料", "语料"),
        ("data.path=语料/a(1).txt", "语料/a(1).txt"),
        ("run=runs/x-语料-s0", "runs/x-语料-s0"),
        ("data.path=it's", "it's"),
        ("data.path=~/x y", "~/x y"),
    ],
)
def test_a_value_that_hydras_grammar_cannot_take_is_quoted(argument, value):
    from hydra.core.override_parser.overrides_parser import OverridesParser

    quoted = command.quoted_where_needed(argument)
    assert OverridesParser.create().parse_override(quoted).value() == value


@pytest.mark.parametrize(
    "argument", ["seed=0,1,2", "steps=[0,512]", "a=b c", "--multirun", "x", "runs='runs/*'", "a=[1"]
)
def test_other_arguments_are_left_as_they_are(argument):
    assert command.quoted_where_needed(argument) == argument


@pytest.mark.parametrize(
    ("error", "code"), [(PermissionError(13, "Permission denied"), 2), (OSError(28, "No space left"), 1)]
)
def test_what_the_system_refuses_is_one_message(monkeypatch, capsys, error, code):
    from hydra.core.global_hydra import GlobalHydra

    def fail(_):
        raise error

    GlobalHydra.instance().clear()
    monkeypatch.setattr(sys, "argv", ["verify.py", "run=x"])
    with pytest.raises(SystemExit) as caught:
        command.run_command("verify", fail)
    assert caught.value.code == code
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert "Traceback" not in message
