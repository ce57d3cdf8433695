"""What the workbench is started with, and what its rooms share."""

from dataclasses import field
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from ucurve.fields import STRICT

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
_USUAL_RUNS = ("runs/demo/*", "runs/*")


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


@dataclass(frozen=True, config=STRICT, kw_only=True)
class WorkbenchSettings:
    """The keys of ``conf/workbench.yaml``.

    Attributes:
        projects: folder with one folder per project.
        runs: patterns of run folders; None for those of the demo, or else for all.
        host: address to listen on.
        password: asked of the browser before anything is shown; None asks for none.
    """

    projects: Path = Path("projects")
    runs: Annotated[tuple[str, ...] | None, BeforeValidator(_as_list)] = None
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 7860
    password: Annotated[str, Field(min_length=1)] | None = field(default=None, repr=False)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOCAL_HOSTS

    def run_patterns(self) -> tuple[str, ...]:
        """Return the patterns of run folders; none where nothing is named and nothing is there."""
        if self.runs is not None:
            return self.runs
        return next(((pattern,) for pattern in _USUAL_RUNS if any(Path().glob(pattern))), ())
