"""The questionnaire as one page that needs no server: jsPsych, the pairs and the texts are in it.

For platforms that other people run, PCIbex Farm and Label Studio, it is written as files that they take.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined

from ucurve.storage.files import read_utf8
from ucurve.validation.questionnaire.lists import Trial
from ucurve.validation.questionnaire.wording import Wording

TEMPLATES = Environment(
    loader=PackageLoader("ucurve.validation.questionnaire"), autoescape=True, undefined=StrictUndefined,
    keep_trailing_newline=True,
)  # fmt: skip
# Files of jsPsych in the order of loading; jspsych/README.md says where they come from.
_JSPSYCH = (
    "jspsych-8.3.0.min.js",
    "plugin-instructions-2.1.0.min.js",
    "plugin-html-button-response-2.1.0.min.js",
)
# Data in a page must not end its script element, and the last two letters end a line of JavaScript.
_IN_SCRIPT = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def write_page(trials: Sequence[Trial], wording: Wording, name: str, min_seconds: float, post: str | None) -> str:
    """Write the page of a questionnaire; a browser keeps answers under ``name`` and sends them to ``post`` if given.

    Without ``post`` the page's policy forbids every request.
    """
    questions = [trial.question for trial in trials]
    # The pages of each list, and the trials of each page.
    lists: dict[int, dict[int, list[dict[str, str | int]]]] = {}
    for trial in trials:
        shown: dict[str, str | int] = {
            "item": trial.question.item,
            "kind": trial.question.kind,
            "position": trial.position,
            "goodFirst": trial.good_first,
        }
        lists.setdefault(trial.list, {}).setdefault(trial.page, []).append(shown)
    data = {
        "name": name,
        "wording": asdict(wording) | {"instructions": wording.paragraphs},
        "minSeconds": min_seconds,
        "post": post,
        "questions": {one.item: [one.good, one.bad, one.right, one.phenomenon] for one in questions},
        "lists": {number: list(pages.values()) for number, pages in lists.items()},
    }
    return TEMPLATES.get_template("page.html").render(
        title=wording.title,
        language=wording.tag,
        # The page may send to this server and to no other.
        connect=urlsplit(post)._replace(path="", query="", fragment="").geturl() if post else "'none'",
        style=(files("ucurve") / "look.css").read_text(encoding="utf-8") + _file("templates/page.css"),
        license=_file("jspsych/LICENSE"),
        scripts=[_inline(_file(f"jspsych/{script}")) for script in _JSPSYCH],
        data=json.dumps(data, ensure_ascii=False, allow_nan=False).translate(_IN_SCRIPT),
        script=_file("templates/page.js"),
    )


def _file(name: str) -> str:
    return read_utf8(Path(__file__).parent / name)


def _inline(script: str) -> str:
    """Make a script stand in a page: it must not end the element early, nor name a file that is not there."""
    script = re.sub(r"(?m)^//# sourceMappingURL=.*$", "", script)
    return script.replace("</script", r"<\/script").replace("<!--", r"<\!--")


FARM_COLUMNS = ("item", "kind", "list", "page", "position", "good_first", "good", "bad")


def farm_script(wording: Wording, seconds: float, *, training: bool) -> str:
    """Write the script ``main.js`` of PCIbex Farm; ``seconds`` is the shortest time on a pair."""
    texts = {
        "title": wording.title, "instructions": wording.paragraphs, "begin": wording.begin,
        "training": wording.training, "trainingOver": wording.training_over, "next": wording.next,
        "right": wording.right, "wrong": wording.wrong, "thanks": wording.thanks, "sent": wording.sent,
    }  # fmt: skip
    return TEMPLATES.get_template("pcibex.js").render(
        texts=json.dumps(texts, ensure_ascii=False, indent=2),
        milliseconds=round(1000 * seconds),
        training=json.dumps(training),
    )


def label_studio_tasks(trials: Sequence[Trial]) -> list[dict[str, object]]:
    """Return the tasks of Label Studio."""
    return [
        {
            "data": {
                "item": trial.question.item, "kind": trial.question.kind, "list": trial.list, "page": trial.page,
                "position": trial.position, "good_first": trial.good_first, "first": trial.members[0],
                "second": trial.members[1],
            }
        }
        for trial in trials
    ]  # fmt: skip


def label_studio_config(wording: Wording) -> str:
    """Write the labeling interface of Label Studio."""
    return TEMPLATES.get_template("labelstudio.xml").render(title=wording.title)
