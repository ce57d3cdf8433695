"""Archives of files that a test names."""

import io
import tarfile
import zipfile
from collections.abc import Iterable


def zipped(files: Iterable[tuple[str, str | bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of names with their content."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return packed.getvalue()


def tarred(
    files: Iterable[tuple[str, str | bytes]], mode: str = "w:gz", pax: dict[str, str] | None = None
) -> bytes:
    """A tar of names with their content."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:
        for name, content in files:
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size, member.pax_headers = len(data), pax or {}
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()
