"""Requests and replies of the rooms: JSON in, JSON out, and errors as a message that the page shows."""

import asyncio
import contextlib
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import NoReturn, TypeVar

import numpy as np
import pandas as pd
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from ucurve.errors import UcurveError, UserError

Values = dict[str, object]
Handler = Callable[[Values], object]
Endpoint = Callable[[Request], Awaitable[Response]]
Given = TypeVar("Given")
Made = TypeVar("Made")

LARGEST_BODY = 24 * 1024 * 1024  # bytes of one request; the answers of a questionnaire are the largest


class ConflictError(UserError):
    """A change that would overwrite another one; ``details`` are both versions, for the page."""

    def __init__(self, message: str, details: Values) -> None:
        super().__init__(message)
        self.details = details


def json_route(handler: Handler) -> Endpoint:
    """Turn a function from values to a JSON value into an endpoint.

    The values are those of the path, of the query and of the JSON object in the body. The function runs in a thread of
    its own, so that others are answered meanwhile. A ``UserError`` becomes status 400, a ``ConflictError`` 409, any
    other error of ours and of the disk 500; each is a JSON object with ``error``, the message.
    """

    async def endpoint(request: Request) -> Response:
        try:
            values = {**request.query_params, **await _body(request), **request.path_params}
            return _Json(await in_thread(handler, values))
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except ConflictError as error:
            return _Json({"error": str(error), **error.details}, 409)
        except UnicodeEncodeError as error:
            half = error.object[error.start : error.end]
            return _Json({"error": f"a text holds half a letter ({half!r}), which no file can hold"}, 400)
        except (UcurveError, OSError) as error:
            return _Json({"error": str(error)}, 400 if isinstance(error, UserError) else 500)

    return endpoint


async def in_thread(work: Callable[[Given], Made], given: Given) -> Made:
    """Run a function in a thread of its own, which does not hold up the end of the server."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Made] = loop.create_future()

    def answer(finish: Callable[[], None]) -> None:
        if not result.done():  # the request may have been cancelled
            finish()

    def run() -> None:
        try:
            finish = partial(result.set_result, work(given))
        except BaseException as error:  # whatever it is, else the request would wait for ever
            finish = partial(result.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(answer, finish)

    threading.Thread(target=run, daemon=True).start()
    return await result


@contextlib.contextmanager
def alone(lock: threading.Lock, message: str) -> Iterator[None]:
    """Hold a lock; where another request holds it, refuse with the message."""
    if not lock.acquire(blocking=False):
        raise UserError(message)
    try:
        yield
    finally:
        lock.release()


def text_of(values: Mapping[str, object], name: str) -> str:
    """Return a text that a request must give."""
    value = values.get(name)
    if not isinstance(value, str):
        raise UserError(f"the request gives no text {name!r}; found {value!r}")
    return value


def whole_of(values: Mapping[str, object], name: str, otherwise: int | None = None) -> int:
    """Return a whole number that a request gives."""
    given = values.get(name, otherwise)
    try:
        return int(str(given))
    except ValueError as error:
        raise UserError(f"{name}={str(given)[:80]!r} is not a whole number") from error


class _Json(JSONResponse):
    """Writes a value as JSON; numbers that JSON does not have become null."""

    def render(self, content: object) -> bytes:
        return json.dumps(_plain(content), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _plain(value: object) -> object:
    """Turn numpy's and pandas' values into those of JSON."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return None if value is pd.NA or value is pd.NaT else value


async def _body(request: Request) -> Values:
    """Read the JSON object of a request."""
    if request.method in ("GET", "HEAD"):
        return {}
    # Counted as it comes, since a request need not tell its length.
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > LARGEST_BODY:
            raise UserError(f"the request is larger than {LARGEST_BODY // 1024**2} MB, more than is taken")
    try:
        value = json.loads(data.decode() or "{}", parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise UserError(f"the request is not JSON: {str(error)[:200]}") from error
    if not isinstance(value, dict):
        raise UserError("the request is not a JSON object")
    return value


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python's reader would take."""
    raise ValueError(f"{name} is not a number in JSON")
