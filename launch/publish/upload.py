"""Uploads published revisions to the Hugging Face hub, a branch for each; the only file that writes there."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from ucurve.errors import RunError
from ucurve.progress import log_line


def upload_revisions(folder: Path, repo: str, revisions: Sequence[str]) -> None:
    """Upload the folder of each revision, and ``main`` last, to its branch; after a failure the same call goes on."""
    from huggingface_hub import HfApi

    hub = HfApi()
    with _named(repo, "the repository"):
        hub.create_repo(repo, exist_ok=True)
    for revision in [*revisions, "main"]:
        with _named(repo, f"the revision {revision}"):
            if revision != "main":
                hub.create_branch(repo, branch=revision, exist_ok=True)
            place = (folder / revision).resolve()
            hub.upload_folder(
                repo_id=repo, folder_path=place, revision=revision, commit_message=f"The checkpoint {place.name}",
                delete_patterns="*",  # of files that the revision has and the folder has not
            )  # fmt: skip
        log_line(f"{repo}: {revision} is there")


@contextlib.contextmanager
def _named(repo: str, what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the hub's client raises errors of several libraries
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise RunError(f"{repo}: the hub does not take {what} ({reason}); the same command goes on") from error
