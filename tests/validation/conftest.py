import csv
import io
import json

import pytest

PARADIGMS = ("agreement", "order")
PEOPLE = ("ann", "bob", "cat", "dan")
FARM = (
    "Results reception time", "MD5 hash of participant's IP address", "Controller name", "Order number of item",
    "Inner element number", "Label", "Latin Square Group", "PennElementType", "PennElementName", "Parameter", "Value",
    "EventTime",
)  # fmt: skip
LOGGED = ("annotator", "item", "kind", "list", "position", "page", "good_first", "Comments")


class Questionnaire:
    """Five pairs of each of two paradigms, two catch trials, two controls and four training items, and their answers."""

    def __init__(self, folder):
        self.folder = folder
        self.items = [
            self._item(f"item-{place + 1:03}", "item", PARADIGMS[place // 5], place) for place in range(10)
        ]
        for kind, number in (("catch", 2), ("control", 2), ("training", 4)):
            self.items += [self._item(f"{kind}-{n + 1:03}", kind, "", len(self.items)) for n in range(number)]
        self.choices = {(person, row["item"]): "good" for person in PEOPLE for row in self.items}

    @staticmethod
    def _item(name, kind, paradigm, position):
        return {
            "item": name, "kind": kind, "benchmark": "demo", "paradigm": paradigm, "phenomenon": paradigm.upper(),
            "pair": str(position), "list": "1", "page": str(position // 5 + 1), "position": str(position + 1),
            "good_first": ("true", "false")[position % 2], "good": f"good {name}, really", "bad": f"bad {name}",
        }  # fmt: skip

    def rows(self):
        for (person, item), choice in self.choices.items():
            shown = next(row for row in self.items if row["item"] == item)
            yield {"annotator": person, "choice": choice, "seconds": "4.5", "page_seconds": "26", **shown}

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def items_csv(self):
        return self.write("items.csv", table(self.items))

    def plain(self, name="answers.csv", columns=("annotator", "item", "choice", "seconds")):
        return self.write(name, table([{column: row[column] for column in columns} for row in self.rows()]))

    def pcibex(self, name="results.csv"):
        """What the farm writes: other trials first, comments that name columns, commas as %2C."""
        lines = ["# Results on Mon, 23 Nov 2026", "# USER AGENT: none", *comments((*FARM, "Comments"))]
        lines += ["1,hash,PennController,0,0,intro,NULL,PennController,0,_Trial_,Start,1000,NULL"]
        lines += comments(LOGGED, start=13)
        for number, row in enumerate(self.rows(), start=1):
            tail = ",".join(row.get(column, "NULL").replace(",", "%2C") for column in LOGGED)
            head = f"1,hash,PennController,{number},0,trial,NULL"
            other = "bad" if row["choice"] == "good" else "good"
            lines += [
                f"{head},PennController,{number},_Trial_,Start,1000,{tail}",
                f"{head},Selector,choice,Selection,{other},2000,{tail}",
                f"{head},Selector,choice,Selection,{row['choice']},5500,{tail}",
                f"{head},PennController,{number},_Trial_,End,5600,{tail}",
            ]
        return self.write(name, "\n".join(lines) + "\n")

    def label_studio(self, name="export.json"):
        tasks = []
        for shown in self.items:
            own = [row for row in self.rows() if row["item"] == shown["item"]]
            data = {**shown, "good_first": shown["good_first"] == "true"}
            tasks.append({"id": len(tasks) + 1, "data": data, "annotations": [annotation(row) for row in own]})
        return self.write(name, json.dumps(tasks))


def annotation(row):
    first = (row["choice"] == "good") == (row["good_first"] == "true")
    result = [{"from_name": "choice", "to_name": "first", "type": "choices",
               "value": {"choices": ["first" if first else "second"]}}]  # fmt: skip
    return {
        "completed_by": {"id": 1, "email": row["annotator"]}, "lead_time": 4.5, "was_cancelled": False,
        "result": [] if row["choice"] == "none" else result,
    }  # fmt: skip


def comments(names, start=1):
    columns = [f"# {number}. {name}." for number, name in enumerate(names, start=start)]
    return ["# Columns below this comment are as follows:", *columns]


def table(rows):
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


@pytest.fixture
def questionnaire(tmp_path):
    return Questionnaire(tmp_path)
