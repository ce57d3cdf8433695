"""Projects: folders of templates, a vocabulary and phrases, as ``generate.py source=templates`` reads them."""

import hashlib
import re
import shutil
from importlib.resources import as_file, files
from pathlib import Path

from ucurve.errors import UserError, unknown_name
from ucurve.storage.files import read_utf8, readable_json, write_text
from ucurve.storage.locks import file_lock
from ucurve.workbench.replies import ConflictError

VOCABULARY, PHRASES = "vocabulary.tsv", "phrases.json"
DEMO = "demo"
_TEMPLATES = "templates"
QUESTIONNAIRES = "questionnaires"  # a folder beside the projects, of another room
_OWN = ".workbench"  # drafts, locks and what was scored, in each project
_NAME = re.compile(r"[\w-][\w.-]{0,79}")
_COLUMNS = "expression\tpos\n"


class Project:
    """A folder with ``templates/*.json``, ``vocabulary.tsv`` and ``phrases.json``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name
        self.vocabulary = folder / VOCABULARY
        self.phrases = folder / PHRASES
        self.templates = folder / _TEMPLATES
        self.drafts = folder / _OWN / "drafts"  # what was typed and is not saved
        self.scoring = folder / _OWN / "scoring"  # what was asked to be scored, and what the scorer printed
        self.made = folder / "made"  # the benchmarks that were made here

    def template(self, name: str) -> Path:
        """Return where the template of a name is or would be."""
        return self.templates / f"{check_name('template', name)}.json"

    def template_names(self) -> list[str]:
        """List the templates."""
        return sorted(path.stem for path in self.templates.glob("*.json"))


def list_projects(root: Path) -> list[Project]:
    """List the projects of a folder, by name; the first time, the demo's is made."""
    if not root.exists():
        with as_file(files("ucurve.templates") / "demo_grammar") as grammar:
            shutil.copytree(grammar, root / DEMO, ignore=shutil.ignore_patterns("patterns.json"))
    return [
        Project(path) for path in sorted(root.iterdir()) if (path / _TEMPLATES).is_dir() and not path.is_symlink()
    ]


def describe_projects(root: Path) -> list[dict[str, object]]:
    """List the projects by name, with how many templates each has."""
    return [{"project": one.name, "templates": len(one.template_names())} for one in list_projects(root)]


def find_project(root: Path, name: str) -> Project:
    """Return a project."""
    known = {project.name: project for project in list_projects(root)}
    if name not in known:
        raise unknown_name("project", name[:80], known)
    return known[name]


def create_project(root: Path, name: str) -> Project:
    """Make an empty project."""
    list_projects(root)  # the demo's comes first
    project = Project(root / check_name("project", name))
    if project.folder.exists() or name == QUESTIONNAIRES:
        raise UserError(f"project {name!r} exists already; choose another name")
    project.templates.mkdir(parents=True)
    write_text(project.vocabulary, _COLUMNS)
    write_text(project.phrases, "{}\n")
    return project


def check_name(what: str, name: str) -> str:
    """Return a name that is one of a file in its folder."""
    if not _NAME.fullmatch(name):
        raise UserError(f"{what} {name[:80]!r}: letters, digits, '_', '-' and '.' are allowed, 80 at most")
    return name


def sha256_text(text: str) -> str:
    """Return the hex SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_saved(path: Path) -> tuple[str, str | None]:
    """Read a file of a project, and its SHA-256; a missing file counts as empty, without a SHA-256."""
    if not path.exists():
        return "", None
    text = read_utf8(path)
    return text, sha256_text(text)


def save(project: Project, path: Path, text: str, base: str | None) -> str:
    """Write a file of a project and return its SHA-256.

    ``base`` is the SHA-256 of what was read, None for a file that was not there. Where the file is another one now, a
    ``ConflictError`` has both versions.
    """
    lock = project.folder / _OWN / "saving.lock"
    lock.parent.mkdir(exist_ok=True)
    with file_lock(lock):
        theirs, found = read_saved(path)
        if found != base:
            raise ConflictError(
                f"{path.name} was changed by someone else since it was opened here; nothing was overwritten",
                {"theirs": theirs, "mine": text, "sha256": found},
            )
        write_text(path, text)
    return sha256_text(text)


def new_template(name: str) -> str:
    """Return the text of an empty template."""
    record = {
        "uid": name,
        "phenomenon": "unnamed",
        "strict_MP": False,
        "sep": "",
        "good_rule": [""],
        "bad_rule": [""],
    }
    return readable_json(record) + "\n"
