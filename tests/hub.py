"""A stand-in for the Hugging Face hub, which the real clients talk to over HTTP: ``python -m tests.hub DIR --port 8000``.

DIR has what ``main`` of each repository holds, in ``models/OWNER/NAME/`` and ``datasets/OWNER/NAME/``. Then, in another
shell, ``HF_ENDPOINT=http://127.0.0.1:8000 HF_HOME=NEW_FOLDER python train.py ...`` reads from it, and what is published
with ``HF_TOKEN=any`` is kept until the server ends.

Every file is sent as an ordinary one; of the transfers of large files (LFS, Xet), only the facts that the hub tells of
files of weights are imitated.
"""

import argparse
import base64
import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Files = dict[str, bytes]
_REPO = r"(?P<kind>models|datasets)/(?P<name>[^/]+/[^/]+)"


@dataclass
class Repository:
    """Commits by their hash, and the branches that point at them."""

    commits: dict[str, Files] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    private: bool = False

    def commit(self, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Let a branch point at a commit of these files, and return its hash."""
        parent = self.branches.get(branch, "")
        content = [parent, *(f"{path} {_oid(content)}" for path, content in sorted(files.items()))]
        commit = hashlib.sha1("\n".join(content).encode(), usedforsecurity=False).hexdigest()
        self.commits[commit], self.branches[branch] = dict(files), commit
        return commit

    def resolve(self, revision: str) -> str | None:
        """Return the commit of a branch or a commit; None where there is none."""
        return self.branches.get(revision, revision if revision in self.commits else None)


@dataclass
class Hub:
    """The repositories, and the lines of the requests that were made so far."""

    repositories: dict[tuple[str, str], Repository] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    url: str = ""

    def commit(self, kind: str, name: str, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Commit files, all that the branch then has, to a repository, which is made if it is new."""
        files = {
            ".gitattributes": b"*.safetensors filter=lfs\n",
            **files,
        }  # as every repository of the hub has it
        return self.repositories.setdefault((kind, name), Repository()).commit(files, branch)

    def add_folder(self, root: Path) -> None:
        """Commit every repository below a folder."""
        for folder in sorted(path for path in root.glob("*/*/*") if path.is_dir()):
            kind, owner, name = folder.relative_to(root).parts
            files = (file for file in sorted(folder.rglob("*")) if file.is_file())
            self.commit(
                kind, f"{owner}/{name}", {str(file.relative_to(folder)): file.read_bytes() for file in files}
            )


@contextlib.contextmanager
def serve(hub: Hub, port: int = 0) -> Iterator[Hub]:
    """Answer requests in a thread; ``hub.url`` is what HF_ENDPOINT has to be."""
    server = ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def do_GET(self) -> None:
        self._answer("GET")

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def do_POST(self) -> None:
        self._answer("POST")

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Keep the line of the request instead of printing it."""
        self.hub.requests.append(self.requestline)

    def _answer(self, method: str) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = self._read_chunks()
        for pattern, methods, work in _ROUTES:
            found = re.fullmatch(pattern, unquote(url.path).lstrip("/"))
            if found and method in methods:
                work(self, parse_qs(url.query), body, **found.groupdict())
                return
        self.send_json({"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"})

    def _read_chunks(self) -> bytes:
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def send_json(self, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.send_content(
            json.dumps(value).encode(), status, {"Content-Type": "application/json", **(headers or {})}
        )

    def send_content(self, content: bytes, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def find(self, kind: str, name: str, revision: str) -> tuple[str, Files] | None:
        """Return commit and files of a revision, or answer that there is none."""
        repository = self.hub.repositories.get((kind, name))
        commit = repository.resolve(revision) if repository else None
        if repository is None or commit is None:
            code = "RevisionNotFound" if repository else "RepoNotFound"
            self.send_json({"error": code}, 404, {"X-Error-Code": code, "X-Error-Message": f"{name}: {code}"})
            return None
        return commit, repository.commits[commit]


Query = dict[str, list[str]]


def _info(
    request: _Handler, query: Query, body: bytes, kind: str, name: str, revision: str | None = None
) -> None:
    if found := request.find(kind, name, revision or "main"):
        with_facts = query.get("blobs", ["false"])[0].lower() in ("true", "1")
        siblings = [
            {"rfilename": path, **(_facts(path, content) if with_facts else {})}
            for path, content in sorted(found[1].items())
        ]
        private = request.hub.repositories[kind, name].private
        facts = {"private": private, "gated": False, "disabled": False, "tags": [], "downloads": 0, "likes": 0}
        request.send_json({"_id": name, "id": name, "sha": found[0], "siblings": siblings, **facts})


def _facts(path: str, content: bytes) -> dict[str, Any]:
    large = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
    return {"blobId": _oid(content), "size": len(content), **({"lfs": large} if _is_large(path) else {})}


def _is_large(path: str) -> bool:
    return path.endswith((".safetensors", ".bin"))


def _refs(request: _Handler, query: Query, body: bytes, kind: str, name: str) -> None:
    if (kind, name) not in request.hub.repositories and not request.find(kind, name, "main"):
        return  # the error is sent
    branches = request.hub.repositories.get((kind, name), Repository()).branches
    listed = [
        {"name": branch, "ref": f"refs/heads/{branch}", "targetCommit": commit}
        for branch, commit in branches.items()
    ]
    request.send_json({"branches": listed, "tags": [], "converts": []})


def _tree(
    request: _Handler, query: Query, body: bytes, kind: str, name: str, revision: str, place: str | None = None
) -> None:
    if not (found := request.find(kind, name, revision)):
        return
    entries = _entries(found[1])
    below = f"{place}/" if place else ""
    deep = query.get("recursive", ["false"])[0].lower() in ("true", "1")
    wanted = [
        entry
        for path, entry in sorted(entries.items())
        if path.startswith(below) and (deep or "/" not in path.removeprefix(below))
    ]
    if below and not wanted:
        request.send_json({"error": "no such folder"}, 404, {"X-Error-Code": "EntryNotFound"})
        return
    request.send_json(wanted)


def _paths_info(request: _Handler, query: Query, body: bytes, kind: str, name: str, revision: str) -> None:
    if not (found := request.find(kind, name, revision)):
        return
    is_json = "json" in request.headers.get("Content-Type", "")
    asked = json.loads(body)["paths"] if is_json else parse_qs(body.decode()).get("paths", [])
    entries = _entries(found[1])
    request.send_json([entries[path] for path in asked if path in entries])


def _entries(files: Files) -> dict[str, dict[str, Any]]:
    entries = {
        path: {"type": "file", "path": path, "size": len(content), "oid": _oid(content)}
        for path, content in files.items()
    }
    folders = {str(parent) for path in files for parent in Path(path).parents} - {"."}
    return entries | {
        folder: {"type": "directory", "path": folder, "size": 0, "oid": _oid(folder.encode())}
        for folder in folders
    }


def _file(
    request: _Handler, query: Query, body: bytes, name: str, revision: str, path: str, kind: str | None = None
) -> None:
    if not (found := request.find(kind or "models", name, revision)):
        return
    commit, files = found
    if path not in files:
        headers = {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}
        request.send_json({"error": "Entry not found"}, 404, headers)
        return
    content = files[path]
    etag = hashlib.sha256(content).hexdigest() if _is_large(path) else _oid(content)
    headers = {"ETag": f'"{etag}"', "X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
    span = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
    if span is None:
        request.send_content(content, 200, headers)
        return
    first, last = int(span[1]), min(int(span[2] or len(content)), len(content) - 1)
    if first >= len(content):
        request.send_content(b"", 416, headers | {"Content-Range": f"bytes */{len(content)}"})
        return
    where = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
    request.send_content(content[first : last + 1], 206, headers | where)


def _create(request: _Handler, query: Query, body: bytes) -> None:
    asked = json.loads(body)
    name = f"{asked['organization']}/{asked['name']}"
    kind = f"{asked.get('type') or 'model'}s"
    if (kind, name) in request.hub.repositories:
        request.send_json(
            {"error": "You already created this model repo", "url": f"{request.hub.url}/{name}"}, 409
        )
        return
    request.hub.commit(kind, name, {})
    request.hub.repositories[kind, name].private = (
        asked.get("visibility") == "private" or asked.get("private") is True
    )
    request.send_json({"url": f"{request.hub.url}/{name}", "name": name})


def _branch(request: _Handler, query: Query, body: bytes, kind: str, name: str, branch: str) -> None:
    start = json.loads(body or b"{}").get("startingPoint") or "main"
    if not (found := request.find(kind, name, start)):
        return
    branches = request.hub.repositories[kind, name].branches
    if branch in branches:
        request.send_json({"error": "Reference already exists"}, 409)
        return
    branches[branch] = found[0]
    request.send_json({})


def _before_upload(request: _Handler, query: Query, body: bytes, kind: str, name: str, revision: str) -> None:
    found = request.find(kind, name, revision)
    if not found:
        return
    there = {path: _oid(content) for path, content in found[1].items()}
    paths = [file["path"] for file in json.loads(body)["files"]]
    request.send_json(
        {
            "files": [
                {"path": path, "uploadMode": "regular", "shouldIgnore": False, "oid": there.get(path)}
                for path in paths
            ]
        }
    )


def _commit(request: _Handler, query: Query, body: bytes, kind: str, name: str, revision: str) -> None:
    if not (found := request.find(kind, name, revision)):
        return
    files = dict(found[1])
    for line in body.splitlines():
        entry = json.loads(line)
        value = entry["value"]
        if entry["key"] == "file":
            files[value["path"]] = base64.b64decode(value["content"])
        elif entry["key"] == "deletedFile":
            del files[value["path"]]
    commit = request.hub.commit(kind, name, files, revision)
    url = f"{request.hub.url}/{name}/commit/{commit}"
    request.send_json({"success": True, "commitOid": commit, "commitUrl": url, "hookOutput": ""})


def _checked(request: _Handler, query: Query, body: bytes) -> None:
    request.send_json({"errors": [], "warnings": []})


def _oid(content: bytes) -> str:
    """Return the hash that git gives a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


_READ = ("GET", "HEAD")
_ROUTES = [
    (rf"api/{_REPO}", _READ, _info),
    (rf"api/{_REPO}/revision/(?P<revision>.+)", _READ, _info),
    (rf"api/{_REPO}/refs", _READ, _refs),
    (rf"api/{_REPO}/tree/(?P<revision>[^/]+)(/(?P<place>.+))?", _READ, _tree),
    (rf"api/{_REPO}/paths-info/(?P<revision>.+)", ("POST",), _paths_info),
    (rf"api/{_REPO}/branch/(?P<branch>.+)", ("POST",), _branch),
    (rf"api/{_REPO}/preupload/(?P<revision>.+)", ("POST",), _before_upload),
    (rf"api/{_REPO}/commit/(?P<revision>.+)", ("POST",), _commit),
    (r"api/repos/create", ("POST",), _create),
    (r"api/validate-yaml", ("POST",), _checked),
    (r"((?P<kind>datasets)/)?(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)", _READ, _file),
]


def main() -> None:
    """Serve a folder until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    hub = Hub()
    hub.add_folder(given.folder)
    with serve(hub, given.port), contextlib.suppress(KeyboardInterrupt):
        names = ", ".join(f"{kind}/{name}" for kind, name in hub.repositories)
        print(f"HF_ENDPOINT={hub.url} serves {names}; Ctrl-C ends it", flush=True)  # noqa: T201
        threading.Event().wait()


if __name__ == "__main__":
    main()
