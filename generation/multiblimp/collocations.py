"""Whether a language has agreement, by how often the values of two words are the same (MultiBLiMP, section 4.2)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scipy.stats import binomtest

from ucurve.generation.multiblimp.features import WORDS, Features, feature_names, features_of
from ucurve.generation.multiblimp.lexicon import Lexicon
from ucurve.generation.multiblimp.relations import Relation, values_of
from ucurve.generation.treebank import Word
from ucurve.templates.pair import Value

BASELINE = 0.9
LEVEL = 0.1 / 2  # of each of the two tests, after Bonferroni
ENOUGH = 10  # counts above which a share over the baseline is called probable
Mark = Literal["significant", "probable", "uncertain", "none"]
# Beside its subject a finite verb is taken for indicative, so entries of its form in other moods do not count.
INDICATIVE = {"Mood": frozenset(["Ind"])}


class Condition(NamedTuple):
    """What relations have in common that are counted together and make pairs of one kind."""

    kind: str  # of the relation
    feature: str  # of the verb, with its layer
    value: str  # of the subject
    order: str  # of subject and verb


@dataclass(frozen=True)
class Collocation:
    """How often a word has the value of its subject."""

    condition: Condition
    same: int  # subjects with the value whose verb has it too
    total: int  # all subjects with the value
    # By the binomial test that the probability is above ``BASELINE``; None without counts.
    p_greater: float | None
    p_less: float | None  # the same for below
    mark: Mark

    def row(self) -> dict[str, Value]:
        """Return it as a row of the table ``agreement``."""
        found = self.condition
        return {
            "relation": found.kind, "feature": found.feature, "value": found.value, "order": found.order,
            "same": self.same, "total": self.total, "share": round(self.same / self.total, 4) if self.total else None,
            "p_greater": self.p_greater, "p_less": self.p_less, "agreement": self.mark,
        }  # fmt: skip


def judge_collocation(condition: Condition, same: int, total: int) -> Collocation:
    """Test whether words of a language agree.

    Agreement is significant where the probability that the verb has the subject's value is above .9, ruled out where it
    is below, each by a one-sided binomial test. Between the two it is probable with more than ``ENOUGH`` counts and a
    share above .9, and uncertain otherwise.
    """
    if not total:
        return Collocation(condition, 0, 0, None, None, "uncertain")
    greater = float(binomtest(same, total, BASELINE, alternative="greater").pvalue)
    less = float(binomtest(same, total, BASELINE, alternative="less").pvalue)
    if greater < LEVEL:
        mark: Mark = "significant"
    elif less < LEVEL:
        mark = "none"
    else:
        mark = "probable" if total > ENOUGH and same / total > BASELINE else "uncertain"
    return Collocation(condition, same, total, round(greater, 6), round(less, 6), mark)


def count_collocations(
    relations_of: Mapping[str, Iterable[Relation]], lexicon: Lexicon
) -> Mapping[Condition, Collocation]:
    """Count and test, for each kind of relation, feature, value of the subject and word order.

    A word of one value and one of several, among them the first one's, count as the same; a relation of which a word
    has no value is not counted.
    """
    counts: Counter[tuple[Condition, bool]] = Counter()
    for feature, relations in relations_of.items():
        for relation in relations:
            fits = relation.subject.upos in feature_names().agreeing[feature].subjects
            pair = _values(relation, feature, lexicon) if fits else None
            # A relation of which a word has no value is not counted.
            if pair is not None:
                of_subject, of_target = pair
                condition = Condition(relation.kind, relation.name_of(feature), of_subject, relation.order)
                counts[condition, of_subject == of_target] += 1
    conditions = sorted({condition for condition, _ in counts})
    return {
        one: judge_collocation(one, counts[one, True], counts[one, True] + counts[one, False])
        for one in conditions
    }


def subject_context(subject: Word) -> Features:
    """Return the cases that other entries of a subject's form may have: the nominative, and its own."""
    return {"Case": frozenset(["Nom"]) | features_of(subject).get("Case", frozenset())}


def _values(relation: Relation, feature: str, lexicon: Lexicon) -> tuple[str, str] | None:
    """Return the values of subject and target; of a word of several that of the other, if among them; else None."""
    subject = values_of(
        relation.subject, WORDS[relation.subject.upos], feature, lexicon, subject_context(relation.subject)
    )
    context = INDICATIVE if relation.kind == "SV" else features_of(relation.target)
    target = values_of(relation.target, "VERB", relation.name_of(feature), lexicon, context)
    if subject is None or target is None:
        return None
    if len(subject) == len(target) == 1:
        return next(iter(subject)), next(iter(target))
    smaller, larger = sorted((subject, target), key=len)
    if len(smaller) == 1 and smaller <= larger:  # a word of several values may have the other's
        return next(iter(smaller)), next(iter(smaller))
    return None
