"""Which commit a revision of a repository of the hub is, so that what was read can be recorded, and read again."""

import functools
from collections.abc import Sequence
from typing import Literal

from ucurve.errors import UserError
from ucurve.huggingface.pretrained import fetch
from ucurve.invocation import command

_SECONDS = 10.0  # for the hub to answer
_IN_EVERY = ("README.md", ".gitattributes")  # one of them is in every repository


@functools.cache
def find_commit(
    name: str,
    kind: Literal["model", "dataset"],
    revision: str | None = None,
    patterns: Sequence[str] = _IN_EVERY,
    online: bool = True,
) -> str:
    """Return the commit that a revision of ``owner/name`` is, and fetch some files of it; None is ``main``.

    Where the hub is out of reach, its cache answers: with the commit that the revision was when those files were last
    fetched. A process asks once, so that all runs of a grid read the same commit. Errors are those of several
    libraries.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    if not online:
        return fetch(name, patterns, revision, kind, online=False).name
    try:
        HfApi().repo_info(name, repo_type=kind, revision=revision, timeout=_SECONDS)
    # The hub has answered, so the cache is not asked.
    except (RepositoryNotFoundError, RevisionNotFoundError):
        raise
    except Exception as unreachable:  # errors of several libraries: no network, no answer, offline mode
        try:
            return fetch(name, patterns, revision, kind, online=False).name
        except Exception:
            raise unreachable from None  # this says more than that the cache lacks the files
    return fetch(name, patterns, revision, kind).name


def pin_commit(
    key: str,
    name: str,
    kind: Literal["model", "dataset"],
    revision: str | None,
    patterns: Sequence[str] = _IN_EVERY,
    online: bool = True,
) -> str | None:
    """Return the commit of the repository that a key of training names; offline, None for one the cache lacks."""
    try:
        return find_commit(name, kind, revision, patterns, online)
    except Exception as error:  # the hub's client raises errors of several libraries
        if not online:
            return None
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        at = f" at the revision {revision!r}" if revision else ""
        raise UserError(
            f"{key}={name} cannot be fetched from the hub{at} ({reason}). Nothing was made. These lines need no "
            f"network:\n  {command('train', 'model=14m tokens=10M tokenizer=char data.path=TEXTS')}   "
            f"(a file or folder of your own text)\n  {command('train', 'experiment=demo')}"
        ) from error
