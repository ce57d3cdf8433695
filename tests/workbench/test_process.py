"""The workbench as a process: with the oldest library it allows, and how it ends while it is at work."""

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading

import pytest

from tests.settings import workbench_command
from tests.workbench.conftest import ROOT, Server
from ucurve.errors import UserError

pytestmark = pytest.mark.long
ALLOWED = re.search(r'"starlette>=([0-9.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))[1]
FORGING = "1.0.0"  # its request.url was made of the Host header (CVE-2026-48710)
PROJECTS = "/write/api/projects"
FORGED = [
    (PROJECTS, "a/static/?"), (PROJECTS, "a/static/"), (PROJECTS, "a/login?"), (PROJECTS, "a/static/#"), (PROJECTS, "a?"),
    (PROJECTS, "/static/"), (PROJECTS, "@/static/?"), (PROJECTS, "u@a/static/?"), (PROJECTS, "a:80/static/?"), (PROJECTS, "a"),
    (PROJECTS, "127.0.0.1"), (PROJECTS, "[::1]/static/?"), (PROJECTS, "a\\static\\?"), (PROJECTS, ""),
    (f"/static/..{PROJECTS}", "a"), (f"/static/%2e%2e{PROJECTS}", "a"), (f"/static/../..{PROJECTS}", "a"),
    (f"//static/..{PROJECTS}", "a"), (f"/{PROJECTS}", "a"), (f"http://a/static/?{PROJECTS}", "a"), (f"http://a{PROJECTS}", "a"),
    (f"{PROJECTS};/static/", "a"), (f"{PROJECTS}?/static/", "a"), (f"{PROJECTS}#/static/", "a"), (f"{PROJECTS}/static/", "a"),
    (f"/%73tatic/..{PROJECTS}", "a"), (f"/login{PROJECTS}", "a"), (f"/login/..{PROJECTS}", "a"), ("/write/api/runs", "a/static/?"),
]  # fmt: skip


def answer(port, path, host, version="1.1"):
    """The status and the body of a request as it is typed."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(f"GET {path} HTTP/{version}\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while part := connection.recv(65536):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize("version", [ALLOWED, FORGING])
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104
def test_no_host_and_no_path_passes_the_password_with_the_oldest_starlette(tmp_path, version, host):
    libraries = tmp_path / "libraries"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        libraries,
        f"starlette=={version}",
    ]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"starlette {version} is not to be had here: {done.stderr.strip().splitlines()[-1]}")
    shown = [sys.executable, "-c", "import starlette; print(starlette.__version__)"]
    used = subprocess.run(shown, env={"PYTHONPATH": str(libraries)}, capture_output=True, text=True, check=True)
    assert used.stdout.strip() == version
    server = Server(tmp_path, f"host={host}", "password=sekrit", libraries=[libraries]).start()
    try:
        for path, name in FORGED:
            status, body = answer(server.port, path, name)
            assert status in (303, 400, 401, 403, 404), (path, name, body[:200])
            assert b"project" not in body, (path, name)
        assert answer(server.port, PROJECTS, "a", "1.0")[0] in (401, 403)
        assert answer(server.port, "/static/common.js", "127.0.0.1")[0] == 200
        assert answer(server.port, "/login", "127.0.0.1")[0] == 200
    finally:
        server.kill()


def ask(server, method, path, values=None, cookie=""):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
    connection.request(method, path, json.dumps(values), {"Origin": server.url, "Cookie": cookie})
    return connection.getresponse()


def make(server, name, cookie):
    wanted = {
        "benchmark": "demo",
        "formats": ["labelstudio", "pcibex"],
        "lists": 100,
        "per_paradigm": 20,
        "name": name,
    }
    return ask(server, "POST", "/judge/api/questionnaires", wanted, cookie)


# Python runs it at the start of the server.
ENDLESS = """
import threading
import ucurve.validation.questionnaire.run as questionnaire
questionnaire.make_questionnaire = lambda settings: threading.Event().wait()
"""


def make_until_it_ends(server, cookie):
    with contextlib.suppress(OSError, http.client.HTTPException):
        make(server, "long", cookie)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)])
def test_it_ends_while_a_questionnaire_is_made(tmp_path, number, code):
    (tmp_path / "sitecustomize.py").write_text(ENDLESS, encoding="utf-8")
    server = Server(tmp_path, libraries=[tmp_path]).start()
    try:
        cookie = ask(server, "GET", f"/?token={server.token}").headers["set-cookie"].partition(";")[0]
        long = threading.Thread(target=make_until_it_ends, args=(server, cookie))
        long.start()
        # No name that is allowed.
        while b"another questionnaire is being made" not in make(server, ".", cookie).read():
            assert long.is_alive()
        server.process.send_signal(number)
        assert server.process.wait(300) == code, (
            "a busy machine is slow, but the questionnaire would never be made"
        )
        long.join()
    finally:
        server.kill()


def test_a_pattern_without_runs_is_told_on_the_terminal(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "uvicorn", None)  # it is not started
    with pytest.raises(UserError, match="the workbench needs uvicorn"):
        workbench_command({"runs": ["nope/*"]})
    assert capsys.readouterr().out == "no run folder matches 'nope/*' yet; those that come appear by themselves\n"


def test_the_address_is_printed_before_the_slow_imports(tmp_path):
    blocked = "import sys\nsys.modules['pandas'] = sys.modules['torch'] = None\n"
    (tmp_path / "sitecustomize.py").write_text(blocked, encoding="utf-8")
    started = Server(tmp_path, libraries=[tmp_path])
    with pytest.raises(AssertionError, match="after the slow imports"):
        started.start()
    assert started.port
    assert started.token
    assert started.process.wait(60) == 2
