"""What is answered: this machine's browser, from the workbench's own pages, once it was let in.

A page of another origin can make a browser send requests to this machine, and a name of its own can point here (DNS
rebinding), so hosts and origins are checked. What is open to all is decided by the path that the router sees, never by
an address that is put together from what a client says.
"""

import re
from collections.abc import Awaitable, Callable, Mapping

from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from ucurve.workbench.login import LOGIN, Login
from ucurve.workbench.settings import LOCAL_HOSTS, WorkbenchSettings

Next = Callable[[Request], Awaitable[Response]]

STATIC = "/static/"
_READING = ("GET", "HEAD")
_HOST = re.compile(
    r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+))(?::[0-9]{1,5})?", re.ASCII | re.IGNORECASE
)

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
    """Refuses what does not come from our own pages or was not let in, and sets the headers of every reply."""

    def __init__(self, app: ASGIApp, settings: WorkbenchSettings, login: Login) -> None:
        super().__init__(app)
        self._settings, self._login = settings, login

    async def dispatch(self, request: Request, call_next: Next) -> Response:
        """Answer a request, or refuse it."""
        reply = await self._answer(request, call_next)
        for name, value in HEADERS.items():
            reply.headers.setdefault(name, value)
        return reply

    async def _answer(self, request: Request, call_next: Next) -> Response:
        """Answer who is let in and what is open to all; others get the login, or the status 401 for a script."""
        if refusal := self._refusal(request):
            return PlainTextResponse(refusal, 403)
        path = request.scope["path"]
        if path.startswith(STATIC) or path == LOGIN:
            return await call_next(request)
        reads_page = request.method in _READING and "/api/" not in path
        if reads_page and (opened := self._login.open_address(request)):
            return opened
        if self._login.is_known(request):
            return await call_next(request)
        return RedirectResponse(LOGIN, 303) if reads_page else PlainTextResponse(self._login.first_step, 401)

    def _refusal(self, request: Request) -> str | None:
        """Say why a request is refused, or None."""
        host = request.headers.get("host", "")
        parts = _HOST.fullmatch(host)
        if parts is None:
            return f"{host[:80]!r} is not the name of a host"
        name = parts["six"] or parts["name"]
        if self._settings.is_local and name.lower() not in LOCAL_HOSTS:
            return f"the workbench answers to {', '.join(LOCAL_HOSTS)} and not to {name!r}"
        # Older browsers do not tell it. A link elsewhere may lead to a page, but not ask for data.
        site = request.headers.get("sec-fetch-site", "same-origin")
        if site not in ("same-origin", "none") and "/api/" in request.scope["path"]:
            return "a page of another origin asked; open the workbench itself"
        origin = request.headers.get("origin")
        if request.method not in _READING and origin not in (f"http://{host}", f"https://{host}"):
            return f"a change must come from the workbench's own pages, not from {origin!r}"
        return None
