"""The maker of pairs of agreement: from treebanks, and a lexicon of UniMorph where there is one."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError
from ucurve.fields import STRICT, as_tuple
from ucurve.generation.maker import Listed, Made
from ucurve.generation.multiblimp.collocations import Collocation, Condition, count_collocations
from ucurve.generation.multiblimp.features import base_of, feature_names, features_of
from ucurve.generation.multiblimp.inflection import make_candidate, other_forms
from ucurve.generation.multiblimp.languages import LanguageSettings, language_settings, prepared
from ucurve.generation.multiblimp.lexicon import (
    Lexicon,
    count_forms,
    elided_words,
    treebank_entries,
    unimorph_entries,
)
from ucurve.generation.multiblimp.relations import (
    Relation,
    addressed_nouns,
    find_relations,
    has_features,
    is_readable,
)
from ucurve.generation.order import weighted
from ucurve.generation.treebank import find_treebanks, read_treebank
from ucurve.templates.pair import Pair, Value


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Settings:
    """What pairs are made from; conf/source/multiblimp.yaml describes every key."""

    treebanks: Annotated[tuple[str, ...], BeforeValidator(as_tuple), Field(min_length=1)]
    language: Annotated[str, Field(pattern="^[a-z]{3}$")]
    unimorph: Path | None
    stage: Literal["pairs", "agreement"]
    as_published: bool
    license: str


def make(settings: Settings, seed: int) -> Made:
    """List the pairs of every condition: relation, feature, value that becomes another, word order."""
    del seed  # nothing is random before the sample
    language = language_settings(settings.language)
    files, notes = _files(settings, language)
    sentences = [prepared(sentence, language) for file in files for sentence in read_treebank(file)]
    counts = count_forms(sentences)
    entries = treebank_entries(counts, noise=3.0)  # as in section 3.2, "UD features"
    entries += unimorph_entries(settings.unimorph, language) if settings.unimorph is not None else []
    verbs = {(lemma, features): forms for (part, lemma, features), forms in counts.items() if part == "VERB"}
    lexicon = Lexicon(entries, elided_words(sentences), addressed_nouns(sentences, language), verbs)
    readable = [sentence for sentence in sentences if is_readable(sentence)]
    relations = [relation for sentence in readable for relation in find_relations(sentence, language)]
    inflected = _inflected(lexicon)
    notes += [f"{name}: {why}" for name, why in inflected.items() if why]
    features = [name for name, why in inflected.items() if not why]
    relations_of = {
        name: [
            one
            for one in relations
            # What may be one thing or several is of the same person in either case.
            if (name == "Person" or not one.counted)
            # The finite verb has the features that the language asks for, or says nothing of them.
            and (one.kind != "SV" or has_features(one.target, language.verb.get(name, {})))
        ]
        for name in features
    }
    collocations = count_collocations(relations_of, lexicon)
    table = [collocation.row() for collocation in collocations.values()]
    paradigms, dropped = (
        ([], {}) if settings.stage == "agreement" else _paradigms(relations_of, collocations, lexicon)
    )
    if settings.stage == "pairs" and not paradigms:
        said = "; ".join([*notes, *(_why_none(name, dropped) for name in features)])
        raise UserError(f"no pairs: {settings.language} shows no agreement in these treebanks: {said}")
    return Made(
        paradigms=paradigms,
        card=_card(settings, files),
        inputs=[*files, *([settings.unimorph] if settings.unimorph is not None else [])],
        libraries=["conllu", "scipy"],
        across=True,
        word="verb_lemma",
        default_pairs=100,
        tables={"agreement": table},
        notes=notes,
    )


def _files(settings: Settings, language: LanguageSettings) -> tuple[list[Path], list[str]]:
    """Return the treebanks, and what should be known of them."""
    found = find_treebanks(settings.treebanks)
    left_out = [file for file in found if file.name.startswith(language.left_out)] if language.left_out else []
    if not left_out:
        return found, []
    names = ", ".join(file.name for file in left_out)
    if not settings.as_published:
        return found, [f"{names}: the paper leaves this treebank out; as_published=true does so too"]
    if len(left_out) == len(found):
        raise UserError(
            f"treebanks: the paper leaves out {names}, and no other is given; as_published=false takes it"
        )
    return [file for file in found if file not in left_out], [f"{names}: left out, as in the paper"]


def _inflected(lexicon: Lexicon) -> dict[str, str]:
    """Return each feature with the reason why its agreement cannot be shown; empty where it can."""
    reasons = {}
    for feature, agreeing in feature_names().agreeing.items():
        without = [
            what
            for what, parts in (("subject", agreeing.subjects), ("verb", ("VERB",)))
            if not lexicon.inflects(parts, feature)
        ]
        reasons[feature] = (
            f"no {' and no '.join(without)} has different forms for different values" if without else ""
        )
    return reasons


def _paradigms(
    relations_of: Mapping[str, Sequence[Relation]],
    collocations: Mapping[Condition, Collocation],
    lexicon: Lexicon,
) -> tuple[list[Listed], Mapping[Condition, Counter[str]]]:
    """Return the conditions that have pairs, and of the others why they have none, by the number of subjects."""
    candidates: dict[tuple[Condition, str], list[Pair]] = defaultdict(list)
    dropped: dict[Condition, Counter[str]] = defaultdict(Counter)
    for feature, relations in relations_of.items():
        agreeing = feature_names().agreeing[feature]
        for relation in relations:
            subject = features_of(relation.subject).get(feature)
            value = next(iter(subject)) if subject and len(subject) == 1 else None
            if relation.subject.upos not in agreeing.subjects or value not in agreeing.values:
                continue
            condition = Condition(relation.kind, relation.name_of(feature), value, relation.order)
            for found in other_forms(relation, feature, lexicon):
                if isinstance(found, str):
                    dropped[condition][found] += 1
                elif found[0] in agreeing.values:
                    made = make_candidate(
                        relation, feature, found[1], _columns(condition, found[0], collocations)
                    )
                    candidates[condition, found[0]].append(made)
    paradigms = [_paradigm(*found, candidates[found], dropped, collocations) for found in sorted(candidates)]
    return paradigms, dropped


def _why_none(feature: str, dropped: Mapping[Condition, Counter[str]]) -> str:
    """Say why a feature that different forms show gives no pairs."""
    reasons = sum((counts for one, counts in dropped.items() if base_of(one.feature) == feature), Counter[str]())
    if not reasons:
        return f"{feature}: no subject with a value of it has a verb or participle"
    [(reason, count)] = reasons.most_common(1)
    return f"{feature}: {reasons.total()} subjects, most often {reason} ({count} times)"


def _columns(condition: Condition, other: str, collocations: Mapping[Condition, Collocation]) -> dict[str, Value]:
    """Return the columns that all pairs of a paradigm have in common."""
    values = feature_names().agreeing[base_of(condition.feature)].values
    return {
        "feature_vals": f"{values[condition.value]} -> {values[other]}",
        "feature": condition.feature,
        "agreement": collocations[condition].mark if condition in collocations else "uncertain",
    }


def _paradigm(
    condition: Condition,
    other: str,
    candidates: list[Pair],
    dropped: dict[Condition, Counter[str]],
    collocations: Mapping[Condition, Collocation],
) -> Listed:
    """Return the paradigm of a condition and another value; without pairs where the language shows no agreement."""
    kind, name, value, order = condition
    feature, layer = base_of(name), name.removeprefix(base_of(name))
    names = feature_names().agreeing[feature]
    collocation = collocations.get(condition)
    reasons = dropped.pop(condition, Counter())  # told once, with the first of the other values
    note = ""
    if collocation is not None and collocation.mark == "none":
        share = f"{collocation.same} of {collocation.total}"
        note = f"no agreement: {share} verbs have the value {names.values[value]} of their subject"
        reasons, candidates = reasons + Counter({"no agreement": len(candidates)}), []
    # a file has this name, so the brackets of a layer, which patterns of files give a meaning, are not in it
    of_file = "-".join([feature, *([layer.strip("[]")] if layer else [])])
    return Listed(
        name=f"{kind}-{of_file}-{names.values[value]}-{names.values[other]}-{order}",
        phenomenon=f"{kind}-{names.name}{layer}",
        note=note,
        candidates=candidates,
        dropped=reasons,
        order=weighted(inverse_probabilities),
    )


def _card(settings: Settings, files: Sequence[Path]) -> dict[str, object]:
    names = ", ".join(dict.fromkeys(file.name.partition(".")[0] for file in files))
    return {
        "language": settings.language,
        "citation": f"made by the method of Jumelet et al. 2025, MultiBLiMP 1.0, from {names}",
        "license": settings.license,
        "columns": {"paradigm": "{phenomenon} {feature_vals} {word_order}", "word_order": "word_order"},
        "masked_scorer": "pll_l2r",
        "linking": "lp",
        "aggregate": "all",
    }


BALANCED = ("subject", "verb", "distance", "all_congruent", "all_incongruent")


def inverse_probabilities(candidates: Sequence[Pair]) -> list[float]:
    """Return P(x)^-1 over the sum of all P^-1, P(x) the product of the frequencies of the ``BALANCED`` values of x."""
    rows = []
    for candidate in candidates:
        values = [candidate.columns[name] for name in BALANCED]
        rows.append([value.lower() if isinstance(value, str) else value for value in values])
    counts = [Counter(column) for column in zip(*rows, strict=True)]
    inverse = [prod(len(rows) / count[value] for count, value in zip(counts, row, strict=True)) for row in rows]
    total = sum(inverse)
    return [weight / total for weight in inverse]
