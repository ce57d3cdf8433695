"""Who is let in: by the token of the address that is printed at the start, or by the password where there is one.

All users of a machine reach its 127.0.0.1, so that there is always one of the two. Whoever gave it gets a cookie, whose
name has the port, since a browser sends the cookies of a host to all its ports.
"""

import asyncio
import hmac
import re
import secrets
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
_FREE_TRIES = 5  # wrong passwords before that time begins to double
_LONGEST_SECONDS = 30.0
_MOST_WAITING = 10  # passwords of one address
_MOST_ADDRESSES = 1_000  # of which wrong passwords are remembered


@dataclass
class Brake:
    """Has the passwords of one address looked at one after the other, and each wrong one take its time.

    So the rate of guesses is bounded, and whoever has the right password gets in after those who came before.
    """

    waiting: int = field(default=0, init=False)
    _wrong: int = field(default=0, init=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def look(self, is_right: bool) -> bool:
        """Wait for the turn of a password, and return whether it is right; after a wrong one the next waits longer."""
        self.waiting += 1
        try:
            async with self._turn:
                if not is_right:
                    await asyncio.sleep(self.count_wrong())
        finally:
            self.waiting -= 1
        return is_right

    def count_wrong(self) -> float:
        """Count a wrong password, and return the seconds that it takes."""
        self._wrong += 1
        # The doublings are bounded too, as no float holds the thousandth.
        return min(_WRONG_SECONDS * 2.0 ** min(max(0, self._wrong - _FREE_TRIES), 10), _LONGEST_SECONDS)


class Login:
    """Lets browsers in by a password, or else by a token in the address, and knows them by their cookie.

    A token is too long to be guessed, so wrong ones are not counted, and nobody can keep the others out with them.
    """

    def __init__(self, password: str | None) -> None:
        self._password = password
        self.token = secrets.token_urlsafe(32) if password is None else None
        self._ticket = secrets.token_urlsafe(32)
        self._brakes: dict[str, Brake] = {}  # by address, the latest last; one that got in has none

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
        # With two slashes at its beginning, an address would lead to another host.
        path = "/" + request.scope["path"].lstrip("/")
        return self._let_in(request, quote(path) + (f"?{urlencode(left)}" if left else ""))

    async def show(self, request: Request) -> Response:
        """Answer with the page that asks for the password or the token."""
        named = "password" if self.token is None else _TOKEN
        return self._page(f"That is not the {named}." if "wrong" in request.query_params else "")

    async def read(self, request: Request) -> Response:
        """Read the password or the token that was typed."""
        # A form of a length that is not told counts as too large.
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
        """Let in whoever gives the password; of each address they are looked at one after the other."""
        address = request.client.host if request.client else ""
        brake = self._brakes[address] = self._brakes.pop(address, Brake())
        if len(self._brakes) > _MOST_ADDRESSES:
            self._brakes.pop(next(iter(self._brakes)))
        if brake.waiting >= _MOST_WAITING:
            return self._page(
                "Too many passwords from your address wait for their turn. Try again in a minute.", 429
            )
        if await brake.look(_equal(given, self._password or "")):
            self._brakes.pop(address, None)
            return self._let_in(request, "/")
        return RedirectResponse(f"{LOGIN}?wrong=1", 303)

    def _let_in(self, request: Request, to: str) -> Response:
        reply = RedirectResponse(to, 303)
        # No script can read it. Not strict: the first page is often opened from a terminal in a browser, which is
        # another site.
        reply.set_cookie(_cookie_name(request), self._ticket, httponly=True, samesite="lax")
        return reply

    def _page(self, problem: str, status: int = 200) -> Response:
        return HTMLResponse(render("login.html", asks_password=self.token is None, problem=problem), status)


def _equal(given: str, expected: str) -> bool:
    # Takes as long wherever the first wrong letter is; it compares letters beyond ASCII as bytes only.
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())


def _cookie_name(request: Request) -> str:
    port = _PORT.search(request.headers.get("host", ""))
    return f"{_COOKIE}-{port[1]}" if port else _COOKIE
