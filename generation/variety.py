"""How varied sentences are, and how often what syntax is about stands in them, by their parses in CoNLL-U files.

Sources: Taktasheva and others 2024, RuBLiMP, Table 3 and appendix D; Kryvosheieva and Levy, Controlled Evaluation of
Syntactic Knowledge in Multilingual Language Models, section 5.1.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final

import pandas as pd

from ucurve.errors import UserError
from ucurve.eval.pairs import WORD
from ucurve.generation.treebank import ROOT, Sentence, Word, find_files, read_treebank
from ucurve.templates.pair import Value
from ucurve.text_table import format_table
from ucurve.training.corpus.files import ALLOWED_FILES, file_form
from ucurve.training.corpus.readers import read_documents

_TAGS: Final = 5  # parts of speech in a sequence
# These are relations of Universal Dependencies: those by which a clause hangs on its head.
_CLAUSES: Final = frozenset({"root", "csubj", "ccomp", "xcomp", "advcl", "acl", "parataxis"})
# By these a phrase depends on the predicate of its clause.
_PARTS: Final = frozenset({"nsubj", "obj", "iobj", "obl", "advmod", "vocative", "expl", "dislocated"})
_PHRASES: Final = {
    "NOUN": "NP",
    "PROPN": "NP",
    "PRON": "NP",
    "NUM": "NP",
    "DET": "NP",
    "ADJ": "AP",
    "ADV": "ADVP",
}
_ARGUMENTS: Final = {"nsubj": "subjects", "obj": "direct objects", "iobj": "indirect objects"}

_Row = dict[str, Value]


def variety_of_pairs(pairs: pd.DataFrame, parses: Sequence[str], corpus: Sequence[str]) -> str:
    """Return a table of the good sentences of each level and phenomenon, and of all; of what is in ``parses``.

    ``parses`` and ``corpus`` are files or patterns of them: CoNLL-U, and texts in which words are counted.
    """
    wanted = set(pairs["good"])
    parsed = {sentence.text: sentence for sentence in _read(parses) if sentence.text in wanted}
    frequent = _frequent(corpus)
    # RuBLiMP's Table 3 is by level.
    groups = [
        group
        for column in ("level", "phenomenon")
        if column in pairs
        for group in pairs.groupby(column, sort=False)
    ]
    rows = [
        _variety(str(name), len(goods), [parsed[good] for good in goods if good in parsed], frequent)
        for name, goods in [*((name, group["good"]) for name, group in groups), ("all", pairs["good"])]
    ]
    return format_table(rows)


def treebank_report(parses: Sequence[str], corpus: Sequence[str]) -> str:
    """Return tables of the sentences of CoNLL-U files: how varied they are, their arguments, their verbs by aspect."""
    sentences = list(_read(parses))
    variety = _variety("all", len(sentences), sentences, _frequent(corpus))
    tables = [[variety], count_arguments(sentences), count_aspects(sentences)]
    return "\n\n".join(format_table(table) for table in tables if table)


def count_arguments(sentences: Iterable[Sentence]) -> list[_Row]:
    """Count subjects, direct objects and indirect objects, whatever their subtype."""
    counts = Counter(word.relation for sentence in sentences for word in sentence.words)
    return [{"argument": name, "count": counts[relation]} for relation, name in _ARGUMENTS.items()]


def count_aspects(sentences: Iterable[Sentence]) -> list[_Row]:
    """Count the verbs of each aspect, and those of them that stand behind a subject and, behind this, an object."""
    counts, behind = Counter[str](), Counter[str]()
    for sentence in sentences:
        for verb in sentence.words:
            aspect = verb.feats.get("Aspect") if verb.upos == "VERB" else None
            if aspect is not None:
                counts[aspect] += 1
                before = [child.relation for child in sentence.children[verb.id] if child.id < verb.id]
                behind[aspect] += "nsubj" in before and "obj" in before[before.index("nsubj") :]
    return [
        {"aspect": name, "verbs": count, "after S and O": behind[name]} for name, count in counts.most_common()
    ]


def depth(sentence: Sentence) -> int:
    """Return how many dependencies lie between the root and the word that is farthest from it, signs included."""
    return max((level for level, _ in _downwards(sentence)), default=0)


def count_heads(sentence: Sentence) -> int:
    """Count the words that others depend on: what RuBLiMP's files and its Table 3 have as the depth of a tree."""
    return sum(bool(sentence.children[word.id]) for word in sentence.words)


def tag_sequences(sentence: Sentence) -> set[tuple[str, ...]]:
    """Return the sequences of five parts of speech in a sentence."""
    tags = [word.upos for word in sentence.words]
    return set(zip(*(tags[at:] for at in range(_TAGS)), strict=False))


def pattern(sentence: Sentence) -> str:
    """Return the verbs, clauses and phrases of a sentence in their order, such as ``NP V-TRANS NP``.

    What depends on the predicate of a clause is a phrase, and all that depends on the phrase is in it, but for the
    clauses there, which are taken apart in the same way. Signs and function words have no place of their own.
    """
    clauses, parts = set[int](), list[Word]()
    for _, word in _downwards(sentence):
        is_clause = word.relation in _CLAUSES or (word.relation == "conj" and word.head in clauses)
        if is_clause:
            clauses.add(word.id)
        if is_clause or (word.relation in _PARTS and word.head in clauses):
            parts.append(word)
    labels = []
    for word in sorted(parts, key=lambda word: word.id):
        relations = {child.relation for child in sentence.children[word.id]}
        if word.upos in ("VERB", "AUX"):
            labels.append("V-TRANS" if "obj" in relations else "V-INTRANS")
        else:
            labels.append("PP" if "case" in relations else _PHRASES.get(word.upos, word.upos))
    return " ".join(labels)


def _downwards(sentence: Sentence) -> Iterator[tuple[int, Word]]:
    """Yield the words below the root, each after its head, with the number of dependencies above it."""
    level, words = 0, sentence.children[ROOT]
    while words:
        yield from ((level, word) for word in words)
        level, words = level + 1, tuple(child for word in words for child in sentence.children[word.id])


def _variety(name: str, number: int, sentences: Sequence[Sentence], frequent: Set[str] | None) -> _Row:
    """Return the row of a group of ``number`` sentences, of which ``sentences`` are parsed; means are per sentence."""
    forms = [[word.form.lower() for word in sentence.words] for sentence in sentences]
    patterns = len({pattern(sentence) for sentence in sentences})
    shares = (
        [100 * sum(form in frequent for form in one) / len(one) for one in forms] if frequent is not None else []
    )
    return {
        "of": name,
        "sentences": number,
        "parsed": len(sentences),
        "patterns": patterns,
        "sentences a pattern": round(len(sentences) / patterns, 2) if patterns else None,
        "words": len({form for one in forms for form in one}),
        "tag 5-grams": len({found for sentence in sentences for found in tag_sequences(sentence)}),
        "depth": _mean([depth(sentence) for sentence in sentences]),
        "heads": _mean([count_heads(sentence) for sentence in sentences]),
        "length": _mean([len(one) for one in forms]),
        "frequent (%)": _mean(shares),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 2) if values else None


def _read(parses: Sequence[str]) -> Iterator[Sentence]:
    found = (sentence for file in find_files(parses, "parses") for sentence in read_treebank(file))
    # A sentence without words would divide by zero in the shares.
    return (sentence for sentence in found if sentence.words)


def _frequent(corpus: Sequence[str]) -> set[str] | None:
    """Return the words and signs, in small letters, that occur at least once in a million; None without texts."""
    counts = Counter[str]()
    for file in find_files(corpus, "corpus"):
        if file_form(file) is None:
            raise UserError(f"corpus: {file} is no file of text; {ALLOWED_FILES}")
        for document in read_documents(file, "line", "text"):
            counts.update(WORD.findall(document.lower()))
    return {word for word, count in counts.items() if count * 1_000_000 >= counts.total()} if corpus else None
