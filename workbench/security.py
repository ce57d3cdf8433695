"""Who may ask: this machine's browser, from the workbench's own pages, and with the password where there is one.

A page of another origin can make a browser send requests to this machine, and a name of its own can point here (DNS
rebinding). So the host that was asked for must be known, and what changes something must come from our own pages.
"""

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qs, urlsplit

from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from workbench.settings import LOCAL_HOSTS, WorkbenchSettings

Next = Callable[[Request], Awaitable[Response]]

LOGIN = "/login"
STATIC = "/static/"
_COOKIE = "ucurve-workbench"
_READING = ("GET", "HEAD")
_LARGEST_FORM = 10_000  # bytes of the form with the password
_WRONG_SECONDS = 1.0  # before a wrong password is answered, so that guessing takes long

_POLICY = "; ".join([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",  # Vega adds a style element to the page
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
])  # fmt: skip
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without any, browsers send a form with the origin null
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Gate(BaseHTTPMiddleware):
    """Refuses what does not come from our own pages, asks for the password, and sets the headers of every reply."""

    def __init__(self, app: object, settings: WorkbenchSettings) -> None:
        super().__init__(app)  # type: ignore[arg-type]
        self._settings = settings
        self._ticket = secrets.token_urlsafe(32)

    async def dispatch(self, request: Request, call_next: Next) -> Response:
        """Answer a request, or refuse it."""
        reply = await self._answer(request, call_next)
        for name, value in HEADERS.items():
            if name not in reply.headers:
                reply.headers[name] = value
        return reply

    async def _answer(self, request: Request, call_next: Next) -> Response:
        if refusal := self._refusal(request):
            return PlainTextResponse(refusal, 403)
        path = request.url.path
        if self._settings.password is None or path.startswith(STATIC) or self._has_ticket(request):
            return await call_next(request)
        if path == LOGIN:
            return await self._log_in(request) if request.method == "POST" else await call_next(request)
        if request.method in _READING and "/api/" not in path:
            return RedirectResponse(LOGIN, 303)
        return PlainTextResponse("the password is asked for first: reload the page", 401)

    def _refusal(self, request: Request) -> str | None:
        """Say why a request is refused, or None."""
        host = request.headers.get("host", "")
        name = urlsplit(f"//{host}").hostname or ""
        if self._settings.is_local and name not in LOCAL_HOSTS:
            return f"the workbench answers to {', '.join(LOCAL_HOSTS)} and not to {name!r}"
        if request.headers.get("sec-fetch-site", "same-origin") == "cross-site" and "/api/" in request.url.path:
            return "a page of another origin asked; open the workbench itself"
        origin = request.headers.get("origin")
        if request.method not in _READING and (origin is None or urlsplit(origin).netloc != host):
            return f"a change must come from the workbench's own pages, not from {origin!r}"
        return None

    def _has_ticket(self, request: Request) -> bool:
        return hmac.compare_digest(request.cookies.get(_COOKIE, "").encode(), self._ticket.encode())

    async def _log_in(self, request: Request) -> Response:
        if int(request.headers.get("content-length") or _LARGEST_FORM + 1) > _LARGEST_FORM:
            return PlainTextResponse("the form is too large", 413)
        fields = parse_qs((await request.body()).decode(errors="replace"))
        given, expected = fields.get("password", [""])[0], self._settings.password or ""
        if not hmac.compare_digest(given.encode(), expected.encode()):
            await asyncio.sleep(_WRONG_SECONDS)
            return RedirectResponse(f"{LOGIN}?wrong=1", 303)
        reply = RedirectResponse("/", 303)
        reply.set_cookie(_COOKIE, self._ticket, httponly=True, samesite="strict")
        return reply
