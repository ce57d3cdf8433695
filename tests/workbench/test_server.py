"""Whom the workbench answers, and how the command starts: its gate, its password, its headers and its mistakes."""

import socket
import sys

import pytest
from starlette.testclient import TestClient

from ucurve.cli import run
from workbench.replies import LARGEST_BODY
from workbench.rooms import make_rooms
from workbench.security import HEADERS
from workbench.server import make_app
from workbench.settings import WorkbenchSettings

HERE = "http://127.0.0.1:7860"
PASSWORD = "three small words"  # noqa: S105 - of the test
CHANGE = {"browser": "b1", "project": "demo", "name": "mine"}


def open_workbench(tmp_path, base_url=HERE, **settings):
    chosen = WorkbenchSettings(projects=tmp_path / "projects", runs=("nothing/*",), **settings)
    return TestClient(make_app(chosen, make_rooms(chosen)), base_url=base_url, follow_redirects=False)


@pytest.fixture
def local(tmp_path):
    return open_workbench(tmp_path)


@pytest.fixture
def distant(tmp_path):
    """A workbench that other machines reach, and so with a password."""
    return open_workbench(tmp_path, "http://lab.example:7860", host="0.0.0.0", password=PASSWORD)  # noqa: S104


def templates(client):
    return client.get("/write/api/templates", params={"browser": "b1", "project": "demo"}).text


@pytest.mark.parametrize("path", ["/write", "/explore", "/judge", "/static/common.js", "/static/vega.js", "/nothing"])
def test_every_reply_has_the_headers(local, path):
    headers = local.get(path).headers
    assert {name: headers[name] for name in HEADERS} == dict(HEADERS)


def test_scripts_are_our_own_alone_and_nothing_is_evaluated(local):
    policy = local.get("/write").headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe-eval" not in policy
    assert "<script>" not in local.get("/write").text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:7860", ""])
def test_a_name_that_points_here_is_refused(local, host):
    reply = local.get("/write", headers={"Host": host})
    assert reply.status_code == 403
    assert "answers to 127.0.0.1, localhost, ::1" in reply.text


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1:9999", "http://127.0.0.1"])
def test_a_change_comes_from_our_own_pages(local, origin):
    headers = {} if origin is None else {"Origin": origin}
    before = templates(local)
    for method in ("POST", "PUT", "DELETE"):
        reply = local.request(method, "/write/api/templates", json=CHANGE, headers=headers)
        assert reply.status_code == 403
        assert "must come from the workbench's own pages" in reply.text
    assert templates(local) == before


def test_a_page_of_another_site_reads_nothing(local):
    assert local.get("/write/api/projects", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert local.get("/write/api/projects", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/static/../security.py", "/static/%2e%2e/security.py", "/static//etc/passwd", "/judge/files/%2e%2e/x"]
)
def test_no_path_leads_out(local, path):
    assert local.get(path).status_code == 404


def test_a_request_that_is_too_large_is_answered(local):
    body = b'"' + b"x" * LARGEST_BODY + b'"'
    reply = local.put("/write/api/document", content=body, headers={"Origin": HERE})
    assert (reply.status_code, reply.json()["error"]) == (400, "the request is larger than 24 MB, more than is taken")


@pytest.mark.parametrize("body", [b"[1]", b"{", b"\xff", b"[" * 100_000, b'"text"'])
def test_a_body_that_is_no_json_object_is_answered(local, body):
    reply = local.put("/write/api/document", content=body, headers={"Origin": HERE})
    assert reply.status_code == 400
    assert reply.json()["error"].startswith("the request is not ")


def test_nothing_is_shown_before_the_password(distant):
    for path in ("/", "/write", "/explore", "/judge"):
        reply = distant.get(path)
        assert (reply.status_code, reply.headers["location"]) == (303, "/login")
    reply = distant.get("/write/api/projects")
    assert (reply.status_code, reply.text) == (401, "the password is asked for first: reload the page")
    assert "Password" in distant.get("/login").text


def test_the_password_opens_it_and_a_wrong_one_does_not(distant):
    origin = {"Origin": "http://lab.example:7860"}
    wrong = distant.post("/login", data={"password": "guessed"}, headers=origin)
    assert wrong.headers["location"] == "/login?wrong=1"
    assert "That is not the password." in distant.get("/login?wrong=1").text
    assert distant.get("/write").status_code == 303
    assert (
        distant.post("/login", data={"password": PASSWORD}, headers={"Origin": "http://evil.example"}).status_code
        == 403
    )
    right = distant.post("/login", data={"password": PASSWORD}, headers=origin)
    assert right.headers["location"] == "/"
    assert {"httponly", "samesite=strict"} <= {part.strip().lower() for part in right.headers["set-cookie"].split(";")}
    assert distant.get("/write").status_code == 200
    assert PASSWORD not in right.headers["set-cookie"]


def test_a_large_form_is_refused(distant):
    reply = distant.post("/login", data={"password": "x" * 20_000}, headers={"Origin": "http://lab.example:7860"})
    assert (reply.status_code, reply.text) == (413, "the form is too large")


def start(monkeypatch, capsys, tmp_path, *arguments):
    """Run the command with a mistake in it; returns the exit code and the message."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["workbench", *arguments])
    with pytest.raises(SystemExit) as ended:
        run("workbench")
    return ended.value.code, capsys.readouterr().err


def test_other_machines_need_a_password(monkeypatch, capsys, tmp_path):
    code, message = start(monkeypatch, capsys, tmp_path, "host=0.0.0.0")
    assert code == 2
    assert "host=0.0.0.0 can be reached from other machines; give a password=... with it" in message
    assert not (tmp_path / "projects").exists()


def test_a_port_that_is_taken_is_named(monkeypatch, capsys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, message = start(monkeypatch, capsys, tmp_path, f"port={port}")
    assert code == 2
    assert f"host=127.0.0.1 port={port}: Address already in use; give another port=" in message


def test_a_missing_library_is_named_with_its_extra(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, message = start(monkeypatch, capsys, tmp_path)
    assert code == 2
    assert "the workbench needs uvicorn; install it with: pip install 'ucurve[workbench]'" in message


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("prot=7000", "port"),
        ("port=70000", "port"),
        ("password=''", "password"),
    ],
)
def test_mistakes_in_keys_are_one_message(monkeypatch, capsys, tmp_path, argument, message):
    code, told = start(monkeypatch, capsys, tmp_path, argument)
    assert code == 2
    assert message in told
    assert "Traceback" not in told
