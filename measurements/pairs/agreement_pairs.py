"""Count the pairs of a made folder in which a feature other than the asked one changes, by reading the treebanks anew.

python measurements/pairs/agreement_pairs.py FOLDER --treebanks FILE... [--unimorph FILE] [--before FOLDER] [--show N]

It shares no code with the maker: files of CoNLL-U and UniMorph are read line by line here. For each pair it takes the
features of the verb in its sentence, and those of all words of the treebanks with the same lemma and the form of the
bad sentence. A pair is

- equal, if one of these has the features of the verb but for the column ``feature``,
- gender, if one has so but for Gender and Animacy too, each with a value in common, missing in the form of the bad
  sentence, or missing in the verb and the subject's,
- unimorph, if not in the treebanks but in UniMorph two rows of one lemma differ in that feature alone; number, person
  and gender that the first of them leaves out must be the subject's (a noun is in the third person),
- other, if none of this holds.

Then it counts what no annotation says, by the language that the card names: Basque forms of which one alone ends in
-n or -la or begins with ba-, or of which one is present (d-) and the other past (z-) where number changes;
Turkish nouns behind demek "to say", nouns that are a vocative or the subject of demek somewhere and stand behind a
verb, before a second person, or before a comma and another person, and nouns with a numeral where number changes;
Russian subjects in the genitive, with a numeral (of several), or of one form in all cases.

It also counts recall: of the nouns that are the subject of a finite verb with their number, without a conjunct, and of
which the treebanks have a form of the other number with the same other features, those that have a pair of number.

With --before it also says how many pairs of an older folder in which none of this is broken are in the new one, as the
same pair, and as the same good sentence with the same values.
"""

import argparse
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Pair = dict[str, Any]
Row = tuple[str, str, str, str, str, str]  # form, lemma, part of speech, features, number of the head, relation
APART = {"Gender", "Animacy"}
LONGEST = 64  # words of a sentence that is looked at
SAME = {"Sing": "SG", "Plur": "PL", "Dual": "DU"}
TAGS = {
    "Number": {"SG", "PL", "DU"},
    "Person": {"0", "1", "2", "3", "4"},
    "Gender": {"MASC", "FEM", "NEUT", "COM"},
}


def read_rows(files: list[Path]) -> dict[tuple[str, str], list[Row]]:
    """Return the words of each sentence, multiword tokens left out, by the names of treebank and sentence."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for file in files:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        name = ""
        for line in data.decode("utf-8").split("\n"):
            cells = line.split("\t")
            if line.startswith("# sent_id"):
                name = line.partition("=")[2].strip()
            elif cells[0].isdigit():
                found[file.name.split(".")[0], name].append(
                    (cells[1], cells[2], cells[3], cells[5], cells[6], cells[7])
                )
    return found


def features_of(cell: str) -> dict[str, str]:
    """Return the features of a cell of CoNLL-U."""
    return {} if cell == "_" else dict(part.split("=", 1) for part in cell.split("|"))


def others(one: dict[str, str], other: dict[str, str], asked: str) -> set[str]:
    """Return the features but for the asked one that are not the same."""
    return {name for name in {*one, *other} - {asked} if one.get(name) != other.get(name)}


def is_neutral(one: dict[str, str], other: dict[str, str], name: str, subject: dict[str, str]) -> bool:
    """Tell whether a gender or animacy goes missing, may be the same, or comes in and is the subject's."""
    if name not in APART:
        return False
    known = one.get(name, subject.get(name, ""))
    return name not in other or bool({*known.split(",")} & {*other[name].split(",")})


class Judge:
    """Says of pairs what changes in them."""

    def __init__(self, treebanks: list[Path], unimorph: Path | None) -> None:
        self.sentences = read_rows(treebanks)
        self.by_form: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.forms: dict[str, set[str]] = defaultdict(set)  # of nouns by their lemmas
        self.addressed: set[str] = set()  # lemmas of nouns that are vocatives, or subjects of Turkish demek
        for rows in self.sentences.values():
            for row in rows:
                form, lemma, part, cell = row[:4]
                if part in ("VERB", "AUX"):
                    self.by_form[lemma.lower(), form.lower()].add(cell)
                if part == "NOUN":
                    self.forms[lemma.lower()].add(form.lower())
                    head = rows[int(row[4]) - 1][1] if row[4] != "0" else ""
                    if row[5] == "vocative" or (row[5] == "nsubj" and head == "de"):
                        self.addressed.add(lemma)
        self.tags: dict[str, dict[str, list[set[str]]]] = defaultdict(lambda: defaultdict(list))
        for line in unimorph.read_text(encoding="utf-8").split("\n") if unimorph else []:
            cells = line.rstrip("\r").split("\t")
            if len(cells) > 2 and cells[2].startswith("V"):
                self.tags[cells[0].lower()][cells[1].lower()] += [
                    set(one.split(";")) for one in plain_tags(cells[2])
                ]

    def subject_of(self, pair: Pair) -> Iterator[tuple[Row, Row, list[Row]]]:
        """Yield the verb of a pair, its subject, and what depends on the subject."""
        rows = self.sentences[pair["treebank"], pair["sentence_id"]]
        for at, row in enumerate(rows):
            place = at - int(pair["distance"])
            is_verb = row[0] == pair["verb"] and row[2] in ("VERB", "AUX") and 0 <= place < len(rows)
            if is_verb and rows[place][0] == pair["subject"]:
                yield row, rows[place], [one for one in rows if one[4] == str(place + 1)]

    def judge(self, pair: Pair) -> tuple[str, set[str]]:
        """Return the kind of a pair, and the features that change in it besides the asked one."""
        asked, wrong = pair["feature"], pair["wrong_verb"].lower()
        best: set[str] | None = None
        broken: set[str] = set()
        for verb, subject, _ in self.subject_of(pair):
            one, has = features_of(verb[3]), features_of(subject[3])
            for other in map(features_of, self.by_form.get((verb[1].lower(), wrong), ())):
                if asked in other and other[asked] != one.get(asked):
                    found = others(one, other, asked)
                    rest = {name for name in found if not is_neutral(one, other, name, has)}
                    if best is None or (len(rest), len(found)) < (len(best - APART), len(best)):
                        best = found if rest else found & APART
                        broken = rest
        if best is not None and not best:
            return "equal", best
        if best is not None and not broken:
            return "gender", best
        return (
            ("unimorph", set()) if self.in_unimorph(pair) else ("other", best if best is not None else {"no row"})
        )

    def broken_form(self, pair: Pair, language: str) -> str:
        """Say what else is broken in a pair, or may make its bad sentence good, that no annotation says; or nothing."""
        one, other = pair["verb"].lower(), pair["wrong_verb"].lower()
        if language == "eus":
            marks = [(form.startswith("ba"), form.endswith("la"), form.endswith("n")) for form in (one, other)]
            present = {one[0], other[0]} == {"d", "z"} and pair["feature"].startswith("Number")
            return "a tense or a particle" if marks[0] != marks[1] or present else ""
        for verb, subject, children in self.subject_of(pair):
            counted = any(child[5].startswith("nummod") and child[1] not in ("bir", "один") for child in children)
            counted = counted and pair["feature"] != "Person"
            if language == "tur" and verb[1] == "de" and pair["distance"] < 0 and subject[2] == "NOUN":
                return "a noun behind demek"
            if language == "tur" and (counted or self.is_address(pair, subject, children)):
                return "a noun with a numeral, or one that can be an address"
            if language == "rus" and ("Case=Gen" in subject[3] or counted or self.is_indeclinable(subject)):
                return "a subject in the genitive, with a numeral, or of one form"
        return ""

    def is_address(self, pair: Pair, subject: Row, children: list[Row]) -> bool:
        """Tell whether the noun of a Turkish pair may be an address in the bad sentence."""
        if subject[1] not in self.addressed or "Person[psor]=3" in subject[3]:
            return False
        if any(child[5] in ("det", "nummod") for child in children):
            return False
        comma = f"{subject[0]}," in pair["sentence_good"] and pair["feature"] == "Person"
        return bool(pair["distance"] < 0 or pair["feature_vals"].endswith(" 2") or comma)

    def is_indeclinable(self, subject: Row) -> bool:
        """Tell whether a plural noun has its lemma's form, and no other form is known."""
        lemma = subject[1].lower()
        return subject[2] == "NOUN" and "Number=Plur" in subject[3] and self.forms[lemma] == {lemma}

    def in_unimorph(self, pair: Pair) -> bool:
        """Tell whether two rows of a lemma of UniMorph differ in the asked feature alone."""
        base, _, layer = pair["feature"].rstrip("]").partition("[")
        verb, wrong = pair["verb"].lower(), pair["wrong_verb"].lower()
        has = next((features_of(subject[3]) | {"": subject[2]} for _, subject, _ in self.subject_of(pair)), {})
        expected = {SAME.get(value, value.upper()) for value in has.values()}
        expected |= {"3"} if has.get("") == "NOUN" else set()
        rows = (
            (one, other)
            for forms in self.tags.values()
            if verb in forms and wrong in forms
            for one in forms[verb]
            for other in forms[wrong]
        )
        case = f"{layer.upper()}." if layer else ""
        return any(differ_in(base, case, one, other, expected) for one, other in rows)


def plain_tags(cell: str) -> list[str]:
    """Return the features of a row; UniMorph 4.0 writes ERG(3,SG), which becomes ERG.3;ERG.SG, and NOM(3,SG) 3;SG.

    The English infinitive stands for the present of the first and second person and of the plural too.
    """
    parts = []
    for part in cell.split(";"):
        case, _, inside = part.rstrip(")").partition("(")
        parts += [one if case == "NOM" else f"{case}.{one}" for one in inside.split(",")] if inside else [part]
    whole = ";".join(parts)
    return [whole, *(f"V;PRS;{more}" for more in ("1;SG", "2;SG", "PL") if whole == "V;NFIN")]


def recall_of(judge: Judge, pairs: list[Pair]) -> str:
    """Say how many of the subjects for which a pair of number is to be expected have one."""
    made = {
        (pair["treebank"], pair["sentence_id"], pair["verb"]) for pair in pairs if pair["feature"] == "Number"
    }
    # Forms and features of verbs by lemma.
    number: dict[str, list[tuple[str, dict[str, str]]]] = defaultdict(list)
    for (lemma, form), cells in judge.by_form.items():
        number[lemma] += [(form, features_of(cell)) for cell in sorted(cells)]
    found, expected = 0, 0
    for place, rows in judge.sentences.items():
        for at, row in enumerate(rows):
            head = rows[int(row[4]) - 1] if row[4] != "0" else row
            if row[2] != "NOUN" or row[5] != "nsubj" or head[2] != "VERB":
                continue
            verb, own = features_of(head[3]), features_of(row[3]).get("Number")
            conjunct = any(one[4] == str(at + 1) and one[5].startswith("conj") for one in rows)
            finite = verb.get("VerbForm", "Fin") == "Fin" and own is not None and verb.get("Number") == own
            if conjunct or not finite or len(rows) > LONGEST:
                continue
            other = [
                form
                for form, features in number[head[1].lower()]
                if features.get("Number", own) != own and not others(verb, features, "Number")
            ]
            if other and set(other) != {head[0].lower()}:
                expected += 1
                found += (*place, head[0]) in made
    return f"recall of number: {found} of {expected}"


def differ_in(base: str, case: str, one: set[str], other: set[str], expected: set[str]) -> bool:
    """Tell whether two rows of UniMorph differ in a feature alone, what the first leaves out as the subject has it."""
    own = {case + tag for tag in TAGS[base]}
    if not one & own or not other & own or one & other & own:
        return False
    left = (one ^ other) - own - ({"INFM", "FRML"} if base == "Person" else set())
    for name, plain in TAGS.items():
        tags = {case + tag for tag in plain}
        fits = not other & tags or bool(one & other & tags)
        if not one & tags and other & tags:
            fits = name == "Number" or bool(other & {case + tag for tag in expected})
        if name != base and fits:
            left -= tags
    return not left


def read_pairs(folder: Path) -> Iterator[Pair]:
    """Yield the pairs of a made folder."""
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line:
                yield json.loads(line)


def main() -> None:
    """Print a table of kinds by feature, what else changes, and what is kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--treebanks", type=Path, nargs="+", required=True)
    parser.add_argument("--unimorph", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--show", type=int, default=0, help="pairs of the kind other to print")
    asked = parser.parse_args()
    judge = Judge(asked.treebanks, asked.unimorph)
    card = (asked.folder / "card.yaml").read_text(encoding="utf-8")
    language = next(line.partition(":")[2].strip() for line in card.split("\n") if line.startswith("language:"))
    pairs = list(read_pairs(asked.folder))
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    more: Counter[str] = Counter()
    for pair in pairs:
        kind, changed = judge.judge(pair)
        kinds[pair["phenomenon"][:3] + pair["feature"]][kind] += 1
        if kind == "other":
            more[", ".join(sorted(changed))] += 1
            if more.total() <= asked.show:
                print(pair["verb"], ">", pair["wrong_verb"], sorted(changed), pair["sentence_good"])
    for name, counts in sorted(kinds.items()):
        print(
            f"{name:20} {counts.total():5} pairs: {', '.join(f'{kind} {counts[kind]}' for kind in sorted(counts))}"
        )
    total = sum(kinds.values(), Counter[str]())
    print(f"{'all':20} {total.total():5} pairs: {', '.join(f'{kind} {total[kind]}' for kind in sorted(total))}")
    if more:
        print("other:", dict(more.most_common(8)))
    forms = [(judge.broken_form(pair, language), pair) for pair in pairs]
    broken = [(what, pair) for what, pair in forms if what]
    print(f"forms: {len(broken)} of {len(pairs)}", dict(Counter(what for what, _ in broken)))
    for what, pair in broken[: asked.show]:
        print(pair["verb"], ">", pair["wrong_verb"], pair["subject"], what, pair["sentence_good"])
    print(recall_of(judge, pairs))
    if asked.before is not None:
        print(kept_of(asked.before, pairs, judge, language))


def kept_of(before: Path, pairs: list[Pair], judge: Judge, language: str) -> str:
    """Say how many of the pairs of an older folder in which nothing else is broken are among the pairs."""
    old = [p for p in read_pairs(before) if judge.judge(p)[0] != "other" and not judge.broken_form(p, language)]
    exact = {(pair["sentence_good"], pair["sentence_bad"]) for pair in pairs}
    same = {(pair["sentence_good"], pair["feature_vals"]) for pair in pairs}
    kept = sum((pair["sentence_good"], pair["sentence_bad"]) in exact for pair in old)
    again = sum((pair["sentence_good"], pair["feature_vals"]) in same for pair in old)
    return f"before: {len(old)} minimal pairs; kept as they are {kept}, with the same sentence and values {again}"


if __name__ == "__main__":
    main()
