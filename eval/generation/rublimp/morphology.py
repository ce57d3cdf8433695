"""Russian morphology by pymorphy3, with the analysis that is closest to a parse."""

from collections.abc import Sequence, Set
from functools import lru_cache
from typing import Any

import pymorphy3

from eval.generation.treebank import Word

Parse = Any

POS = {
    "NOUN": {"NOUN"}, "PROPN": {"NOUN"}, "PRON": {"NPRO", "ADJF"}, "DET": {"ADJF"}, "ADJ": {"ADJF", "ADJS", "PRTF", "PRTS", "COMP"},
    "VERB": {"VERB", "INFN", "GRND", "PRTF", "PRTS", "PRED"}, "AUX": {"VERB", "INFN"}, "ADV": {"ADVB", "PRED", "COMP"}, "NUM": {"NUMR", "ADJF"},
}
FEATURES = {
    "Case": {"Nom": "nomn", "Gen": "gent", "Dat": "datv", "Acc": "accs", "Ins": "ablt", "Loc": "loct", "Par": "gent", "Voc": "nomn"},
    "Number": {"Sing": "sing", "Plur": "plur"},
    "Gender": {"Masc": "masc", "Fem": "femn", "Neut": "neut"},
    "Tense": {"Past": "past", "Pres": "pres", "Fut": "futr"},
    "Aspect": {"Imp": "impf", "Perf": "perf"},
    "Person": {"1": "1per", "2": "2per", "3": "3per"},
    "Animacy": {"Anim": "anim", "Inan": "inan"},
}


class Morphology:
    def __init__(self) -> None:
        self._analyzer = pymorphy3.MorphAnalyzer()
        self.forms_with = lru_cache(100_000)(self._forms_with)

    def _forms_with(self, form: str) -> Sequence[Parse]:
        return self._analyzer.parse(form.lower())

    def analysis(self, word: Word) -> Parse | None:
        wanted = {FEATURES[name][value] for name, value in word.feats.items() if value in FEATURES.get(name, {})}
        allowed = POS.get(word.upos)
        best, most = None, -1
        for parse in self.forms_with(word.form):
            if allowed is not None and parse.tag.POS not in allowed:
                continue
            grammemes = parse.tag.grammemes
            score = len(wanted & grammemes)
            if score > most:
                best, most = parse, score
        return best

    def inflect(self, parse: Parse, grammemes: Set[str]) -> str | None:
        changed = parse.inflect(set(grammemes))
        return changed.word if changed is not None and self.is_known(changed.word) else None

    def is_known(self, form: str) -> bool:
        return bool(self._analyzer.word_is_known(form))

    @staticmethod
    def spelled_like(form: str, original: str) -> str:
        if original.isupper() and len(original) > 1:
            return form.upper()
        return form[:1].upper() + form[1:] if original[:1].isupper() else form
