"""The room Write: templates, words and phrases of projects, tried as they are typed."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from ucurve.errors import UserError, unknown_name
from ucurve.storage.files import readable_json
from ucurve.workbench.replies import Values, alone, text_of, whole_of
from ucurve.workbench.room import Action, Room
from ucurve.workbench.settings import WorkbenchSettings
from ucurve.workbench.write.make import Scoring, generate, made_pairs
from ucurve.workbench.write.phrase_text import phrase_file, phrase_lines
from ucurve.workbench.write.preview import Grammars, Preview, preview, read_record, validate
from ucurve.workbench.write.projects import (
    Project,
    create_project,
    describe_projects,
    find_project,
    new_template,
    save,
)
from ucurve.workbench.write.texts import LARGEST, Draft, Drafts
from ucurve.workbench.write.words import Tables, VocabularyDraft

PHRASES = "phrases"
_PAIRS = 300


@dataclass
class Desk:
    """What the requests of the room work on."""

    drafts: Drafts = field(default_factory=Drafts)
    tables: Tables = field(default_factory=Tables)
    grammars: Grammars = field(default_factory=Grammars)
    making: dict[str, Lock] = field(default_factory=lambda: defaultdict(Lock), init=False)  # of templates


@dataclass(frozen=True)
class Call:
    """A request of a browser about a project."""

    desk: Desk
    project: Project
    browser: str
    values: Values

    def text(self, name: str) -> str:
        """Return a text that it must give."""
        return text_of(self.values, name)

    @property
    def base(self) -> str | None:
        """The SHA-256 of the file that the page knows; None for a file that was not there."""
        return None if self.values.get("base") is None else self.text("base")

    @property
    def goes_back(self) -> bool:
        """Whether a step is to undo rather than to redo."""
        return self.text("to") == "undo"

    def draft(self, given: str | None = None) -> Draft:
        """Return this browser's draft of a template that is there, or of the phrases; by default the one named."""
        name = given or self.text("name")
        file = self.project.phrases if name == PHRASES else self.project.template(name)
        if name != PHRASES and not file.is_file():
            raise unknown_name("template", name[:80], self.project.template_names())
        ways = (phrase_lines, phrase_file) if name == PHRASES else ()
        return Draft(self.project, file, self.desk.drafts.journal(self.project, file, self.browser), *ways)

    def phrases(self) -> str:
        """Return the lines of phrases as this browser left them."""
        return self.draft(PHRASES).open()["text"]

    def vocabulary(self) -> VocabularyDraft:
        """Return this browser's draft of the vocabulary."""
        return VocabularyDraft(self.desk.drafts, self.desk.tables, self.project, self.browser)


def write_room(settings: WorkbenchSettings) -> Room:
    """Make the room."""
    desk, scoring = Desk(), Scoring(settings)

    def on(handler: Callable[[Call], object]) -> Callable[[Values], object]:
        def answer(values: Values) -> object:
            project = find_project(settings.projects, text_of(values, "project"))
            return handler(Call(desk, project, text_of(values, "browser"), values))

        return answer

    return Room(
        "write",
        "Write",
        "Write templates of minimal pairs, see pairs as you type, and score them with a run: a curve of your own.",
        "a few words of the language; a run, if you want a curve. The project demo shows how templates look.",
        (
            Action("GET", "projects", lambda _: describe_projects(settings.projects)),
            Action(
                "POST",
                "projects",
                lambda values: {"project": create_project(settings.projects, text_of(values, "name")).name},
            ),
            Action("GET", "project", on(_project)),
            Action("POST", "templates", on(_new_template)),
            Action("GET", "document", on(lambda call: call.draft().open())),
            Action("PUT", "document", on(lambda call: call.draft().type(call.text("text"), call.base))),
            Action("POST", "step", on(lambda call: call.draft().step(back=call.goes_back))),
            Action("POST", "save", on(lambda call: call.draft().save(call.text("text"), call.base))),
            Action("POST", "theirs", on(lambda call: call.draft().take_theirs())),
            Action("POST", "preview", on(_preview)),
            Action("GET", "properties", on(_properties)),
            Action("POST", "validate", on(_validate)),
            Action("GET", "words", on(_words)),
            Action(
                "POST", "words", on(lambda call: call.vocabulary().change(call.values.get("change"), call.base))
            ),
            Action("POST", "words/step", on(lambda call: call.vocabulary().step(back=call.goes_back))),
            Action("POST", "words/save", on(lambda call: call.vocabulary().save(call.base))),
            Action("POST", "words/theirs", on(lambda call: call.vocabulary().take_theirs())),
            Action("POST", "generate", on(_generate)),
            Action("GET", "runs", lambda _: scoring.runs()),
            Action("POST", "score", on(lambda call: _score(scoring, call))),
            Action("GET", "score", on(lambda call: scoring.state(call.project, call.text("name")))),
            Action("POST", "score/cancel", lambda _: scoring.cancel()),
            Action("GET", "made", on(lambda call: made_pairs(call.project, call.text("name")))),
        ),
        end=scoring.cancel,  # nobody could see or cancel it afterwards
    )


def _project(call: Call) -> dict[str, object]:
    return {
        "project": call.project.name, "folder": str(call.project.folder), "templates": call.project.template_names(),
        "vocabulary": call.vocabulary().state(),
    }  # fmt: skip


def _new_template(call: Call) -> dict[str, object]:
    """Make an empty template, or a copy of one as this browser left it."""
    name = call.text("name")
    place = call.project.template(name)
    if place.exists():
        raise UserError(f"template {name!r} exists already; choose another name")
    text = new_template(name)
    if call.values.get("copy"):
        record = read_record(call.draft(call.text("copy")).open()["text"])
        text = readable_json({**record, "uid": name} if isinstance(record, dict) else record) + "\n"
    save(call.project, place, text, None)
    return {"template": name}


def _preview(call: Call) -> Preview:
    """Draw pairs of a template as it is typed, with the words and phrases as this browser left them."""
    text = call.text("text")
    if len(text) > LARGEST:
        raise UserError(f"the template has {len(text):,} characters; at most {LARGEST:,} are taken")
    seed = whole_of(call.values, "seed", 0)
    return preview(call.desk.grammars, call.vocabulary().table(), call.phrases(), text, seed)


def _properties(call: Call) -> dict[str, object]:
    names = dict.fromkeys(line.partition("=")[0].strip() for line in call.phrases().splitlines() if "=" in line)
    return {"properties": call.vocabulary().properties(), "phrases": list(names)}


def _validate(call: Call) -> list[dict[str, str | int]]:
    texts = [(name, call.draft(name).open()["text"]) for name in call.project.template_names()]
    return validate(call.desk.grammars, call.vocabulary().table(), call.phrases(), texts)


def _words(call: Call) -> dict[str, object]:
    wanted, sort = (str(call.values.get(name, "")) for name in ("filter", "sort"))
    descending, offset = call.values.get("descending") == "true", whole_of(call.values, "offset", 0)
    return call.vocabulary().page(wanted, sort, descending, offset)


def _generate(call: Call) -> dict[str, object] | None:
    """Make pairs of what is saved; a draft that is not is refused, since the pairs would not be those on the page."""
    name = call.text("name")
    saved = {one: call.draft(one).open()["saved"] for one in (name, PHRASES)}
    saved["vocabulary"] = bool(call.vocabulary().state()["saved"])
    unsaved = [one for one, state in saved.items() if not state]
    if unsaved:
        raise UserError(f"not saved yet: {', '.join(unsaved)}; save first, since pairs are made of what is saved")
    making = call.desk.making[f"{call.project.name}/{name}"]
    with alone(making, f"pairs of {name} are being made; wait until that is done"):
        return generate(
            call.project, name, whole_of(call.values, "pairs", _PAIRS), whole_of(call.values, "seed", 0)
        )


def _score(scoring: Scoring, call: Call) -> dict[str, object]:
    step = None if call.values.get("step") is None else whole_of(call.values, "step")
    return scoring.start(call.project, call.text("name"), call.text("run"), step)
