"""The questionnaire as files for platforms that other people run: PCIbex Farm and Label Studio."""

import json
from collections.abc import Sequence

from ucurve.validation.questionnaire.lists import Trial
from ucurve.validation.questionnaire.page import TEMPLATES
from ucurve.validation.questionnaire.wording import Wording

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
