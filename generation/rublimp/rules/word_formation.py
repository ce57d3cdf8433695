"""Words that cannot be formed: a suffix or prefix too many, prefixes in the wrong order (paradigms 1 to 3)."""

from collections.abc import Iterator
from typing import Final

from ucurve.generation.rublimp.grammar.lists import read_list
from ucurve.generation.rublimp.grammar.morphology import analyses, is_known
from ucurve.generation.rublimp.resources import Resources
from ucurve.generation.rublimp.rule import Found, replace_word, rules
from ucurve.generation.treebank import Sentence, Word
from ucurve.templates.pair import Pair

KNOWN: Final = "the result is a word"
UNPRONOUNCEABLE: Final = "the result has letters that do not follow each other"
_SHORTEST_ROOT: Final = 2  # letters
_VERBS: Final = ("VERB", "AUX")
_VERBAL: Final = frozenset({"VERB", "INFN", "PRTF", "PRTS", "GRND"})  # participles and converbs are among them
# No Russian word has these letters side by side.
_IMPOSSIBLE: Final = ("ъъ", "ьь", "ъь", "ьъ", "ыы", "йй", "ъы", "ьы", "йь", "аъ", "оъ", "уъ", "еъ", "иъ")


def _formed(sentence: Sentence, word: Word, form: str, subtype: str) -> Pair | str:
    """Return the pair with a form that is not a word, or the reason why there is none."""
    if any(pair in form for pair in _IMPOSSIBLE):
        return UNPRONOUNCEABLE
    return nonword(sentence, word, form, "Formation", ("", form), subtype)


def nonword(
    sentence: Sentence, word: Word, form: str, feature: str, values: tuple[str, str], subtype: str
) -> Pair | str:
    """Return the pair with a form, or that it is a word: a form of the same one or of another."""
    return KNOWN if is_known(form) else replace_word(sentence, word, form, feature, values, subtype)


def _roots(form: str, resources: Resources) -> Iterator[tuple[int, str]]:
    """Yield the roots that a form may have, each with the place of its end; a prefix may stand before it."""
    # Words are cut by the lists of roots and prefixes alone, since the published segmentation is not known.
    starts = [0, *(len(prefix) for prefix in read_list("affixes")["prefixes"] if form.startswith(prefix))]
    for start in dict.fromkeys(starts):
        for end in range(start + _SHORTEST_ROOT, len(form) + 1):
            root = form[start:end]
            prefixed = start == 0 or form[:start] in resources.prefixes.get(root, ())
            if prefixed and root in resources.suffixes:
                yield end, root


def _add_suffix(sentence: Sentence, resources: Resources) -> Found:
    """Yield the sentence with a noun or adjective that has one more suffix after its root."""
    allowed = read_list("affixes")["suffixes"]
    for word in sentence.words:
        form = word.form.lower()
        if word.upos not in ("NOUN", "ADJ") or not is_known(form):
            continue
        made = (
            form[:end] + suffix + form[end:]
            for end, root in _roots(form, resources)
            for suffix in resources.suffixes[root]
            if suffix in allowed and not form[end:].startswith(suffix)
        )
        for found in dict.fromkeys(made):  # two segmentations may give one form
            yield _formed(sentence, word, found, "add_new_suffix")


def prefixes_of(form: str) -> list[str]:
    """Return the verbal prefixes that a form may begin with, the longest first."""
    known = read_list("affixes")["prefixes"]
    found = [prefix for prefix in known if form.startswith(prefix) and len(form) > len(prefix) + 2]
    return sorted(found, key=len, reverse=True)


def _is_verb(form: str) -> bool:
    """Say whether a form is one of a verb in the dictionary."""
    return is_known(form) and any(parse.tag.POS in _VERBAL for parse in analyses(form))


def _begins_with_root(form: str) -> bool:
    """Say whether the root of a form begins with letters that look like a prefix."""
    return form.startswith(tuple(read_list("affixes")["like_prefixed"]))


def _takes(resources: Resources, form: str, *prefixes: str) -> bool:
    """Say whether a form begins with a root that the concordance knows with each of the prefixes."""
    roots = (form[:end] for end in range(_SHORTEST_ROOT, len(form) + 1))
    return any(set(prefixes) <= set(resources.prefixes.get(root, ())) for root in roots)


def _after_prefixes(resources: Resources, form: str) -> Iterator[str]:
    """Yield what is left of a verb without one of its prefixes, where that is a verb too."""
    for prefix in prefixes_of(form) if not _begins_with_root(form) else ():
        rest = form[len(prefix) :]
        if _is_verb(rest) and _takes(resources, rest, prefix):
            yield rest
    yield from (second + stem for _, second, stem in _prefixed_twice(resources, form))


def _prefixed_twice(resources: Resources, form: str) -> Iterator[tuple[str, str, str]]:
    """Yield the two prefixes that a verb may have and what follows them; without the first it is a verb too."""
    inner = read_list("affixes")["internal_prefixes"]
    if _begins_with_root(form):
        return
    for first in prefixes_of(form):
        rest = form[len(first) :]
        if _begins_with_root(rest) or not _is_verb(rest):
            continue
        for second in prefixes_of(rest):
            stem = rest[len(second) :]
            if second != first and second in inner and _takes(resources, stem, first, second):
                yield first, second, stem


def _add_prefix(sentence: Sentence, resources: Resources) -> Found:
    """Yield the sentence with a verb that has one more prefix, before its own or after one of them."""
    for word in sentence.words:
        form = word.form.lower()
        if word.upos not in _VERBS or not _is_verb(form):
            continue
        made = [
            form[: len(form) - len(rest)] + prefix + rest
            for rest in (form, *_after_prefixes(resources, form))
            for prefix in read_list("affixes")["internal_prefixes"]
            if not rest.startswith(prefix)
        ]
        for found in dict.fromkeys(made):
            yield _formed(sentence, word, found, "add_verb_prefix")


def _swap_prefixes(sentence: Sentence, resources: Resources) -> Found:
    """Yield the sentence with a verb of two prefixes in the other order."""
    for word in sentence.words:
        form = word.form.lower()
        if word.upos not in (*_VERBS, "ADJ") or not _is_verb(form):
            continue
        made = [second + first + stem for first, second, stem in _prefixed_twice(resources, form)]
        for found in dict.fromkeys(made):
            yield _formed(sentence, word, found, "change_verb_prefixes_order")


RULES: Final = rules(
    "Word Formation",
    add_new_suffix=_add_suffix,
    add_verb_prefix=_add_prefix,
    change_verb_prefixes_order=_swap_prefixes,
)
