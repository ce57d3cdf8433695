"""What keeps a run from starting: each check names what is wrong before anything is written."""

import os
from dataclasses import asdict
from pathlib import Path

from train.config import RunSettings, config_sha256, differing_keys, identity_of
from train.data.store import TokenStore
from train.run_folder.config_file import read_configuration
from train.run_folder.records import read_record
from ucurve.config import plain
from ucurve.errors import DamagedError, UserError
from ucurve.storage.run_folder import CONFIGURATION, read_run_record

_LONGEST_NAME = 200  # a file system allows 255 bytes, and temporary names are longer


def refuse_unwritable(settings: RunSettings) -> None:
    """Refuse folders that cannot be written to and names that no file system takes.

    Raises:
        UserError: naming the key.
    """
    for key, value in asdict(settings.paths).items():
        path = Path(value).absolute()
        there = next(parent for parent in (path, *path.parents) if parent.exists())
        if not there.is_dir() or not os.access(there, os.W_OK):
            raise UserError(f"paths.{key}={value}: {there} is no folder that can be written to")
    if len(settings.run_name.encode()) > _LONGEST_NAME:
        raise UserError(
            f"the run's name {settings.run_name!r} is longer than {_LONGEST_NAME} bytes; shorten name= or data.name="
        )


def refuse_text_without_bytes(store: TokenStore, where: str) -> None:
    """Refuse a text that the tokenizer knows nothing of: there would be no bytes to divide the loss by.

    Raises:
        UserError: naming the corpus.
    """
    if not (store.unigram_counts * store.token_bytes).any():
        raise UserError(f"{where}: the tokenizer knows none of the text; every token is unknown or special")


def refuse_other_configuration(folder: Path, settings: RunSettings) -> None:
    """Refuse a folder that holds a run of another configuration, or something that is no run.

    Raises:
        UserError: naming the keys that differ.
        DamagedError: when the run is of this configuration, and ``config.yaml`` or ``run.json`` was changed.
    """
    if not (folder / CONFIGURATION).exists():
        _refuse_foreign_folder(folder)
        return
    wanted = plain(settings.identity())
    keys = differing_keys(identity_of(read_configuration(folder)), wanted)
    if keys and read_run_record(folder).get("config_sha256") == config_sha256(wanted):
        raise DamagedError(
            f"{folder / CONFIGURATION}: not what was written: {'; '.join(keys)}, and run.json says otherwise; restore "
            "it from a copy"
        )
    if keys:
        raise UserError(
            f"{folder} holds a run of another configuration; these keys differ: {'; '.join(keys)}. "
            "Add name=SUFFIX to make a run of its own"
        )


def refuse_other_data(folder: Path, settings: RunSettings, data_sha256: str) -> None:
    """Refuse a folder that was trained on another token stream under the same name.

    Raises:
        UserError: giving both hashes.
    """
    record = read_record(folder)
    if record is not None and record["data_sha256"] != data_sha256:
        raise UserError(
            f"{folder} was trained on other data: data_sha256 {record['data_sha256'][:12]} -> {data_sha256[:12]} "
            f"(data.path={settings.data.path}). Add name=SUFFIX"
        )


def _refuse_foreign_folder(folder: Path) -> None:
    if not folder.exists():
        return
    if not folder.is_dir() or any(not path.name.startswith(".") for path in folder.iterdir()):
        raise UserError(f"{folder} exists and is no run of this suite: it holds no {CONFIGURATION}. Add name=SUFFIX")
