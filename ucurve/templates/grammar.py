"""Binds templates to a vocabulary and phrases: checks every rule and finds its words before anything is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ucurve.errors import UserError, unknown_name
from ucurve.templates.rules import Direct, Phrase, Relation, Rule, Slot, Word
from ucurve.templates.template import Expansion, Phrases, Template
from ucurve.templates.vocabulary import SURFACE, Vocabulary, WordSet


@dataclass(frozen=True)
class Pool:
    """The words a slot may hold, and its relations to other slots."""

    words: WordSet
    relations: tuple[Relation, ...]
    copies: bool  # whether it speaks of a word itself (`expression`) and so may repeat one of the sentence
    keeps: tuple[str, ...] = ()  # properties that the good word of the slot shares
    changes: tuple[str, ...] = ()  # properties in which it differs from that word


@dataclass
class Group:
    """The expansions of a phrase, filled in after it is made because a phrase may hold itself."""

    expansions: list[tuple["Alternatives", ...]] = field(default_factory=list)


Alternative = Direct | Pool | Group
Alternatives = tuple[Alternative, ...]


@dataclass(frozen=True)
class TiedTemplate:
    """A template whose rules are tied to words."""

    template: Template  # what it was made from
    good: tuple[Alternatives, ...]  # the slots of the good member
    # For each slot of the bad member, the position in the good member whose words it takes, or its own rules.
    bad: tuple[int | Alternatives, ...]


def draws_words(tied: TiedTemplate) -> bool:
    """Say whether a slot of the bad member draws a word without keeping anything of the good one."""
    slots = (slot for slot in tied.bad if not isinstance(slot, int))
    return any(isinstance(choice, Pool) and not choice.keeps for slot in slots for choice in slot)


class Grammar:
    """A vocabulary and the phrases over it."""

    def __init__(self, vocabulary: Vocabulary, phrases: Phrases, source: str = "the phrases") -> None:
        self.vocabulary = vocabulary
        self._phrases = phrases
        self._groups: dict[Phrase, Group] = {}
        for name, expansions in phrases.items():
            for rule in (slot[0] for expansion in expansions for slot in expansion):
                if isinstance(rule, Phrase) and rule.name not in phrases:
                    raise unknown_name("phrase", rule.name, phrases, f"{source}: phrase {name!r}")
        _check_ends(phrases, source)

    def tie(self, template: Template) -> TiedTemplate:
        """Tie a template to this grammar."""
        good = self._tie_slots(template.good, f"{template.file}: good_rule")
        where = f"{template.file}: bad_rule"
        for position, (ours, theirs) in enumerate(zip(template.good, template.bad, strict=True)):
            if _forms(theirs) and not any(isinstance(rule, Word) for rule in ours):
                raise UserError(
                    f"{where}[{position}]: good_rule[{position}] holds no vocabulary word to keep or change"
                )
        bad = (
            self._tie_slot(position, template.bad, where) if source is None else source
            for position, source in enumerate(_sources(template))
        )
        return TiedTemplate(template, good, tuple(bad))

    def _tie_slots(self, slots: Sequence[Slot], where: str) -> tuple[Alternatives, ...]:
        for position, slot in enumerate(slots):
            if _forms(slot):
                raise UserError(
                    f"{where}[{position}]: keep and change speak of a good word; they belong to a bad_rule"
                )
        return tuple(self._tie_slot(position, slots, where) for position in range(len(slots)))

    def _tie_slot(self, position: int, slots: Sequence[Slot], where: str) -> Alternatives:
        return tuple(self._tie_rule(rule, position, slots, f"{where}[{position}]") for rule in slots[position])

    def _tie_rule(self, rule: Rule, position: int, slots: Sequence[Slot], where: str) -> Alternative:
        """Find the words of one rule of a slot; a ``UserError`` names what vocabulary or phrases lack."""
        if isinstance(rule, Direct):
            return rule
        if isinstance(rule, Phrase):
            if rule.name not in self._phrases:
                raise unknown_name("phrase", rule.name, self._phrases, where)
            if rule not in self._groups:
                group = self._groups[rule] = Group()  # before it is filled, as a phrase may hold itself
                for expansion in self._phrases[rule.name]:
                    group.expansions.append(self._tie_slots(_overridden(expansion, rule, where), where))
            return self._groups[rule]
        self.vocabulary.check(rule.filters, where)
        relations = tuple(self._tie_relation(relation, position, slots, where) for relation in rule.relations)
        named = [name for name, _ in rule.filters] + [
            name for relation in relations for name in relation.properties
        ]
        for name in rule.keeps + rule.changes:
            self.vocabulary.check_property(name, where)
        return Pool(self.vocabulary.where(rule.filters), relations, SURFACE in named, rule.keeps, rule.changes)

    def _tie_relation(self, relation: Relation, position: int, slots: Sequence[Slot], where: str) -> Relation:
        """Check a relation, and count the position of the other slot from the first."""
        for name in relation.properties:
            self.vocabulary.check_property(name, where)
        if not -len(slots) <= relation.position < len(slots):
            last = len(slots) - 1
            raise UserError(f"{where}: there is no slot {relation.position}; slots are 0 to {last}, -1 the last")
        other = relation.position % len(slots)
        if other == position:
            raise UserError(f"{where}: a slot cannot be related to itself")
        if not any(isinstance(rule, Word) for rule in slots[other]):
            raise UserError(f"{where}: slot {relation.position} holds no vocabulary word to be related to")
        return Relation(other, relation.properties, relation.agrees)


def _forms(slot: Slot) -> bool:
    """Say whether a slot asks for a form of the good word that stands there."""
    return any(isinstance(rule, Word) and bool(rule.keeps or rule.changes) for rule in slot)


def _sources(template: Template) -> list[int | None]:
    """Find for each bad slot the good slot whose words it takes, or None where it is drawn again.

    A slot that reads as in the good list keeps its words; another one takes those of the first good slot that reads the
    same. Only a copy of a word that is drawn again (``expression``) changes with it.
    """
    good = template.good
    same = [
        position if good[position] == slot else good.index(slot) if slot in good else None
        for position, slot in enumerate(template.bad)
    ]
    sources = []
    for slot, source in zip(template.bad, same, strict=True):
        relations = [relation for rule in slot if isinstance(rule, Word) for relation in rule.relations]
        copies_new = source is not None and any(
            relation.agrees and SURFACE in relation.properties and same[relation.position] is None
            for relation in relations
        )
        sources.append(None if copies_new else source)
    return sources


def _overridden(expansion: Expansion, phrase: Phrase, where: str) -> Expansion:
    """Return an expansion with the further conditions that a phrase has for some of its elements."""
    elements = list(expansion)
    for position, filters in phrase.overrides:
        rule = elements[position][0] if -len(elements) <= position < len(elements) else None
        if not isinstance(rule, Word):
            raise UserError(
                f"{where}: an expansion of phrase {phrase.name!r} has no vocabulary word at {position}"
            )
        elements[position] = (Word(rule.filters + filters, rule.relations),)
    return tuple(elements)


def _check_ends(phrases: Phrases, source: str) -> None:
    """Refuse a phrase that holds itself in each expansion, which could never be written out."""

    def can_end(expansion: Expansion) -> bool:
        return all(not isinstance(slot[0], Phrase) or slot[0].name in ending for slot in expansion)

    ending: set[str] = set()
    while found := {name for name in phrases if name not in ending and any(map(can_end, phrases[name]))}:
        ending |= found
    if endless := sorted(set(phrases) - ending):
        raise UserError(f"{source}: phrase {endless[0]!r} can never end, each of its expansions holds it again")
