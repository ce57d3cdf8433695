"""Files whose SHA-256 a record holds: those of a checkpoint in its manifest, a run's own ones in ``run.json``."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from ucurve.errors import DamagedError
from ucurve.files import sha256_file
from ucurve.sealed import RECORD

FILES = "files"  # of run.json: the SHA-256 of config.yaml and of every file of tokenizer/
_BEFORE = "files_before"  # while a file is replaced: what is accepted in its place as well
TOKENIZER = "tokenizer"
METRICS = "metrics.jsonl"
METRICS_SHA256 = "metrics_sha256"  # of all lines in run.json when the run is finished; of those so far in a state


def listed_faults(folder: Path, listed: Mapping[str, str], found: Collection[str], by: str) -> list[str]:
    """Name the files of a folder that are missing, not listed, or not what was listed.

    Args:
        folder: the folder.
        listed: SHA-256 by name, of the files that should be there.
        found: names of what is there.
        by: what lists them, for messages.
    """
    problems = [f"{folder / name}: missing" for name in sorted(set(listed) - set(found))]
    problems += [f"{folder / name}: not in {by}" for name in sorted(set(found) - set(listed))]
    for name in sorted(set(found) & set(listed)):
        if not (folder / name).is_file() or sha256_file(folder / name) != listed[name]:
            problems.append(f"{folder / name}: its hash is not {by}'s")
    return problems


def refuse_faults(problems: Iterable[str], advice: str) -> None:
    """Refuse to go on where there are faults.

    Raises:
        DamagedError: with all of them, and what to do.
    """
    found = list(problems)
    if found:
        raise DamagedError("; ".join(found) + f"; {advice}")


def own_faults(run: Path, record: Mapping[str, Any], parts: Collection[str] | None = None) -> list[str]:
    """Name what is not as ``run.json`` says in ``config.yaml`` and ``tokenizer/``; nothing where it does not say.

    Args:
        run: run folder.
        record: ``run.json``.
        parts: names of files, or ``tokenizer`` for all that is in that folder; None for all.
    """
    if FILES not in record:  # an older version wrote it
        return []
    accepted = record[FILES] | {
        name: digest
        for name, digest in record.get(_BEFORE, {}).items()
        if (run / name).is_file() and sha256_file(run / name) == digest
    }
    tokenizer = run / TOKENIZER
    if not tokenizer.is_dir() and (parts is None or any(name.startswith(TOKENIZER) for name in parts)):
        return [f"{tokenizer}: missing"]
    inside = {f"{TOKENIZER}/{path.name}" for path in tokenizer.iterdir()} if tokenizer.is_dir() else set()
    found = {name for name in accepted if (run / name).exists()} | inside

    def wanted(name: str) -> bool:
        return parts is None or name in parts or (TOKENIZER in parts and name.startswith(f"{TOKENIZER}/"))

    listed = {name: digest for name, digest in accepted.items() if wanted(name)}
    return listed_faults(run, listed, set(filter(wanted, found)), "run.json")


def replacing(record: Mapping[str, Any], run: Path, name: str, digest: str) -> dict[str, Any]:
    """Return the record under which a file of the run may be replaced: what is there and what comes are accepted.

    Args:
        record: ``run.json``, with ``files``.
        run: run folder.
        name: of the file.
        digest: SHA-256 of what comes.
    """
    accepted = {record[FILES].get(name), record.get(_BEFORE, {}).get(name)}
    there = sha256_file(run / name) if (run / name).is_file() else None
    before = {name: there} if there in accepted and there != digest else {}
    rest = {key: value for key, value in record.items() if key != _BEFORE}
    return rest | {FILES: {**record[FILES], name: digest}} | ({_BEFORE: before} if before else {})


def stored_record(run: Path) -> dict[str, Any]:
    """Read ``run.json``; an empty record where there is none.

    Raises:
        DamagedError: when it is not what was written.
    """
    path = run / "run.json"
    return RECORD.read_older(path) if path.exists() else {}
