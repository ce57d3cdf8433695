"""The command ``workbench``: checks its settings, opens the rooms and listens until Ctrl-C."""

import asyncio
import contextlib
import itertools
import logging
import os
import socket
import sys
from collections.abc import Iterator

from ucurve.config import check
from ucurve.errors import RunError, UserError
from ucurve.storage.run_folder import match_folders
from ucurve.workbench.settings import PASSWORD_VARIABLE, WorkbenchSettings, find_password

_END_SECONDS = 3  # that requests have to be answered in after Ctrl-C or SIGTERM


def workbench_command(values: dict[str, object]) -> None:
    """Open the workbench and answer until Ctrl-C."""
    settings = check(WorkbenchSettings, values)
    password = find_password(settings)
    if not settings.is_local and password is None:
        raise UserError(
            f"host={settings.host} can be reached from other machines; give a password with it: password_file=FILE, or "
            f"the variable {PASSWORD_VARIABLE}"
        )
    for pattern in itertools.filterfalse(match_folders, settings.runs or ()):
        _say(f"no run folder matches {pattern!r} yet; those that come appear by themselves")
    with _naming_the_extra():
        import uvicorn

        from ucurve.workbench.login import Login
    logging.getLogger("uvicorn.error").addFilter(_is_no_cancelled_request)
    listener, login = _listen(settings), Login(password)
    host, port = listener.getsockname()[:2]
    token = f"/?token={login.token}" if login.token else ""
    _say(f"workbench: http://{f'[{host}]' if ':' in host else host}:{port}{token}")
    # Read by NumPy when it is imported: threads of its own for small matrices cost more than they save.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with _naming_the_extra():  # the imports that take seconds; a browser that asks meanwhile waits for the answer
        from ucurve.workbench.server import make_app, make_rooms
    app = make_app(settings, make_rooms(settings), login)
    _say("Open this address in a browser, with all of it. Ctrl-C ends the workbench; what was typed is kept.")
    config = uvicorn.Config(app, log_level="warning", server_header=False, timeout_graceful_shutdown=_END_SECONDS)
    server = uvicorn.Server(config)
    server.run(sockets=[listener])
    if not server.started:  # uvicorn has logged the reason
        raise RunError("the workbench did not start")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextlib.contextmanager
def _naming_the_extra() -> Iterator[None]:
    """Say of a library that is missing how it is installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UserError(
            f"the workbench needs {error.name}; install it with: pip install 'ucurve[workbench]'"
        ) from error


def _is_no_cancelled_request(record: logging.LogRecord) -> bool:
    """Leave out the traceback of a request that was at work when the server ended; a line says that there was one."""
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


def _listen(settings: WorkbenchSettings) -> socket.socket:
    """Take the address and its port, before the imports that take seconds."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    # Connections of a workbench that has just ended keep its port for a minute.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen()  # so that a browser that is quicker than the server waits
    except OSError as error:
        listener.close()
        raise UserError(
            f"host={settings.host} port={settings.port}: {error.strerror}; give another port="
        ) from error
    return listener
