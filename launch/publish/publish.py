"""A finished run as a Hugging Face repository with a revision for every checkpoint: ``ucurve publish``.

``FOLDER/step512/`` is what the revision ``step512`` holds, ``FOLDER/main`` is the last checkpoint. With ``repo`` the
folder is also a cache of the hub: ``from_pretrained(repo, revision="step512", cache_dir=FOLDER)`` works offline.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from ucurve.config import check
from ucurve.errors import RunError, UserError, refuse_missing_folder
from ucurve.fields import format_names
from ucurve.huggingface.tokenizer_files import UNIGRAM_COUNTS
from ucurve.launch.publish.card import CURVE, README, write_card
from ucurve.launch.publish.upload import refuse_other_content, upload_revisions
from ucurve.progress import log_line
from ucurve.storage.facts import read_manifest
from ucurve.storage.files import contents, has_hash, sha256_file, sha256_json
from ucurve.storage.locks import new_output
from ucurve.storage.run_folder import MANIFEST, TOKENIZER, checkpoints
from ucurve.training.checkpoint_schedule import names_by_words
from ucurve.training.run_folder.config_file import load_settings, stored_config_sha256
from ucurve.training.verify import run_faults

MAIN = "main"


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class PublishSettings:
    """What to publish and where."""

    run: Annotated[str, Field(min_length=1)]
    out: Annotated[str, Field(min_length=1)]  # the folder that gets the revisions
    # ``USER/NAME`` on the hub; None where it has no name yet
    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")] | None
    upload: bool  # whether the revisions are sent to ``repo``
    private: bool  # whether the repository is for the eyes of its owner alone
    names: Literal["steps", "words"]  # what the names of the revisions count
    replace: bool  # whether what is in ``repo`` may be of another run

    @model_validator(mode="after")
    def _upload_needs_a_repo(self) -> "PublishSettings":
        if self.upload and self.repo is None:
            raise ValueError("upload=true needs repo=USER/NAME")
        if not self.upload and (self.private or self.replace):
            raise ValueError(f"{'private' if self.private else 'replace'}=true is for upload=true")
        return self


def publish_command(values: dict[str, object]) -> None:
    """Publish a run into a folder, and to the hub when that is asked for."""
    settings = check(PublishSettings, values)
    run, out = Path(settings.run), Path(settings.out)
    refuse_missing_folder("run", run)
    target = settings.repo if settings.upload else None
    names = revisions(run, settings.names)
    if target is not None and not settings.replace:
        refuse_other_content(target, [*names, MAIN], stored_config_sha256(run))
    if target is not None and out.exists():
        _check_same_publication(run, out, names)
        log_line(f"{out} is there already; its revisions are sent as they are")
    else:
        publish_run(run, out, names, settings.repo)
    if target is not None:
        upload_revisions(out, target, names, settings.private)
    print(f"{out}: revisions {', '.join([*names, MAIN])}")  # noqa: T201 - what came out


def publish_run(run: Path, out: Path, names: Sequence[str], repo: str | None = None) -> None:
    """Write the revisions of a finished run into a new folder; with ``repo`` it is a cache of the hub too.

    Raises:
        UserError: when the folder is there, lies in the run, or weights were removed.
        RunError: naming the faults of the run.
    """
    if out.exists():
        raise UserError(f"out={out} is there already; publishing needs a new folder")
    if out.resolve().is_relative_to(run.resolve()):
        raise UserError(f"out={out} lies in the run folder, which holds the run alone")
    faults = run_faults(run)
    if faults:
        problems = "\n  ".join(faults)
        raise RunError(f"{run} is not published, it has {len(faults)} fault(s)\n  {problems}")
    if without := [folder.name for folder in checkpoints(run) if not read_manifest(folder).has_weights]:
        raise UserError(
            f"{run}: the weights of {format_names(without)} were removed by prune, so it is not published"
        )
    with new_output(out) as temporary, TemporaryDirectory() as card:
        write_card(Path(card), run, names, repo)
        for folder, name in zip(checkpoints(run), names, strict=True):
            (temporary / name).mkdir()
            for file in [*_model_files(run, folder), *Path(card).iterdir()]:
                shutil.copyfile(file, temporary / name / file.name)
        (temporary / MAIN).symlink_to(names[-1], target_is_directory=True)
        if repo is not None:
            _lay_out_cache(temporary, repo, [*names, MAIN])


def revisions(run: Path, names: Literal["steps", "words"] = "steps") -> list[str]:
    """Return the names of a run's revisions in the order of the steps: ``step0`` first, or ``chck_0M``.

    Raises:
        UserError: for names in words of a run whose budget is in tokens.
    """
    steps = [read_manifest(folder).step for folder in checkpoints(run)]
    if names == "steps":
        return [f"step{step}" for step in steps]
    seen = load_settings(run).seen_per_step
    if isinstance(seen, int):
        raise UserError(
            f"names=words: the budget of {run} is in tokens; one in words, as tokens=100Mw, counts them"
        )
    return names_by_words(steps, seen)


def _model_files(run: Path, folder: Path) -> list[Path]:
    """Return the files of a checkpoint and, for linking functions such as SLOR, the counts of the run's tokens."""
    counts = run / TOKENIZER / UNIGRAM_COUNTS
    return [*(folder / name for name in [*read_manifest(folder).files, MANIFEST]), *([counts] * counts.is_file())]


def _lay_out_cache(out: Path, repo: str, names: list[str]) -> None:
    """Add the layout of the hub's cache: for each revision a file that names the folder of its snapshot."""
    place = out / f"models--{repo.replace('/', '--')}"
    for name in ("refs", "snapshots"):
        (place / name).mkdir(parents=True)
    for name in names:
        files = {path.name: sha256_file(path) for path in contents(out / name)}
        commit = sha256_json(files)[:40]  # a commit of Git is as long
        (place / "refs" / name).write_text(commit, encoding="utf-8")
        snapshot = place / "snapshots" / commit
        if not snapshot.exists():
            snapshot.symlink_to(Path("..", "..", name), target_is_directory=True)


def _check_same_publication(run: Path, out: Path, names: Sequence[str]) -> None:
    """Check that a folder has the revisions of this run, file by file; only the cards may have been changed."""
    for folder, revision in zip(checkpoints(run), names, strict=True):
        found = out / revision
        expected = {file.name: sha256_file(file) for file in _model_files(run, folder)}
        allowed = {*expected, README, CURVE}
        wrong = [name for name, digest in expected.items() if not has_hash(found / name, digest)]
        wrong += [path.name for path in contents(found) if path.name not in allowed] if found.is_dir() else []
        if wrong:
            raise UserError(f"out={out} is not what was published of {run}: {revision}/{wrong[0]} differs")
