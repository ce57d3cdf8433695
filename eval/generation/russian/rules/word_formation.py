"""Words that cannot be formed: a suffix or prefix too many, prefixes in the wrong order (paradigms 1 to 3)."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from eval.generation.candidate import Candidate
from eval.generation.russian.grammar.forms import spell
from eval.generation.russian.grammar.lists import read_list
from eval.generation.russian.rule import Rule, Tools, change
from eval.generation.treebank import Sentence, Word

KNOWN: Final = "the result is a word"
UNPRONOUNCEABLE: Final = "the result has letters that do not follow each other"
_SHORTEST_ROOT: Final = 2
_VERBS: Final = ("VERB", "AUX")
_IMPOSSIBLE: Final = ("ъъ", "ьь", "ъь", "ьъ", "ыы", "йй", "ъы", "ьы", "йь", "аъ", "оъ", "уъ", "еъ", "иъ")


def _formed(sentence: Sentence, tools: Tools, word: Word, form: str, subtype: str) -> Candidate | str:
    """Return the pair with a form that is not a word, or the reason why there is none."""
    if any(pair in form for pair in _IMPOSSIBLE):
        return UNPRONOUNCEABLE
    if tools.morphology.is_known(form):
        return KNOWN
    target = spell(tools.morphology, form, word)
    return change(
        sentence, {word.id: target}, source_word=word.form, target_word=target, feature="Formation",
        source_value="", target_value=form, subtype=subtype,
    )  # fmt: skip


def _roots(form: str, tools: Tools) -> Iterator[tuple[int, str]]:
    """Yield the roots that a form may have, each with the place of its end; a prefix may stand before it."""
    starts = [0, *(len(prefix) for prefix in read_list("affixes")["prefixes"] if form.startswith(prefix))]
    for start in dict.fromkeys(starts):
        for end in range(start + _SHORTEST_ROOT, len(form) + 1):
            if form[start:end] in tools.resources.suffixes:
                yield end, form[start:end]


def _add_suffix(sentence: Sentence, tools: Tools) -> Iterator[Candidate | str]:
    allowed = read_list("affixes")["suffixes"]
    for word in sentence.words:
        form = word.form.lower()
        if word.upos not in ("NOUN", "ADJ") or not tools.morphology.is_known(form):
            continue
        made: dict[str, None] = {}
        for end, root in _roots(form, tools):
            for suffix in tools.resources.suffixes[root]:
                if suffix in allowed and not form[end:].startswith(suffix):
                    made[form[:end] + suffix + form[end:]] = None
        for found in made:
            yield _formed(sentence, tools, word, found, "add_new_suffix")


def prefixes_of(form: str) -> list[str]:
    """Return the verbal prefixes that a form may begin with, the longest first."""
    known = read_list("affixes")["prefixes"]
    found = [prefix for prefix in known if form.startswith(prefix) and len(form) > len(prefix) + 2]
    return sorted(found, key=len, reverse=True)


def _add_prefix(sentence: Sentence, tools: Tools) -> Iterator[Candidate | str]:
    for word in sentence.words:
        form = word.form.lower()
        if word.upos not in _VERBS or not tools.morphology.is_known(form):
            continue
        places = [0, *(len(prefix) for prefix in prefixes_of(form))]
        made = [
            form[:at] + prefix + form[at:]
            for at in dict.fromkeys(places)
            for prefix in read_list("affixes")["internal_prefixes"]
            if not form[at:].startswith(prefix)
        ]
        for found in dict.fromkeys(made):
            yield _formed(sentence, tools, word, found, "add_verb_prefix")


def _swap_prefixes(sentence: Sentence, tools: Tools) -> Iterator[Candidate | str]:
    for word in sentence.words:
        form = word.form.lower()
        if word.upos not in (*_VERBS, "ADJ") or not tools.morphology.is_known(form):
            continue
        made: dict[str, None] = {}
        for first in prefixes_of(form):
            rest = form[len(first) :]
            for second in prefixes_of(rest):
                if second != first:
                    made[second + first + rest[len(second) :]] = None
        for found in made:
            yield _formed(sentence, tools, word, found, "change_verb_prefixes_order")


_rule = partial(Rule, phenomenon="Word Formation", level="Morphology")

RULES: Final = (
    _rule(paradigm="add_new_suffix", find=_add_suffix),
    _rule(paradigm="add_verb_prefix", find=_add_prefix),
    _rule(paradigm="change_verb_prefixes_order", find=_swap_prefixes),
)
