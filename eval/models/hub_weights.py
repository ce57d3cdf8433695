"""Weights of a model of the hub: known by what the hub lists, fetched when they are needed, and removed again."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from filelock import Timeout

from ucurve.errors import DamagedError
from ucurve.huggingface import pretrained
from ucurve.huggingface.foreign_code import WEIGHT_FILES, Weights, weight_files
from ucurve.storage.files import sha256_file
from ucurve.storage.locks import file_lock


@dataclass(frozen=True)
class HubFile:
    """A file as the hub lists it."""

    name: str
    sha256: str
    size: int  # bytes


@dataclass(frozen=True)
class HubWeights:
    """The weights of one commit of a repository, whose small files are in the cache already."""

    model: str
    revision: str | None  # as it was asked for
    folder: Path  # of the commit in the cache
    files: tuple[HubFile, ...]  # those that are loaded

    @property
    def name(self) -> str:
        """What messages call them."""
        return self.model if self.revision is None else f"{self.model} {self.revision}"

    def missing(self) -> list[HubFile]:
        """Return the files that are not in the folder."""
        return [file for file in self.files if not (self.folder / file.name).exists()]

    def bytes_to_fetch(self) -> dict[str, int]:
        """Return the sizes of the files that no commit in the cache has, by their hashes."""
        blobs = self.folder.parents[1] / "blobs"
        return {file.sha256: file.size for file in self.missing() if not (blobs / file.sha256).exists()}

    def fetch(self, quietly: bool = False) -> None:
        """Fetch the files that are missing, and compare all with what the hub lists; it raises many errors."""
        for file in self.missing():
            pretrained.fetch_file(self.model, file.name, self.folder.name, quietly)
        for file in self.files:
            path = self.folder / file.name
            if sha256_file(path) != file.sha256:
                raise DamagedError(
                    f"{path}: not the file that the hub has; delete {path.resolve()} to fetch it again"
                )

    def remove_parts(self) -> None:
        """Remove what a killed process has fetched of a file, which nobody would go on with."""
        repository = self.folder.parents[1]
        for file in self.files:
            parts = [*repository.glob(f"blobs/{file.sha256}*.incomplete")]
            lock = repository.parent / ".locks" / repository.name / f"{file.sha256}.lock"
            if parts and lock.exists():
                with suppress(Timeout), file_lock(lock, timeout=0):  # held by who fetches it
                    for part in parts:
                        part.unlink(missing_ok=True)

    def remove(self, names: Iterable[str]) -> None:
        """Remove files from the folder, and from the disk those that no other commit in the cache has."""
        for name in names:
            stored = (self.folder / name).resolve()
            (self.folder / name).unlink(missing_ok=True)
            if not any(other.resolve() == stored for other in self.folder.parent.glob("*/*")):
                stored.unlink(missing_ok=True)


def list_weights(model: str, revision: str | None, weights: Weights) -> tuple[str, list[HubFile]] | None:
    """Return the commit of a revision with its files of weights; None without network, or where a hash is not listed.

    Raises:
        HfHubHTTPError: when the hub answers that it does not have or give the revision.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    try:
        listed = HfApi().model_info(model, revision=revision, files_metadata=True)
    except HfHubHTTPError:
        raise
    except Exception:  # of several libraries: no network, no answer, offline mode
        return None
    found = [file for file in listed.siblings or () if fnmatch(file.rfilename, WEIGHT_FILES[weights])]
    files = [HubFile(file.rfilename, file.lfs.sha256, file.lfs.size) for file in found if file.lfs is not None]
    return (str(listed.sha), files) if files and len(files) == len(found) else None


def loaded_weights(
    model: str, revision: str | None, folder: Path, files: Collection[HubFile], weights: Weights
) -> HubWeights:
    """Choose the files that are loaded, by the index of shards in the folder."""
    names = weight_files(folder, {file.name for file in files}, weights)
    return HubWeights(model, revision, folder, tuple(file for file in files if file.name in names))
