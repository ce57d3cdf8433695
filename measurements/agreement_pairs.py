"""Count the pairs of a made folder in which a feature other than the asked one changes, by reading the treebanks anew.

python measurements/agreement_pairs.py FOLDER --treebanks FILE... [--unimorph FILE] [--before FOLDER] [--show N]

It shares no code with the maker: files of CoNLL-U and UniMorph are read line by line here. For each pair it takes the
features of the verb in its sentence, and those of all words of the treebanks with the same lemma and the form of the
bad sentence. A pair is

- equal, if one of these has the features of the verb but for the column ``feature``,
- gender, if one has so but for Gender and Animacy too, each missing in one of the two or with a value in common,
- unimorph, if not in the treebanks but in UniMorph two rows of one lemma differ in that feature alone; number, person
  and gender that one of them leaves out do not count,
- other, if none of this holds.

With --before it also says how many pairs of an older folder that are not of the kind other are in the new one, as the
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
Row = tuple[str, str, str, str]  # form, lemma, part of speech, features
APART = {"Gender", "Animacy"}
TAGS = {"Number": {"SG", "PL", "DU"}, "Person": {"0", "1", "2", "3", "4"}, "Gender": {"MASC", "FEM", "NEUT", "COM"}}


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
                found[file.name.split(".")[0], name].append((cells[1], cells[2], cells[3], cells[5]))
    return found


def features_of(cell: str) -> dict[str, str]:
    """Return the features of a cell of CoNLL-U."""
    return {} if cell == "_" else dict(part.split("=", 1) for part in cell.split("|"))


def others(one: dict[str, str], other: dict[str, str], asked: str) -> set[str]:
    """Return the features but for the asked one that are not the same."""
    return {name for name in {*one, *other} - {asked} if one.get(name) != other.get(name)}


def is_neutral(one: dict[str, str], other: dict[str, str], name: str) -> bool:
    """Tell whether a difference is one of gender or animacy that is missing in one of two words or may be the same."""
    if name not in APART:
        return False
    return name not in one or name not in other or bool({*one[name].split(",")} & {*other[name].split(",")})


class Judge:
    """Says of pairs what changes in them."""

    def __init__(self, treebanks: list[Path], unimorph: Path | None) -> None:
        self.sentences = read_rows(treebanks)
        self.by_form: dict[tuple[str, str], set[str]] = defaultdict(set)
        for rows in self.sentences.values():
            for form, lemma, part, cell in rows:
                if part in ("VERB", "AUX"):
                    self.by_form[lemma.lower(), form.lower()].add(cell)
        self.tags: dict[str, dict[str, list[set[str]]]] = defaultdict(lambda: defaultdict(list))
        for line in unimorph.read_text(encoding="utf-8").split("\n") if unimorph else []:
            cells = line.rstrip("\r").split("\t")
            if len(cells) > 2 and cells[2].startswith("V"):
                self.tags[cells[0].lower()][cells[1].lower()].append(set(cells[2].split(";")))

    def judge(self, pair: Pair) -> tuple[str, set[str]]:
        """Return the kind of a pair, and the features that change in it besides the asked one."""
        asked, wrong = pair["feature"], pair["wrong_verb"].lower()
        best: set[str] | None = None
        for form, lemma, part, cell in self.sentences[pair["treebank"], pair["sentence_id"]]:
            if form != pair["verb"] or part not in ("VERB", "AUX"):
                continue
            one = features_of(cell)
            for other in map(features_of, self.by_form.get((lemma.lower(), wrong), ())):
                if asked in other and other[asked] != one.get(asked):
                    found = others(one, other, asked)
                    rest = {name for name in found if not is_neutral(one, other, name)}
                    if best is None or (len(rest), len(found)) < (len(best - APART), len(best)):
                        best = found if rest else found & APART
        if best is not None and not best:
            return "equal", best
        if best is not None and best <= APART:
            return "gender", best
        return ("unimorph", set()) if self.in_unimorph(pair) else ("other", best if best is not None else {"no row"})

    def in_unimorph(self, pair: Pair) -> bool:
        """Tell whether two rows of a lemma of UniMorph differ in the asked feature alone."""
        own, verb, wrong = pair["feature"].split("[")[0], pair["verb"].lower(), pair["wrong_verb"].lower()
        rows = (
            (one, other)
            for forms in self.tags.values()
            if verb in forms and wrong in forms
            for one in forms[verb]
            for other in forms[wrong]
        )
        return any(differ_in(own, one, other) for one, other in rows)


def differ_in(own: str, one: set[str], other: set[str]) -> bool:
    """Tell whether two rows of UniMorph differ in a feature alone, what one of them leaves out apart."""
    if not one & TAGS[own] or not other & TAGS[own] or one & other & TAGS[own]:
        return False
    left = (one ^ other) - TAGS[own]
    for name, tags in TAGS.items():
        if name != own and not (one & tags and other & tags):
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
    pairs = list(read_pairs(asked.folder))
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    more: Counter[str] = Counter()
    for pair in pairs:
        kind, changed = judge.judge(pair)
        kinds[pair["phenomenon"][:3] + pair["feature"]][kind] += 1
        if kind == "other":
            more[", ".join(sorted(changed))] += 1
            if asked.show:
                asked.show -= 1
                print(pair["verb"], ">", pair["wrong_verb"], sorted(changed), pair["sentence_good"])
    for name, counts in sorted(kinds.items()):
        print(f"{name:20} {counts.total():5} pairs: {', '.join(f'{kind} {counts[kind]}' for kind in sorted(counts))}")
    total = sum(kinds.values(), Counter[str]())
    print(f"{'all':20} {total.total():5} pairs: {', '.join(f'{kind} {total[kind]}' for kind in sorted(total))}")
    if more:
        print("other:", dict(more.most_common(8)))
    if asked.before is not None:
        print(kept_of(asked.before, pairs, judge))


def kept_of(before: Path, pairs: list[Pair], judge: Judge) -> str:
    """Say how many of the minimal pairs of an older folder are among the pairs."""
    old = [pair for pair in read_pairs(before) if judge.judge(pair)[0] != "other"]
    exact = {(pair["sentence_good"], pair["sentence_bad"]) for pair in pairs}
    same = {(pair["sentence_good"], pair["feature_vals"]) for pair in pairs}
    kept = sum((pair["sentence_good"], pair["sentence_bad"]) in exact for pair in old)
    again = sum((pair["sentence_good"], pair["feature_vals"]) in same for pair in old)
    return f"before: {len(old)} minimal pairs; kept as they are {kept}, with the same sentence and values {again}"


if __name__ == "__main__":
    main()
