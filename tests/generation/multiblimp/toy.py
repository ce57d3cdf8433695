"""A treebank of a small language: nouns in -o (singular) and -oj (plural), verbs in -as and -ajn, and its faults."""

SG, PL = "Number=Sing", "Number=Plur"


def sentence(name, *words):
    """CoNLL-U of a sentence; a word is ``form/lemma/upos/feats/head/deprel`` or with misc behind."""
    lines = [f"# sent_id = {name}"]
    for number, word in enumerate(words, start=1):
        form, lemma, upos, feats, head, deprel, *misc = word.split("/")
        lines.append(
            "\t".join([str(number), form, lemma, upos, "_", feats or "_", head, deprel, "_", *(misc or ["_"])])
        )
    return "\n".join([*lines, "", ""])


def with_token(text, first, last, form):
    """The CoNLL-U of a sentence with a multiword token."""
    lines = text.split("\n")
    lines.insert(first, f"{first}-{last}\t{form}" + "\t_" * 8)  # behind the comment and the words before
    return "\n".join(lines)


def noun(form, lemma, feats, head=2, deprel="nsubj"):
    return f"{form}/{lemma}/NOUN/{feats}/{head}/{deprel}"


def verb(form, lemma, feats, head=0, deprel="root", upos="VERB"):
    return f"{form}/{lemma}/{upos}/VerbForm=Fin|Tense=Pres|{feats}/{head}/{deprel}"


KURAS, KURAJN = verb("kuras", "kuri", SG), verb("kurajn", "kuri", PL)
GOOD = [
    sentence("sg", noun("Kato", "kato", SG), KURAS),
    sentence("pl", noun("katoj", "kato", PL), KURAJN),
    sentence("dog", noun("hundo", "hundo", SG), verb("bojas", "boji", SG)),
    sentence("dogs", noun("hundoj", "hundo", PL), verb("bojajn", "boji", PL)),
    sentence("order", verb("Kuras", "kuri", SG), noun("kato", "kato", SG, 1)),
    sentence("attractor", noun("kato", "kato", SG, 4), "de/de/ADP//3/case", noun("hundoj", "hundo", PL, 1, "nmod"),
             verb("kuras", "kuri", SG)),
    sentence("auxiliary", noun("katoj", "kato", PL, 3), verb("estajn", "esti", PL, 3, "aux", "AUX"),
             "kurinta/kuri/VERB/VerbForm=Part/0/root"),
    sentence("auxiliary-sg", noun("hundo", "hundo", SG, 3), verb("estas", "esti", SG, 3, "aux", "AUX"),
             "kurinta/kuri/VERB/VerbForm=Part/0/root"),
]  # fmt: skip
BAD = {
    "conjunction": sentence("conj", noun("kato", "kato", SG, 4), "kaj/kaj/CCONJ//3/cc", noun("hundo", "hundo", SG, 1, "conj"),
                            verb("kuras", "kuri", SG)),
    "expletive": sentence("expl", noun("kato", "kato", SG, 3), "ĝi/ĝi/PRON//3/expl", verb("kuras", "kuri", SG)),
    "repair": sentence("repair", noun("kato", "kato", SG), KURAS, "ku/ku/X//2/reparandum"),
    "typo": sentence("typo", noun("kato", "kato", f"{SG}|Typo=Yes"), KURAS),
    "correction": sentence("correct", noun("kato", "kato", SG), KURAS + "/CorrectForm=kurus"),
    "long": sentence("long", noun("kato", "kato", SG), KURAS, *["tre/tre/ADV//2/advmod"] * 63),
    "passive": sentence("pass", noun("kato", "kato", SG, 2, "nsubj:pass"), KURAS),
    "nominal head": sentence("nominal", noun("kato", "kato", SG), "granda/granda/ADJ//0/root"),
}  # fmt: skip


def treebank(*sentences):
    return "".join(sentences)


def pairs_of(paradigm):
    """The bad sentences of a paradigm by the good ones."""
    return {pair.good: pair.bad for pair in paradigm.candidates}
