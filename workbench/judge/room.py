"""The room judge: make a questionnaire, answer it for a pilot, load answers, see which paradigms people confirm."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from ucurve.validation.judging.paradigms import load_rules
from ucurve.workbench.judge.questionnaires import Questionnaires, default_settings, offered_settings
from ucurve.workbench.judge.results import judge, keep_answers, remove_answers
from ucurve.workbench.replies import Handler, Values, text_of
from ucurve.workbench.room import Action, Room
from ucurve.workbench.settings import WorkbenchSettings

_SUMMARY = "Ask people which sentence of a pair is better, and see which paradigms of a benchmark they confirm."
_NEEDS = "a benchmark, published or made in Write. Other people are needed later; you can answer it yourself first."


def judge_room(settings: WorkbenchSettings) -> Room:
    """Make the room."""
    there = Questionnaires(settings.projects)
    answering: dict[str, Lock] = defaultdict(Lock)  # the changes of a questionnaire's answers, one after the other

    def on(work: Callable[[Path, Values], Values]) -> Handler:
        def answer(values: Values) -> Values:
            folder = there.folder(text_of(values, "name"))
            with answering[folder.name]:
                return work(folder, values)

        return answer

    def keep(folder: Path, values: Values) -> Values:
        return {"kept": keep_answers(folder, values.get("files")), **there.describe(folder.name)}

    def remove(folder: Path, values: Values) -> Values:
        remove_answers(folder, text_of(values, "file"))
        return there.describe(folder.name)

    actions = (
        Action("GET", "settings", lambda _: _settings()),
        Action("GET", "benchmarks", lambda _: there.benchmarks()),
        Action("GET", "paradigms", lambda values: there.paradigms(text_of(values, "benchmark"))),
        Action("GET", "questionnaires", lambda _: there.names()),
        Action("POST", "questionnaires", there.make),
        Action("GET", "questionnaires/{name}", lambda values: there.describe(text_of(values, "name"))),
        Action("POST", "questionnaires/{name}/answers", on(keep)),
        Action("DELETE", "questionnaires/{name}/answers/{file}", on(remove)),
        Action("POST", "questionnaires/{name}/judge", on(judge)),
    )
    return Room("judge", "Judge", _SUMMARY, _NEEDS, actions, there.file)


def _settings() -> Values:
    """Return what the page offers: the values of the two commands, and the rules."""
    judged = default_settings("answers")
    return {
        "questionnaire": offered_settings(),
        "answers": {name: judged[name] for name in ("rule", "limit", "exclude")},
        "rules": [
            {"name": name, "words": rule.words, "limit": rule.limit} for name, rule in sorted(load_rules().items())
        ],
    }
