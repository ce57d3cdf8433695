"""The room judge: make a questionnaire, answer it for a pilot, load answers, see which paradigms people confirm."""

from collections import defaultdict
from threading import Lock

from validation.judging.paradigms import load_rules
from workbench.judge.questionnaires import Questionnaires, Wanted, default_settings
from workbench.judge.results import judge, keep_answers, remove_answers
from workbench.replies import Values, text_of
from workbench.room import Action, Room
from workbench.settings import WorkbenchSettings

_SUMMARY = "Make a questionnaire from a benchmark, answer it for a pilot, load answers, and see which paradigms hold."


def judge_room(settings: WorkbenchSettings) -> Room:
    """Make the room."""
    there = Questionnaires(settings.projects)
    answering: dict[str, Lock] = defaultdict(Lock)  # the changes of a questionnaire's answers, one after the other

    def keep(values: Values) -> Values:
        folder = there.folder(text_of(values, "name"))
        with answering[folder.name]:
            kept = keep_answers(folder, values.get("files"))
            return {"kept": kept, **there.describe(folder.name)}

    def remove(values: Values) -> Values:
        folder = there.folder(text_of(values, "name"))
        with answering[folder.name]:
            remove_answers(folder, text_of(values, "file"))
            return there.describe(folder.name)

    def judged(values: Values) -> Values:
        folder = there.folder(text_of(values, "name"))
        with answering[folder.name]:
            return judge(folder, values)

    actions = (
        Action("GET", "settings", lambda _: _settings()),
        Action("GET", "benchmarks", lambda _: there.benchmarks()),
        Action("GET", "paradigms", lambda values: there.paradigms(text_of(values, "benchmark"))),
        Action("GET", "questionnaires", lambda _: there.names()),
        Action("POST", "questionnaires", there.make),
        Action("GET", "questionnaires/{name}", lambda values: there.describe(text_of(values, "name"))),
        Action("POST", "questionnaires/{name}/answers", keep),
        Action("DELETE", "questionnaires/{name}/answers/{file}", remove),
        Action("POST", "questionnaires/{name}/judge", judged),
    )
    return Room("judge", "Judge", _SUMMARY, actions, there.file)


def _settings() -> Values:
    """Return what the page offers: the values of the two commands, and the rules."""
    asked, judged = default_settings("questionnaire"), default_settings("answers")
    return {
        "questionnaire": {name: value for name, value in asked.items() if name in Wanted.__dataclass_fields__},
        "answers": {name: judged[name] for name in ("rule", "limit", "exclude")},
        "rules": [
            {"name": name, "words": rule.words, "limit": rule.limit} for name, rule in sorted(load_rules().items())
        ],
    }
