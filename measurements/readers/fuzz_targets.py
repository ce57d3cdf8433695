"""What ``fuzz_readers`` tries: for each reader valid files, and the function that reads one to the end."""

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from ucurve.analysis.data.settings import AnalyzeSettings
from ucurve.arguments import read_arguments
from ucurve.config import check, compose
from ucurve.config_files import CONFIGURATION, completed
from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.eval.benchmarks.registry import expand_benchmarks
from ucurve.eval.run import ScoreCommand
from ucurve.generation.treebank import read_treebank
from ucurve.templates.demo import demo_pairs, training_text
from ucurve.templates.engine import draw_pair
from ucurve.templates.grammar import Grammar
from ucurve.templates.pair import Pair, draw_pairs, seeded
from ucurve.templates.template import all_or_error, read_phrases, read_templates
from ucurve.templates.vocabulary import read_vocabulary
from ucurve.training.config import read_settings
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.settings import CorpusSettings
from ucurve.validation.answers import AnswerSettings, judge_answers
from ucurve.yaml_files import read_yaml

_DEMO = Path(str(files("ucurve.templates"))) / "demo_grammar"
_TEMPLATES = sorted((_DEMO / "templates").glob("*.json"))
_PAIRS = 12
_LONGEST_ARGUMENT = 2**17 - 1  # that Linux gives to a program
_LAYOUTS = ("columns", "sentences", "either", "lines")  # cards of these need no map of columns, or have one


@dataclass(frozen=True)
class Case:
    """A valid file, ``name``, with the files that lie beside it."""

    name: str
    content: bytes
    beside: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes:
        cases: its valid files.
        read: reads the named file of a folder to the last stage; raises the error of what is refused.
    """

    cases: Callable[[], list[Case]]
    read: Callable[[Path, str], None]


def _table(rows: list[dict[str, Any]], delimiter: str = ",", quoting: Any = csv.QUOTE_MINIMAL) -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0], delimiter=delimiter, lineterminator="\n", quoting=quoting)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


@cache
def _pairs() -> list[dict[str, Any]]:
    every = demo_pairs()
    return every[:: len(every) // _PAIRS][:_PAIRS]


_CARD = b"name: own\nlanguage: zho\ncolumns: {paradigm: UID}\n"


def _pairs_as(name: str, *contents: bytes) -> list[Case]:
    return [Case(name, content, {"card.yaml": _CARD}) for content in contents]


@cache
def _json_cases() -> list[Case]:
    indented, arrays = json.dumps(_pairs(), indent=1), json.dumps([list(row.values()) for row in _pairs()])
    places = b"name: own\nlanguage: zho\ncolumns: {paradigm: '0', phenomenon: '1', good: '2', bad: '3'}\n"
    return [
        Case("a.json", indented.encode(), {"card.yaml": _CARD}),
        Case("a.json", arrays.encode(), {"card.yaml": places}),
    ]


def _load(folder: Path, _: str) -> None:
    for card in expand_benchmarks([str(folder / "card.yaml")]):
        load_benchmark(card)


@cache
def _card_cases() -> list[Case]:
    rows = [{"good": row["sentence_good"], "bad": row["sentence_bad"], "case": row["UID"]} for row in _pairs()]
    long = [
        {"s": row[side], "ok": int(side == "good"), "item": number}
        for number, row in enumerate(rows)
        for side in ("good", "bad")
    ]
    either = [{"a": row["good"], "b": row["bad"], "which": number % 2} for number, row in enumerate(rows)]
    two_lines = "".join(f"{row['good']}\n{row['bad']}\n" for row in rows).encode()
    plain = _table(rows)
    cards = {
        "columns: {good: good, bad: bad, paradigm: case}\nomit: [x*]\nfiles: ['*.csv']": ("a.csv", plain),
        "delimiter: ';'\nheader: [good, bad, case]\nheader_unless: '^[0-9]'": ("a.csv", _table(rows, ";")),
        "file_names: '(?P<kind>[a-z]+)-(?P<n>[0-9])'\neach: [{good: good, bad: bad}]": (
            "ab-1.jsonl",
            _lines(rows),
        ),
        "sentences: {sentence: s, grammatical: ok, item: item}": ("a.csv", _table(long)),
        "either: {a: a, b: b, label: which}": ("a.csv", _table(either)),
        "lines: [good, bad]\nlinking: mean_lp\naggregate: macro\nties_rule: half": ("a.txt", two_lines),
        "blocks: {of: case, mark_first: {shown: 2}}\nexpected: {pairs: 12}": ("a.tsv", _table(rows, "\t")),
        "not_counted: [{case: x*}]\nsame: [case]\nquirks: [none]": ("a.csv", plain),
    }
    map_ = "columns: {good: good, bad: bad}\n"
    own = [
        Case(
            "card.yaml",
            f"name: own\nlanguage: zho\n{'' if keys.startswith(_LAYOUTS) else map_}{keys}".encode(),
            {name: text},
        )
        for keys, (name, text) in cards.items()
    ]
    family = f"name: own\n{map_}languages: {{zho: {{pairs: 12}}, eng: {{code: en}}}}\nfiles: ['{{code}}.csv']\n"
    return [*own, Case("card.yaml", family.encode(), {"zho.csv": plain, "en.csv": plain})]


@cache
def _conllu_cases() -> list[Case]:
    sentences = [
        ("the cats see him", ["the/DET/2/det", "cat:s/NOUN/3/nsubj", "see/VERB/0/root", "he:him/PRON/3/obj"]),
        ("dogs sleep", ["dog:dogs/NOUN/2/nsubj", "sleep/VERB/0/root"]),
    ]
    blocks = []
    for number, (text, words) in enumerate(sentences * 2, 1):
        lines = [f"# sent_id = s{number}", f"# text = {text}"]
        for place, (word, form) in enumerate(zip(words, text.split(), strict=True), 1):
            lemma, upos, head, relation = word.split("/")
            lines.append(f"{place}\t{form}\t{lemma}\t{upos}\t_\tNumber=Sing|Person=3\t{head}\t{relation}\t_\t_")
        blocks.append("\n".join(lines) + "\n\n")
    parted = (
        "# text = dámelo ya.\n1-3\tdámelo\t_\t_\t_\t_\t_\t_\t_\t_\n1\tda\tdar\tVERB\t_\tMood=Imp\t0\troot\t_\t_\n"
        "2\tme\tyo\tPRON\t_\t_\t1\tiobj\t_\t_\n3\tlo\tél\tPRON\t_\t_\t1\tobj\t_\t_\n"
        "3.1\tx\tx\tVERB\t_\t_\t_\t_\t1:x\t_\n4\tya\tya\tADV\t_\t_\t1\tadvmod\t_\tSpaceAfter=No\n"
        "5\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\tSpaceAfter=No\n\n"
    )
    whole = ("".join(blocks) + parted).encode()
    return [Case("a.conllu", whole), Case("a.conllu", parted.encode()), Case("a.conllu.gz", gzip.compress(whole))]


def _read_treebank(folder: Path, name: str) -> None:
    for sentence in read_treebank(folder / name):
        for word in sentence.words:
            sentence.head_of(word)
        placed = {word.id: "x" for word in sentence.words if word.start is not None}
        assert sentence.replaced(placed) is not None
        assert sentence.children is not None


@cache
def _grammar_cases(kind: str) -> list[Case]:
    vocabulary, phrases = (_DEMO / "vocabulary.tsv").read_bytes(), (_DEMO / "phrases.json").read_bytes()
    some = {f"t{number}.json": path.read_bytes() for number, path in enumerate(_TEMPLATES[::4])}
    everything = {"vocabulary.tsv": vocabulary, "phrases.json": phrases, **some}
    changed = list(some) if kind == "template" else [kind]
    return [
        Case(name, everything[name], {other: text for other, text in everything.items() if other != name})
        for name in changed
    ]


def _make_pairs(folder: Path, _: str) -> None:
    (folder / "templates").mkdir()
    for file in folder.glob("t*.json"):
        file.rename(folder / "templates" / file.name)
    phrases = read_phrases(folder / "phrases.json")
    grammar = Grammar(read_vocabulary(folder / "vocabulary.tsv"), phrases)
    for tied in all_or_error(read_templates(folder / "templates"), grammar.tie):
        taken = set[str]()
        for drawn in draw_pairs(partial(draw_pair, tied), 3, seeded(tied.template.uid, 0), taken):
            if isinstance(drawn, Pair):
                taken.add(drawn.good)


@cache
def _answer_cases() -> list[Case]:
    items = [
        {
            "item": f"i{number}",
            "kind": "item",
            "paradigm": "ab"[number % 2],
            "phenomenon": "p",
            "good": "g",
            "bad": "b",
        }
        for number in range(6)
    ]
    rows = [
        {"annotator": person, "item": row["item"], "choice": "good", "seconds": 4.5, "paradigm": row["paradigm"]}
        for person in ("ann", "bob", "cat")
        for row in items
    ]
    wide = [
        {"item": row["item"], "paradigm": row["paradigm"], "p1": "good", "p2": "bad", "p3": ""} for row in items
    ]
    ratings = [{**row, "choice": number % 7} for number, row in enumerate(rows)]
    beside = {"items.csv": _table(items)}
    return [
        Case("long.csv", _table(rows)),
        Case("long.tsv", _table(rows, "\t"), beside),
        Case("wide.csv", _table(wide)),
        Case("ratings.csv", _table(ratings)),
        Case("items.csv", _table(items), {"long.csv": _table(rows)}),
        Case("results.csv", _pcibex(rows), beside),
        Case("export.json", json.dumps(_label_studio(rows)).encode(), beside),
    ]


def _pcibex(rows: list[dict[str, Any]]) -> bytes:
    names = ("Results reception time", "Order number of item", "PennElementType", "PennElementName", "Parameter",
             "Value", "EventTime", "annotator", "item")  # fmt: skip
    lines = ["# Results", *(f"# {number}. {name}." for number, name in enumerate(names, 1))]
    for number, row in enumerate(rows):
        end = f"{row['annotator']},{row['item']}"
        lines.append(f"1,{number},PennController,{number},_Trial_,Start,1000,{end}")
        lines.append(f"1,{number},Selector,choice,Selection,good,5500,{end}")
    return "\n".join(lines).encode()


def _label_studio(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    chosen = [{"type": "choices", "value": {"choices": ["first"]}}]
    return [
        {
            "id": number,
            "data": {"item": row["item"], "good_first": True, "page": "1"},
            "annotations": [{"completed_by": {"email": row["annotator"]}, "lead_time": 4.5, "result": chosen}],
        }
        for number, row in enumerate(rows)
    ]


@cache
def _rule() -> str:
    """Return the rule that conf/answers.yaml chooses."""
    return str(read_yaml(CONFIGURATION / "answers.yaml", dict[str, Any])["rule"])


def _judge(folder: Path, name: str) -> None:
    given: dict[str, Any] = {
        "rule": _rule(),
        "out": str(folder / "out"),
        "answers": str(folder / name),
        "columns": {},
    }
    if (folder / "items.csv").exists():
        given |= {
            "items": str(folder / "items.csv"),
            "answers": str(folder / name.replace("items.csv", "long.csv")),
        }
    else:
        given["columns"] = {"paradigm": "paradigm"}
    if name == "wide.csv":
        given["columns"]["annotators"] = "p[0-9]"
    if name == "ratings.csv":
        given["columns"] = {"rating": "choice"}
    judge_answers(check(AnswerSettings, completed("answers.yaml", given)))


@cache
def _corpus_cases() -> list[Case]:
    texts = list(training_text(40))
    records = [{"text": text, "id": number} for number, text in enumerate(texts)]
    plain, lines = "\n".join(texts).encode(), _lines(records)
    whole = [("a.txt", plain), ("a.train", plain), ("a.jsonl", lines), ("a.json", lines), ("a.csv", _table(records)),
             ("b.json", json.dumps(records, ensure_ascii=False).encode()), ("a.tsv", _table(records, "\t")),
             ("b.csv", _table(records, quoting=csv.QUOTE_ALL)), ("a.parquet", _parquet(records)),
             ("a.txt.gz", gzip.compress(plain)), ("a.jsonl.xz", lzma.compress(lines)),
             ("a.json.bz2", bz2.compress(lines)), ("b.jsonl", gzip.compress(lines))]  # fmt: skip
    return [Case(name, content) for name, content in whole]


def _parquet(records: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(records), sink)
    return bytes(sink.getvalue().to_pybytes())


def _read_corpus(folder: Path, _: str) -> None:
    for unit in ("record", "line"):
        given = {"path": str(folder), "unit": unit, "holdout": 0.1}
        corpus = Corpus(check(CorpusSettings, completed("data/text.yaml", given)))
        held_out = corpus.held_out()
        assert sum(map(len, corpus.documents(held_out))) > 0
        assert held_out is not None
        held_out.sample()
        corpus.fingerprint()


@cache
def _override_cases() -> list[Case]:
    lines = [
        "train data.path=texts/a.txt tokenizer=char model=14m tokens=10M seed=0",
        "train data.path=[a,b] data.words=whitespace tokenizer=word tokens=1Mw schedule.count=9 batch.length=32",
        "train experiment=demo seed=1 eval.linking=[lp,slor] engine.device=cpu",
        "train model=tiny tokens=1e6 schedule=list schedule.count=null schedule.steps=[0,1,2] data.path=x",
        "score run=runs/x benchmarks=[demo] linking=[lp,mean_lp] steps=[0,512] bos=auto",
        "score model=a/b out=x benchmarks=[custom] custom.path=a.csv custom.columns={good:g,bad:b}",
        "analyze runs=['runs/*',x] linking=lp formats=[png,svg] flat_margin=2.5 curves_by=[a]",
    ]
    return [Case("arguments", line.encode()) for line in lines]


def _read_overrides(folder: Path, name: str) -> None:
    words = (folder / name).read_bytes().replace(b"\x00", b"").decode("utf-8", "surrogateescape").split(" ")
    command, *arguments = (word[:_LONGEST_ARGUMENT] for word in words)
    command = command if command in ("train", "score", "analyze") else "train"
    values = compose(command, read_arguments(arguments))
    if command == "train":
        settings = read_settings(values)
        assert settings.run_name
    elif command == "score":
        check(ScoreCommand, values)
    else:
        check(AnalyzeSettings, values)


TARGETS: dict[str, Target] = {
    "jsonl": Target(lambda: _pairs_as("a.jsonl", _lines(_pairs())), _load),
    "json": Target(_json_cases, _load),
    "csv": Target(
        lambda: _pairs_as(
            "a.csv", _table(_pairs()), _table(_pairs(), ";"), _table(_pairs(), quoting=csv.QUOTE_ALL)
        ),
        _load,
    ),
    "tsv": Target(lambda: _pairs_as("a.tsv", _table(_pairs(), "\t")), _load),
    "card": Target(_card_cases, _load),
    "conllu": Target(_conllu_cases, _read_treebank),
    "template": Target(lambda: _grammar_cases("template"), _make_pairs),
    "vocabulary": Target(lambda: _grammar_cases("vocabulary.tsv"), _make_pairs),
    "phrases": Target(lambda: _grammar_cases("phrases.json"), _make_pairs),
    "answers": Target(_answer_cases, _judge),
    "corpus": Target(_corpus_cases, _read_corpus),
    "overrides": Target(_override_cases, _read_overrides),
}
