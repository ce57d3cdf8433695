"""The files of jsPsych that stand in a page: fetched from the npm registry, kept in a cache, checked against hashes."""

import base64
import hashlib
import io
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pydantic.dataclasses import dataclass

from ucurve.errors import RunError, UserError, missing_folder
from ucurve.fields import STRICT
from ucurve.progress import log_line
from ucurve.storage.files import decode_utf8, new_file
from ucurve.yaml_files import read_yaml

_LISTED = Path(__file__).parent / "jspsych.yaml"
_PATIENCE = 120  # seconds for all downloads
_INSTEAD = "give jspsych=DIR, a folder with the unpacked packages, such as node_modules"


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Package:
    """A package of the npm registry at one version."""

    name: str
    version: str
    integrity: str  # of the archive: sha512- and the hash in Base64, as npm writes it
    file: str  # the file that is taken, inside the package
    sha256: str  # of this file

    @property
    def archive(self) -> str:
        """The name of the archive, as npm gives it."""
        return f"{self.name.removeprefix('@').replace('/', '-')}-{self.version}.tgz"


def read_scripts(folder: Path | None, cache: Path) -> list[str]:
    """Return the scripts of a page, in the order of loading, from unpacked packages or else from the cache."""
    packages = read_yaml(_LISTED, list[Package])
    if folder is not None:
        return [_read_unpacked(package, folder) for package in packages]
    return read_archives(packages, cache)


def read_archives(packages: Sequence[Package], cache: Path) -> list[str]:
    """Return the file of each package from its archive in the cache; what is missing there is fetched first."""
    missing = [package for package in packages if not (cache / package.archive).is_file()]
    if missing:
        _fetch(missing, cache)
    return [_read_archive(package, cache / package.archive) for package in packages]


def _fetch(packages: Sequence[Package], cache: Path) -> None:
    """Let npm, which knows the user's registry and proxies, download archives; none of their scripts run."""
    npm = shutil.which("npm")
    if npm is None:
        raise RunError(f"npm, which fetches the packages of jsPsych, is not on PATH; install Node.js, or {_INSTEAD}")
    names = [f"{package.name}@{package.version}" for package in packages]
    log_line(f"fetching {', '.join(names)} with npm")
    options = ["--silent", "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=20000"]
    with tempfile.TemporaryDirectory() as temporary:
        try:
            command = [npm, "pack", *options, f"--pack-destination={temporary}", *names]
            done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False, cwd=temporary)
        except subprocess.TimeoutExpired as error:
            raise RunError(f"npm did not answer within {_PATIENCE} s; try again, or {_INSTEAD}") from error
        if done.returncode:
            raise RunError(f"npm cannot fetch {', '.join(names)}; is there a network? Try again, or {_INSTEAD}")
        for package in packages:
            content = (Path(temporary) / package.archive).read_bytes()
            _check_integrity(package, content, "what npm fetched")
            with new_file(cache / package.archive) as kept:
                kept.write_bytes(content)


def _check_integrity(package: Package, content: bytes, where: str) -> None:
    found = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
    if found != package.integrity:
        raise UserError(
            f"{where}: not {package.name} {package.version} as published (its hash is {found}, "
            f"{package.integrity} is expected)"
        )


def _read_archive(package: Package, path: Path) -> str:
    content = path.read_bytes()
    _check_integrity(package, content, f"{path}; remove this file")
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        member = archive.extractfile(f"package/{package.file}")
        script = b"" if member is None else member.read()
    return _checked(package, script, path)


def _read_unpacked(package: Package, folder: Path) -> str:
    if not folder.is_dir():
        raise missing_folder("jspsych", folder)
    path = folder / package.name / package.file
    if not path.is_file():
        raise UserError(f"jspsych: no file {path}; it comes from npm install {package.name}@{package.version}")
    return _checked(package, path.read_bytes(), path)


def _checked(package: Package, script: bytes, path: Path) -> str:
    if hashlib.sha256(script).hexdigest() != package.sha256:
        raise UserError(f"{path}: not the {package.file} of {package.name} {package.version}, the version that is used")
    return decode_utf8(script, str(path))
