"""What the workbench is started with, and what its rooms share."""

import os
from dataclasses import field
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.fields import STRICT, as_tuple
from ucurve.progress import log_line
from ucurve.storage.files import read_utf8

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
PASSWORD_VARIABLE = "UCURVE_WORKBENCH_PASSWORD"  # noqa: S105 - the name of one
_USUAL_RUNS = ("runs/demo/*", "runs/*")


@dataclass(frozen=True, config=STRICT, kw_only=True)
class WorkbenchSettings:
    """The keys of ``conf/workbench.yaml``."""

    projects: Path  # folder with one folder per project
    # patterns of run folders; None for those of the demo, or else for all
    runs: Annotated[tuple[str, ...] | None, BeforeValidator(as_tuple)]
    host: str  # address to listen on
    port: Annotated[int, Field(ge=0, le=65535)]
    # asked of the browser before anything is shown; without one there is a token in the address
    password: Annotated[str, Field(min_length=1)] | None = field(repr=False)
    password_file: Path | None  # a file that holds the password and nothing else

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOCAL_HOSTS

    def run_patterns(self) -> tuple[str, ...]:
        """Return the patterns of run folders; none where nothing is named and nothing is there."""
        if self.runs is not None:
            return self.runs
        return next(((pattern,) for pattern in _USUAL_RUNS if any(Path().glob(pattern))), ())


def find_password(settings: WorkbenchSettings) -> str | None:
    """Return the password that is given: by its key, in a file, or in the environment; None where there is none."""
    path = settings.password_file
    if path is None:
        given = os.environ.get(PASSWORD_VARIABLE) if settings.password is None else settings.password
        if given == "":
            raise UserError(f"{PASSWORD_VARIABLE} is set and empty; give it a password or unset it")
        return given
    if settings.password is not None:
        raise UserError("password and password_file are both given; give one of them")
    found = read_utf8(path).rstrip("\r\n")
    if not found or "\n" in found:
        raise UserError(f"password_file={path}: one line is expected, which is the password")
    if path.stat().st_mode & 0o077:
        log_line(
            f"password_file={path} can be read by other users of this machine; chmod 600 {path} keeps it to you"
        )
    return found
