"""Which commit a revision of a repository of the hub is, so that what was read can be recorded, and read again."""

import functools
from collections.abc import Sequence
from typing import Literal

from ucurve.huggingface.pretrained import fetch

_SECONDS = 10.0  # for the hub to answer


@functools.cache
def find_commit(
    name: str,
    kind: Literal["model", "dataset"],
    revision: str | None = None,
    patterns: Sequence[str] = ("README.md", ".gitattributes"),  # every repository has one of them
    online: bool = True,
) -> str:
    """Return the commit that a revision of ``owner/name`` is, and fetch some files of it; None is ``main``.

    Where the hub is out of reach, its cache answers: with the commit that the revision was when those files were last
    fetched. A process asks once, so that all runs of a grid read the same commit.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    if not online:
        return fetch(name, patterns, revision, kind, online=False).name
    try:
        HfApi().repo_info(name, repo_type=kind, revision=revision, timeout=_SECONDS)
    except (RepositoryNotFoundError, RevisionNotFoundError):
        raise
    except Exception as unreachable:  # errors of several libraries: no network, no answer, offline mode
        try:
            return fetch(name, patterns, revision, kind, online=False).name
        except Exception:
            raise unreachable from None
    return fetch(name, patterns, revision, kind).name
