"""Whom the workbench answers, and how the command starts: its gate, its password, its headers and its mistakes."""

import asyncio
import json
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.testclient import TestClient

from tests.settings import workbench_settings
from tests.workbench.clients import open_client
from ucurve.workbench.login import Brake, Login
from ucurve.workbench.replies import LARGEST_BODY, json_route
from ucurve.workbench.security import HEADERS
from ucurve.workbench.server import make_app, make_rooms
from ucurve.workbench.settings import find_password

HERE = "http://127.0.0.1:7860"
PASSWORD = "three small words"  # noqa: S105 - of the test
CHANGE = {"browser": "b1", "project": "demo", "name": "mine"}


def open_workbench(tmp_path, base_url=HERE, **settings):
    chosen = workbench_settings(projects=tmp_path / "projects", runs=("nothing/*",), **settings)
    return open_client(chosen, make_rooms(chosen), base_url, follow_redirects=False)


@pytest.fixture
def local(tmp_path):
    return open_workbench(tmp_path)


@pytest.fixture
def distant(tmp_path):
    """A workbench that other machines reach, and so with a password."""
    return open_workbench(tmp_path, "http://lab.example:7860", host="0.0.0.0", password=PASSWORD)  # noqa: S104


def templates(client):
    return client.get("/write/api/templates", params={"browser": "b1", "project": "demo"}).text


@pytest.mark.parametrize(
    "path", ["/write", "/explore", "/judge", "/static/common.js", "/static/vega.js", "/nothing"]
)
def test_every_reply_has_the_headers(local, path):
    headers = local.get(path).headers
    assert {name: headers[name] for name in HEADERS} == dict(HEADERS)


def test_scripts_are_our_own_alone_and_nothing_is_evaluated(local):
    policy = local.get("/write").headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe-eval" not in policy
    assert "<script>" not in local.get("/write").text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:7860"])
def test_a_name_that_points_here_is_refused(local, host):
    reply = local.get("/write", headers={"Host": host})
    assert reply.status_code == 403
    assert "answers to 127.0.0.1, localhost, ::1" in reply.text


NO_HOSTS = [
    "",
    "a/static/?",
    "a/static/",
    "a?",
    "a#",
    "u@a",
    "a:b",
    "a:",
    "[",
    "[::1",
    "a b",
    "127.0.0.1/static/?x=",
]


@pytest.mark.parametrize("host", NO_HOSTS)
@pytest.mark.parametrize("settings", [{}, {"host": "0.0.0.0", "password": PASSWORD}], ids=["local", "distant"])  # noqa: S104
def test_what_is_no_name_of_a_host_is_refused(tmp_path, host, settings):
    reply = open_workbench(tmp_path, **settings).get("/write/api/projects", headers={"Host": host})
    assert (reply.status_code, reply.text) == (403, f"{host!r} is not the name of a host")


@pytest.mark.parametrize("host", ["127.0.0.1:7860", "localhost:7860", "LOCALHOST", "[::1]:7860", "127.0.0.1"])
def test_this_machine_by_any_of_its_names_is_answered(local, host):
    assert local.get("/login", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:9999", "http://127.0.0.1", "http://["]
)
def test_a_change_comes_from_our_own_pages(local, origin):
    headers = {} if origin is None else {"Origin": origin}
    before = templates(local)
    for method in ("POST", "PUT", "DELETE"):
        reply = local.request(method, "/write/api/templates", json=CHANGE, headers=headers)
        assert reply.status_code == 403
        assert "must come from the workbench's own pages" in reply.text
    assert templates(local) == before


def test_a_page_of_another_site_reads_nothing(local):
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert local.get("/write/api/projects", headers={"Sec-Fetch-Site": site}).status_code == status


@pytest.mark.parametrize(
    "path",
    ["/static/../security.py", "/static/%2e%2e/security.py", "/static//etc/passwd", "/judge/files/%2e%2e/x"],
)
def test_no_path_leads_out(local, path):
    assert local.get(path).status_code == 404


def test_a_request_that_is_too_large_is_answered(local):
    body = b'"' + b"x" * LARGEST_BODY + b'"'
    reply = local.put("/write/api/document", content=body, headers={"Origin": HERE})
    assert (reply.status_code, reply.json()["error"]) == (
        400,
        "the request is larger than 24 MB, more than is taken",
    )


NO_JSON = [
    b"[1]", b"{", b"\xff", b"[" * 100_000, b'"text"', b'{"pairs": NaN}', b'{"pairs": -Infinity}', b'{"a": "\xed\xa0\x80"}',
    b'{"pairs": ' + b"9" * 5000 + b"}",
]  # fmt: skip


@pytest.mark.parametrize("body", NO_JSON, ids=range(len(NO_JSON)))
def test_a_body_that_is_no_json_object_is_answered(local, body):
    reply = local.put("/write/api/document", content=body, headers={"Origin": HERE})
    assert reply.status_code == 400
    assert reply.json()["error"].startswith("the request is not ")


NO_NUMBERS = ["abc", None, [1], {}, True, 1.5, "", "²", "nan", "1" * 5000]


NUMBERS = [
    ("POST", "generate", "pairs"),
    ("POST", "generate", "seed"),
    ("POST", "preview", "seed"),
    ("POST", "score", "step"),
]
ASKED = [(*number, value) for number in NUMBERS for value in NO_NUMBERS if (number[2], value) != ("step", None)]
ASKED += [("GET", "words", "offset", value) for value in NO_NUMBERS if isinstance(value, str)]


@pytest.mark.parametrize(("method", "path", "key", "value"), ASKED)
def test_what_is_no_whole_number_is_answered(local, method, path, key, value):
    values = {"browser": "b1", "project": "demo", "name": "numeral_men", "text": "{}", "run": "x"}
    if method == "GET":
        reply = local.get(f"/write/api/{path}", params={**values, key: value})
    else:
        reply = local.post(f"/write/api/{path}", json={**values, key: value}, headers={"Origin": HERE})
    assert reply.status_code == 400
    assert reply.json()["error"].startswith(f"{key}={str(value)[:80]!r} is not a whole number")


@pytest.mark.parametrize(
    "values", [{"pairs": 0}, {"pairs": 10_001}, {"pairs": 1e400}, {"seed": -1}, {"seed": 2**63}], ids=str
)
def test_numbers_out_of_bounds_are_answered(local, values):
    given = {"browser": "b1", "project": "demo", "name": "numeral_men", **values}
    body = json.dumps(given).replace("Infinity", "1e400")
    reply = local.post("/write/api/generate", content=body, headers={"Origin": HERE})
    assert reply.status_code == 400
    assert next(iter(values)) + "=" in reply.json()["error"]


HALF = "\ud800"
HALVES = {
    "a text": ("PUT", "document", {"text": HALF}),
    "a cell": ("POST", "words", {"change": {"do": "set", "row": 0, "column": "expression", "value": HALF}}),
    "a word": ("POST", "words", {"change": {"do": "add", "words": [{"expression": HALF}]}}),
    "a column": ("POST", "words", {"change": {"do": "column", "name": HALF}}),
    "a template that is drawn": ("POST", "preview", {"text": json.dumps({
        "uid": "u", "phenomenon": "p", "strict_MP": False, "sep": "", "good_rule": [HALF], "bad_rule": ["x"]})}),
}  # fmt: skip


@pytest.mark.parametrize(("method", "path", "values"), HALVES.values(), ids=HALVES.keys())
def test_half_a_letter_is_answered_and_changes_nothing(local, method, path, values):
    own = {"browser": "b1", "project": "demo", "name": "numeral_men", "base": None}
    if path == "words":
        own["base"] = local.get("/write/api/words", params=own | {"base": ""}).json()["base"]
    reply = local.request(
        method, f"/write/api/{path}", content=json.dumps(own | values), headers={"Origin": HERE}
    )
    assert reply.status_code == 400
    assert reply.json()["error"] == f"a text holds half a letter ({HALF!r}), which no file can hold"
    assert HALF not in json.dumps(
        local.get("/write/api/words", params=own | {"base": ""}).json(), ensure_ascii=False
    )
    assert local.get("/write/api/document", params=own | {"base": ""}).json()["saved"]


@pytest.mark.parametrize("path", ["/login", "/write/api/projects"])
def test_a_client_that_goes_away_is_no_error(path):
    chosen = workbench_settings(password=PASSWORD)
    app = make_app(chosen, [], Login(PASSWORD)) if path == "/login" else Starlette(routes=[
        Route(path, json_route(lambda _: None), methods=["POST"])])  # fmt: skip
    headers = {"host": "127.0.0.1:7860", "origin": HERE, "content-length": "100"}
    scope = {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
        "scheme": "http", "server": ("127.0.0.1", 7860), "client": ("127.0.0.1", 9), "http_version": "1.1",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 400


def test_nothing_is_shown_before_the_password(distant):
    for path in ("/", "/write", "/explore", "/judge"):
        reply = distant.get(path)
        assert (reply.status_code, reply.headers["location"]) == (303, "/login")
    reply = distant.get("/write/api/projects")
    assert reply.status_code == 401
    assert "This browser is not let in. In another tab, open /login and give the password" in reply.text
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
    assert right.headers["set-cookie"].startswith("ucurve-workbench-7860=")
    assert {"httponly", "samesite=lax"} <= {
        part.strip().lower() for part in right.headers["set-cookie"].split(";")
    }
    assert distant.get("/write").status_code == 200
    assert PASSWORD not in right.headers["set-cookie"]


def test_a_large_form_is_refused(distant):
    reply = distant.post("/login", data={"password": "x" * 20_000}, headers={"Origin": "http://lab.example:7860"})
    assert (reply.status_code, reply.text) == (413, "the form is too large")


@pytest.fixture
def stranger(tmp_path):
    """A workbench on this machine, and a browser that was not let in."""
    chosen = workbench_settings(projects=tmp_path / "projects", runs=("nothing/*",))
    login = Login(None)
    return TestClient(
        make_app(chosen, make_rooms(chosen), login), base_url=HERE, follow_redirects=False
    ), login.token


def test_on_this_machine_too_nothing_is_shown_without_the_token(stranger):
    client, _ = stranger
    assert (client.get("/write").status_code, client.get("/write").headers["location"]) == (303, "/login")
    assert "ucurve workbench" in client.get("/login").text
    for method, path in (("GET", "projects"), ("POST", "projects"), ("PUT", "document")):
        reply = client.request(method, f"/write/api/{path}", headers={"Origin": HERE})
        assert reply.status_code == 401
        assert "open the address that the workbench printed last" in reply.text
    assert client.get("/judge/files/x/index.html").status_code == 303
    assert client.get("/static/common.js").status_code == 200


def test_the_token_of_the_address_becomes_a_cookie_and_leaves_the_address(stranger):
    client, token = stranger
    opened = client.get("/explore", params={"token": token, "benchmark": "a b&c"})
    assert (opened.status_code, opened.headers["location"]) == (303, "/explore?benchmark=a+b%26c")
    assert opened.headers["set-cookie"].startswith("ucurve-workbench-7860=")
    assert token not in opened.headers["set-cookie"]
    assert client.get("/write/api/projects").status_code == 200
    assert client.get("/", params={"token": token}).headers["location"] == "/"
    assert client.get(f"{HERE}//evil.example/", params={"token": token}).headers["location"] == "/evil.example/"


def test_a_cookie_of_another_port_or_another_start_does_not_open_it(stranger, tmp_path):
    client, token = stranger
    client.get("/", params={"token": token})
    cookie = client.cookies["ucurve-workbench-7860"]
    client.cookies.clear()
    for name in ("ucurve-workbench", "ucurve-workbench-7861"):
        assert client.get("/write/api/projects", headers={"Cookie": f"{name}={cookie}"}).status_code == 401
    assert (
        client.get("/write/api/projects", headers={"Cookie": f"ucurve-workbench-7860={cookie}"}).status_code
        == 200
    )
    odd = f"ucurve-workbench-7860=\xe9{cookie}".encode("latin-1")
    assert client.get("/write/api/projects", headers={"Cookie": odd}).status_code == 401
    again = open_workbench(tmp_path)
    again.cookies.clear()
    assert (
        again.get("/write/api/projects", headers={"Cookie": f"ucurve-workbench-7860={cookie}"}).status_code == 401
    )


def test_a_wrong_token_is_refused_and_does_not_send_away_whoever_is_in(stranger):
    client, token = stranger
    assert client.get("/", params={"token": "guess"}).headers["location"] == "/login?wrong=1"
    # The address of a page alone.
    assert client.get("/write/api/projects", params={"token": token}).status_code == 401
    assert (
        client.post("/login", data={"token": "é"}, headers={"Origin": HERE}).headers["location"]
        == "/login?wrong=1"
    )
    assert "That is not the token." in client.get("/login?wrong=1").text
    assert (
        client.post("/login", data={"token": f" {token} "}, headers={"Origin": HERE}).headers["location"] == "/"
    )
    assert client.get("/write", params={"token": "guess"}).status_code == 200


def try_passwords(client, number, password="guessed"):  # noqa: S107 - of the test
    origin = {"Origin": "http://lab.example:7860"}
    return [client.post("/login", data={"password": password}, headers=origin) for _ in range(number)]


def test_wrong_passwords_of_somebody_else_keep_nobody_out(distant, monkeypatch):
    monkeypatch.setattr("ucurve.workbench.login._WRONG_SECONDS", 0.001)
    assert {reply.headers["location"] for reply in try_passwords(distant, 8)} == {"/login?wrong=1"}
    holder = TestClient(distant.app, base_url="http://lab.example:7860", follow_redirects=False)
    assert try_passwords(holder, 1, PASSWORD)[0].headers["location"] == "/"
    assert holder.get("/write/api/projects").status_code == 200


def test_passwords_of_one_address_are_looked_at_in_turn_and_not_many_wait(distant, monkeypatch):
    monkeypatch.setattr("ucurve.workbench.login._WRONG_SECONDS", 0.05)
    with distant, ThreadPoolExecutor(20) as pool:  # one loop of events for all
        guesses = [pool.submit(try_passwords, distant, 1) for _ in range(20)]
        replies = [guess.result()[0].status_code for guess in guesses]
        other = TestClient(
            distant.app, base_url="http://lab.example:7860", client=("10.0.0.9", 1), follow_redirects=False
        )
        assert try_passwords(other, 1, PASSWORD)[0].headers["location"] == "/"
    assert replies.count(303) >= 10
    assert replies.count(429) >= 1


def test_the_right_password_gets_its_turn_while_wrong_ones_come():
    async def come() -> list[str]:
        brake, order = Brake(), []

        async def give(name, is_right):
            await brake.look(is_right)
            order.append(name)

        await asyncio.gather(give("first", False), give("mine", True), give("second", False))
        return order

    assert asyncio.run(come()) == ["first", "mine", "second"]


def test_a_wrong_password_takes_longer_each_time_up_to_an_end():
    brake = Brake()
    assert [brake.count_wrong() for _ in range(12)] == [1, 1, 1, 1, 1, 2, 4, 8, 16, 30, 30, 30]


def test_not_every_address_is_remembered(distant, monkeypatch):
    monkeypatch.setattr("ucurve.workbench.login._WRONG_SECONDS", 0)
    monkeypatch.setattr("ucurve.workbench.login._MOST_ADDRESSES", 3)
    login = Login(PASSWORD)
    for number in range(9):
        request = Request({"type": "http", "client": (f"10.0.0.{number}", 1), "headers": [], "query_string": b""})
        asyncio.run(login._read_password(request, "guessed"))
    assert len(login._brakes) == 3


@pytest.mark.parametrize("content", [PASSWORD, f"{PASSWORD}\n", f"{PASSWORD}\r\n"])
def test_the_password_comes_from_a_file_or_the_environment(tmp_path, monkeypatch, capsys, content):
    file = tmp_path / "password"
    file.write_bytes(content.encode())
    file.chmod(0o600)
    monkeypatch.setenv("UCURVE_WORKBENCH_PASSWORD", "of the environment")
    assert find_password(workbench_settings(password_file=file)) == PASSWORD
    assert find_password(workbench_settings(password="of the key")) == "of the key"
    assert find_password(workbench_settings()) == "of the environment"
    monkeypatch.delenv("UCURVE_WORKBENCH_PASSWORD")
    assert find_password(workbench_settings()) is None
    assert capsys.readouterr().err == ""
    file.chmod(0o644)
    find_password(workbench_settings(password_file=file))
    assert (
        f"can be read by other users of this machine; chmod 600 {file} keeps it to you" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "content", "variable", "message"),
    [
        ("password=a password_file=p", "b", None, "password and password_file are both given; give one of them"),
        ("password_file=q", "b", None, "cannot read q (No such file or directory)"),
        ("password_file=p", "\n", None, "password_file=p: one line is expected, which is the password"),
        ("password_file=p", "a\nb\n", None, "password_file=p: one line is expected"),
        ("password_file=p", b"\xff", None, "p:1: not UTF-8"),
        ("", "", "", "UCURVE_WORKBENCH_PASSWORD is set and empty; give it a password or unset it"),
    ],
)
def test_passwords_that_cannot_be_read(monkeypatch, refused, tmp_path, arguments, content, variable, message):
    (tmp_path / "p").write_bytes(content if isinstance(content, bytes) else content.encode())
    if variable is not None:
        monkeypatch.setenv("UCURVE_WORKBENCH_PASSWORD", variable)
    assert message in refused(*arguments.split())


@pytest.fixture
def refused(run_command, monkeypatch, tmp_path):
    """A function that runs the command with a mistake in it and returns the message."""

    def start(*arguments):
        monkeypatch.chdir(tmp_path)
        code, _, said = run_command("workbench", *arguments)
        assert code == 2
        return said

    return start


def test_other_machines_need_a_password(refused, tmp_path):
    message = refused("host=0.0.0.0")
    assert (
        "host=0.0.0.0 can be reached from other machines; give a password with it: password_file=FILE, or the variable"
        in message
    )
    assert "UCURVE_WORKBENCH_PASSWORD" in message
    assert not (tmp_path / "projects").exists()


def test_a_port_that_is_taken_is_named(refused):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = refused(f"port={port}")
    assert f"host=127.0.0.1 port={port}: Address already in use; give another port=" in message


def test_a_missing_library_is_named_with_its_extra(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "the workbench needs uvicorn; install it with: pip install 'ucurve[workbench]'" in refused()


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("prot=7000", "port"),
        ("port=70000", "port"),
        ("password=''", "password"),
    ],
)
def test_mistakes_in_keys_are_one_message(refused, argument, message):
    told = refused(argument)
    assert message in told
    assert "Traceback" not in told
