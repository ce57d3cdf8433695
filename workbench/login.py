"""Who is let in: by the token of the address that is printed at the start, or by the password where there is one.

All users of a machine reach its 127.0.0.1, so that there is always one of the two. Whoever gave it gets a cookie, whose
name has the port, since a browser sends the cookies of a host to all its ports.
"""

import asyncio
import hmac
import math
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs, quote, urlencode

from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from ucurve.workbench.pages import render

LOGIN = "/login"
_TOKEN = "token"  # noqa: S105 - its name in the address
_COOKIE = "ucurve-workbench"
_PORT = re.compile(r":(\d+)$")
_LARGEST_FORM = 10_000  # bytes of the form with the password
_WRONG_SECONDS = 1.0  # before a wrong password is answered
_FREE_TRIES = 5  # wrong passwords before the first pause
_LONGEST_PAUSE = 300  # seconds


@dataclass
class Brake:
    """Counts wrong passwords, those of all clients together, and asks for a pause that doubles with each one more."""

    clock: Callable[[], float] = time.monotonic  # gives the seconds since some moment
    _wrong: int = field(default=0, init=False)
    _until: float = field(default=0.0, init=False)

    def pause(self) -> int:
        """Return the seconds until another password is looked at; 0 when it is now."""
        return max(0, math.ceil(self._until - self.clock()))

    def count_wrong(self) -> None:
        """Count a wrong password."""
        self._wrong += 1
        if self._wrong >= _FREE_TRIES:
            doubled = 2 ** min(self._wrong - _FREE_TRIES + 1, 20)
            self._until = self.clock() + min(doubled, _LONGEST_PAUSE)

    def forget(self) -> None:
        """Forget the wrong passwords, after the right one."""
        self._wrong, self._until = 0, 0.0


class Login:
    """Lets browsers in by a password, or else by a token in the address, and knows them by their cookie.

    A token is too long to be guessed, so wrong ones are not counted, and nobody can keep the others out with them.
    """

    def __init__(self, password: str | None) -> None:
        self._password = password
        self.token = secrets.token_urlsafe(32) if password is None else None
        self._ticket = secrets.token_urlsafe(32)
        self._brake = Brake()

    @property
    def first_step(self) -> str:
        """What whoever is not let in has to do."""
        printed = "the address that the workbench printed last"
        where = f"{LOGIN} and give the password" if self.token is None else printed
        return f"This browser is not let in. In another tab, open {where}; then go on here, what you typed stays."

    def is_known(self, request: Request) -> bool:
        """Return whether the browser was let in."""
        return _equal(request.cookies.get(_cookie_name(request), ""), self._ticket)

    def open_address(self, request: Request) -> Response | None:
        """Take the token of an address, where it has one, for a cookie; the reply leads to the same page without it."""
        given = request.query_params.get(_TOKEN)
        if given is None or self.token is None:
            return None
        if not _equal(given, self.token):
            return None if self.is_known(request) else RedirectResponse(f"{LOGIN}?wrong=1", 303)
        left = [(name, value) for name, value in request.query_params.multi_items() if name != _TOKEN]
        path = "/" + request.scope["path"].lstrip("/")
        return self._let_in(request, quote(path) + (f"?{urlencode(left)}" if left else ""))

    async def show(self, request: Request) -> Response:
        """Answer with the page that asks for the password or the token."""
        named = "password" if self.token is None else _TOKEN
        return self._page(f"That is not the {named}." if "wrong" in request.query_params else "")

    async def read(self, request: Request) -> Response:
        """Read the password or the token that was typed."""
        if int(request.headers.get("content-length") or _LARGEST_FORM + 1) > _LARGEST_FORM:
            return PlainTextResponse("the form is too large", 413)
        try:
            form = parse_qs((await request.body()).decode(errors="replace"))
        except ClientDisconnect:
            return Response(status_code=400)
        if self.token is not None:
            right = _equal(form.get(_TOKEN, [""])[0].strip(), self.token)
            return self._let_in(request, "/") if right else RedirectResponse(f"{LOGIN}?wrong=1", 303)
        return await self._read_password(request, form.get("password", [""])[0])

    async def _read_password(self, request: Request, given: str) -> Response:
        pause = self._brake.pause()
        if pause:
            reply = self._page(f"Too many wrong passwords. The next one is looked at in {pause} s.", 429)
            reply.headers["Retry-After"] = str(pause)
            return reply
        if _equal(given, self._password or ""):
            self._brake.forget()
            return self._let_in(request, "/")
        self._brake.count_wrong()  # before the pause of this reply, so that others at the same time are counted too
        await asyncio.sleep(_WRONG_SECONDS)
        return RedirectResponse(f"{LOGIN}?wrong=1", 303)

    def _let_in(self, request: Request, to: str) -> Response:
        reply = RedirectResponse(to, 303)
        # Not strict: the first page is often opened from a terminal in a browser, which is another site.
        reply.set_cookie(_cookie_name(request), self._ticket, httponly=True, samesite="lax")
        return reply

    def _page(self, problem: str, status: int = 200) -> Response:
        return HTMLResponse(render("login.html", asks_password=self.token is None, problem=problem), status)


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())


def _cookie_name(request: Request) -> str:
    port = _PORT.search(request.headers.get("host", ""))
    return f"{_COOKIE}-{port[1]}" if port else _COOKIE
