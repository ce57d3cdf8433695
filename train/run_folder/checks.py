"""Checks that a run must pass before anything is written into its folder."""

import tempfile
from dataclasses import asdict
from pathlib import Path

from ucurve.config import plain
from ucurve.errors import DamagedError, UserError
from ucurve.storage.facts import RunFacts, read_run_facts
from ucurve.storage.run_folder import CONFIGURATION
from ucurve.token_stream.store import TokenStore
from ucurve.training.config import RunRequest, RunSettings
from ucurve.training.identity import config_sha256, differing_keys, pick_identity
from ucurve.training.run_folder.config_file import read_configuration, recall_settings

_LONGEST_NAME = 200  # a file system allows 255 bytes, and temporary names are longer


def check_writable(settings: RunRequest) -> None:
    """Check that the folders can be written to and that the run's name fits into a file name.

    Raises:
        UserError: naming the folder or the name.
    """
    for key, value in asdict(settings.paths).items():
        path = Path(value).absolute()
        # What is missing will be made below the nearest folder that is there.
        there = next(parent for parent in (path, *path.parents) if parent.exists())
        try:
            # os.access says yes of folders such as /proc.
            Path(tempfile.mkdtemp(prefix=".ucurve-", dir=there)).rmdir()
        except OSError as error:
            raise UserError(f"paths.{key}={value}: {there} is not a folder that can be written to") from error
    if len(settings.run_name.encode()) > _LONGEST_NAME:
        raise UserError(
            f"the run's name {settings.run_name!r} is longer than {_LONGEST_NAME} bytes; shorten name= or data.name="
        )


def check_text_has_bytes(store: TokenStore, where: str) -> None:
    """Check that the tokenizer knows some of the text; otherwise bits per byte would divide by zero.

    Raises:
        UserError: naming the corpus.
    """
    if not (store.unigram_counts * store.token_bytes).any():
        raise UserError(f"{where}: the tokenizer knows none of the text; every token is unknown or special")


def check_same_configuration(settings: RunRequest) -> None:
    """Check that the run folder, if it exists, holds a run of the same configuration.

    Raises:
        UserError: naming the keys that differ.
        DamagedError: when the run is of this configuration, and ``config.yaml`` was changed.
    """
    folder = settings.folder
    if not (folder / CONFIGURATION).exists():
        # Hidden files, such as the leftovers of a killed process, make a folder no other thing.
        if folder.exists() and (
            not folder.is_dir() or any(not path.name.startswith(".") for path in folder.iterdir())
        ):
            raise UserError(
                f"{folder} exists and is not a run of this suite: it holds no {CONFIGURATION}. Add name=SUFFIX"
            )
        return
    # A budget in words is compared by the tokens that it was found to be.
    wanted = plain((recall_settings(settings) or settings).identity())
    keys = differing_keys(pick_identity(read_configuration(folder)), wanted)
    facts = read_run_facts(folder)
    # The record says that this configuration was written, so the file has changed since.
    if keys and facts is not None and facts.config_sha256 == config_sha256(wanted):
        raise DamagedError(
            f"{folder / CONFIGURATION}: not what was written: {'; '.join(keys)}, and run.json says otherwise; restore "
            "it from a copy"
        )
    if keys:
        raise UserError(
            f"{folder} holds a run of another configuration; these keys differ: {'; '.join(keys)}. "
            "Give the values on the left to go on with it, or add name=SUFFIX to make a run of its own"
        )


def check_same_data(settings: RunSettings, store: TokenStore, facts: RunFacts) -> None:
    """Check that a run was trained and measured on the same tokens.

    Raises:
        UserError: giving both hashes.
    """
    folder = settings.folder
    held_out = store.held_out.facts.sha256 if store.held_out else ""
    then_and_now = {
        "was trained on other data: data_sha256": (facts.data_sha256, store.sha256),
        "has another held-out text: held_out.sha256": (
            facts.held_out.sha256 if facts.held_out else None,
            held_out,
        ),
    }
    for what, (then, now) in then_and_now.items():
        # What was not recorded cannot differ.
        if then not in (None, now):
            raise UserError(
                f"{folder} {what} {then[:12]} -> {now[:12] or 'none'} (data.path={settings.data.path}). Add name=SUFFIX"
            )
