"""Uploads published revisions to the Hugging Face hub, a branch for each; the only file that writes there."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from ucurve.errors import RunError, UserError, first_line
from ucurve.huggingface.pretrained import fetch
from ucurve.progress import log_line
from ucurve.storage.files import read_json_or_empty
from ucurve.storage.run_folder import MANIFEST

_SHOWN = 3  # files that a message names
_OF_THE_HUB = ".gitattributes"  # in every repository


def refuse_other_content(repo: str, revisions: Sequence[str], config_sha256: str) -> None:
    """Refuse with a ``UserError`` a repository of which a revision holds files, and no manifest of this run."""
    from huggingface_hub import HfApi

    hub = HfApi()
    with _named(repo, "does not say what is in it"):
        refs = hub.list_repo_refs(repo).branches if hub.repo_exists(repo) else []
        files = {
            ref.name: sorted({*hub.list_repo_files(repo, revision=ref.name)} - {_OF_THE_HUB})
            for ref in refs
            if ref.name in revisions
        }
        others = []
        for name, there in files.items():
            manifest = fetch(repo, [MANIFEST], name) / MANIFEST if MANIFEST in there else None
            is_ours = manifest and read_json_or_empty(manifest).get("config_sha256") == config_sha256
            others += [name] if there and not is_ours else []
    if others:
        raise UserError(
            f"repo={repo}: {others[0]} holds {', '.join(files[others[0]][:_SHOWN])}, and no {MANIFEST} of this run "
            f"(config_sha256 {config_sha256[:12]}), so that sending the run would remove what is there. Name another "
            "repository; replace=true puts the run in its place"
        )


def upload_revisions(folder: Path, repo: str, revisions: Sequence[str], private: bool = False) -> None:
    """Upload the folder of each revision, and ``main`` last, to its branch; after a failure the same call goes on.

    Raises:
        UserError: The repository is to be private, and there is a public one.
    """
    from huggingface_hub import HfApi

    hub = HfApi()
    with _named(repo, "does not take the repository"):
        hub.create_repo(repo, exist_ok=True, private=private or None)  # None is what the account is set to
        is_public = private and not hub.model_info(repo).private
    if is_public:
        raise UserError(
            f"private=true: {repo} is there already and public; change that in its settings on the hub"
        )
    for revision in [*revisions, "main"]:
        with _named(repo, f"does not take the revision {revision}"):
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
        raise RunError(f"{repo}: the hub {what} ({first_line(error)}); the same command goes on") from error
