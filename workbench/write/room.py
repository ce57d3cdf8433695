"""The room Write: templates, words and phrases of projects, tried as they are typed."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from ucurve.errors import UserError, unknown_name
from workbench.replies import Values, text_of, whole_of
from workbench.room import Action, Room
from workbench.settings import WorkbenchSettings
from workbench.write.make import Scoring, generate
from workbench.write.phrase_text import phrase_file, phrase_lines
from workbench.write.preview import Grammars, Preview, preview, read_record, validate
from workbench.write.projects import (
    Project,
    create_project,
    find_project,
    list_projects,
    new_template,
    save,
    template_text,
)
from workbench.write.texts import (
    LARGEST,
    Document,
    Drafts,
    TextState,
    open_text,
    save_text,
    step_text,
    take_theirs,
    type_text,
)
from workbench.write.words import Vocabularies

PHRASES = "phrases"
_PAIRS = 300


@dataclass
class Desk:
    """What the requests of the room work on."""

    settings: WorkbenchSettings
    drafts: Drafts = field(default_factory=Drafts)
    grammars: Grammars = field(default_factory=Grammars)
    making: dict[str, Lock] = field(default_factory=lambda: defaultdict(Lock), init=False)  # of templates

    def __post_init__(self) -> None:
        self.words = Vocabularies(self.drafts)
        self.scoring = Scoring(self.settings)

    def project(self, values: Values) -> Project:
        """Find the project that a request names."""
        return find_project(self.settings.projects, text_of(values, "project"))

    def phrases(self, project: Project, browser: str) -> str:
        """Return the phrases as this browser left them, as lines."""
        return str(open_text(self.drafts, _document(project, PHRASES), browser)["text"])


def write_room(settings: WorkbenchSettings) -> Room:
    """Make the room."""
    desk = Desk(settings)

    def on(handler: Callable[[Desk, Project, str, Values], object]) -> Callable[[Values], object]:
        return lambda values: handler(desk, desk.project(values), text_of(values, "browser"), values)

    return Room(
        "write",
        "Write",
        "Templates of minimal pairs, their words and phrases, tried as they are typed.",
        (
            Action("GET", "projects", lambda _: _projects(settings)),
            Action("POST", "projects", lambda values: _create(settings, values)),
            Action("GET", "project", on(_project)),
            Action("POST", "templates", on(_new_template)),
            Action("GET", "document", on(_open)),
            Action("PUT", "document", on(_type)),
            Action("POST", "step", on(_step)),
            Action("POST", "save", on(_save)),
            Action("POST", "theirs", on(_theirs)),
            Action("POST", "preview", on(_preview)),
            Action("GET", "properties", on(_properties)),
            Action("POST", "validate", on(_validate)),
            Action("GET", "words", on(_words)),
            Action("POST", "words", on(_change_words)),
            Action("POST", "words/step", on(_step_words)),
            Action("POST", "words/save", on(_save_words)),
            Action("POST", "words/theirs", on(_their_words)),
            Action("POST", "generate", on(_generate)),
            Action("GET", "runs", lambda _: desk.scoring.runs()),
            Action("POST", "score", on(_score)),
            Action("GET", "score", lambda _: desk.scoring.state()),
        ),
    )


def _projects(settings: WorkbenchSettings) -> list[dict[str, object]]:
    return [{"project": one.name, "templates": len(one.template_names())} for one in list_projects(settings.projects)]


def _create(settings: WorkbenchSettings, values: Values) -> dict[str, object]:
    list_projects(settings.projects)  # the demo's comes first
    return {"project": create_project(settings.projects, text_of(values, "name")).name}


def _project(desk: Desk, project: Project, browser: str, values: Values) -> dict[str, object]:
    del values
    return {
        "project": project.name, "folder": str(project.folder), "templates": project.template_names(),
        "vocabulary": desk.words.state(project, browser),
    }  # fmt: skip


def _new_template(desk: Desk, project: Project, browser: str, values: Values) -> dict[str, object]:
    """Make an empty template, or a copy of one as this browser left it."""
    name = text_of(values, "name")
    place = project.template(name)
    if place.exists():
        raise UserError(f"template {name!r} exists already; choose another name")
    text = new_template(name)
    if values.get("copy"):
        copied = open_text(desk.drafts, _document(project, text_of(values, "copy")), browser)
        record = read_record(copied["text"])
        text = template_text({**record, "uid": name} if isinstance(record, dict) else record)
    save(project, place, text, None)
    return {"template": name}


def _base(values: Values) -> str | None:
    """Return the SHA-256 of the file that the page knows; None for a file that was not there."""
    return None if values.get("base") is None else text_of(values, "base")


def _document(project: Project, name: str) -> Document:
    """Return a template that is there, or the phrases."""
    if name == PHRASES:
        return Document(project, project.phrases, phrase_lines, phrase_file)
    place = project.template(name)
    if not place.is_file():
        raise unknown_name("template", name[:80], project.template_names())
    return Document(project, place)


def _open(desk: Desk, project: Project, browser: str, values: Values) -> TextState:
    return open_text(desk.drafts, _document(project, text_of(values, "name")), browser)


def _type(desk: Desk, project: Project, browser: str, values: Values) -> TextState:
    document = _document(project, text_of(values, "name"))
    return type_text(desk.drafts, document, browser, text_of(values, "text"), _base(values))


def _step(desk: Desk, project: Project, browser: str, values: Values) -> TextState:
    back = text_of(values, "to") == "undo"
    return step_text(desk.drafts, _document(project, text_of(values, "name")), browser, back=back)


def _save(desk: Desk, project: Project, browser: str, values: Values) -> TextState:
    document = _document(project, text_of(values, "name"))
    return save_text(desk.drafts, document, browser, text_of(values, "text"), _base(values))


def _theirs(desk: Desk, project: Project, browser: str, values: Values) -> TextState:
    return take_theirs(desk.drafts, _document(project, text_of(values, "name")), browser)


def _preview(desk: Desk, project: Project, browser: str, values: Values) -> Preview:
    text = text_of(values, "text")
    if len(text) > LARGEST:
        raise UserError(f"the template has {len(text):,} characters; at most {LARGEST:,} are taken")
    words, phrases = desk.words.table(project, browser), desk.phrases(project, browser)
    return preview(desk.grammars, words, phrases, text, whole_of(values, "seed", 0))


def _properties(desk: Desk, project: Project, browser: str, values: Values) -> dict[str, object]:
    del values
    phrases = [line.partition("=")[0].strip() for line in desk.phrases(project, browser).splitlines() if "=" in line]
    return {"properties": desk.words.properties(project, browser), "phrases": list(dict.fromkeys(phrases))}


def _validate(desk: Desk, project: Project, browser: str, values: Values) -> list[dict[str, str | int]]:
    del values
    names = project.template_names()
    texts = [(name, str(open_text(desk.drafts, _document(project, name), browser)["text"])) for name in names]
    return validate(desk.grammars, desk.words.table(project, browser), desk.phrases(project, browser), texts)


def _words(desk: Desk, project: Project, browser: str, values: Values) -> dict[str, object]:
    descending = values.get("descending") == "true"
    offset = whole_of(values, "offset", 0)
    return desk.words.page(
        project, browser, str(values.get("filter", "")), str(values.get("sort", "")), descending, offset
    )


def _change_words(desk: Desk, project: Project, browser: str, values: Values) -> dict[str, object]:
    return desk.words.change(project, browser, values.get("change"), _base(values))


def _step_words(desk: Desk, project: Project, browser: str, values: Values) -> dict[str, object]:
    return desk.words.step(project, browser, back=text_of(values, "to") == "undo")


def _save_words(desk: Desk, project: Project, browser: str, values: Values) -> dict[str, object]:
    return desk.words.save(project, browser, _base(values))


def _their_words(desk: Desk, project: Project, browser: str, values: Values) -> dict[str, object]:
    del values
    return desk.words.take_theirs(project, browser)


def _generate(desk: Desk, project: Project, browser: str, values: Values) -> dict[str, object]:
    """Make pairs of what is saved; a draft that is not is refused, since the pairs would not be those on the page."""
    name = text_of(values, "name")
    saved = {one: open_text(desk.drafts, _document(project, one), browser)["saved"] for one in (name, PHRASES)}
    saved["vocabulary"] = bool(desk.words.state(project, browser)["saved"])
    unsaved = [one for one, state in saved.items() if not state]
    if unsaved:
        raise UserError(f"not saved yet: {', '.join(unsaved)}; save first, since pairs are made of what is saved")
    making = desk.making[f"{project.name}/{name}"]
    if not making.acquire(blocking=False):
        raise UserError(f"pairs of {name} are being made; wait until that is done")
    try:
        return generate(project, name, whole_of(values, "pairs", _PAIRS), whole_of(values, "seed", 0))
    finally:
        making.release()


def _score(desk: Desk, project: Project, browser: str, values: Values) -> dict[str, object]:
    del browser
    step = None if values.get("step") is None else whole_of(values, "step")
    return desk.scoring.start(project.name, text_of(values, "name"), text_of(values, "run"), step)
