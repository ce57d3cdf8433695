"""The checks: each finds the pair that breaks it, and no other of the pairs that are right."""

import pandas as pd
import pytest

from ucurve.eval.benchmarks.load import load_benchmark
from ucurve.generation.tse.check import CHECKS

RIGHT = [
    ("S-S_DO_V_AUX", "Mahai zapiak etxeak maite izan", "zituen.", "zituzten."),
    ("IO-S_IO_DO_V_AUX", "Aitek amonari etxeak bidali", "zizkioten.", "zizkieten."),
    ("S-IO_S_V_AUX", "Aitari zakurrak falta", "zaizkio.", "zaio."),
    ("S_ne_PossPRN_O_V", "बेटी ने मेरा चश्मा", "फेंका था।", "फेंकता था।"),
    ("S_PossPRN_PossN_O_V", "बेटी मेरे बकरे के चश्मे को", "फेंकती है।", "फेंकी है।"),
    ("N_of_Poss_D_V", "Kisu cha wajomba hawa", "kilivunjika.", "walivunjika."),
    ("N_of_Poss_D_A_V1_V2", "Visu vya mpiga ngoma huyu mrefu anayecheka", "vitavunjika.", "atavunjika."),
]
BASQUE, HINDI, SWAHILI = (f"{language}: " for language in ("Basque", "Hindi", "Swahili"))


def table(rows):
    pairs = pd.DataFrame(rows, columns=["paradigm", "condition", "target_good", "target_bad"])
    for member in ("good", "bad"):
        pairs[member] = pairs["condition"] + " " + pairs[f"target_{member}"]
    return pairs


@pytest.mark.parametrize("prefix", ["", "named"])
def test_right_pairs_break_nothing(prefix):
    languages = ["basque"] * 3 + ["hindi"] * 2 + ["swahili"] * 2
    rows = [
        (f"{language}-{row[0]}" if prefix else row[0], *row[1:])
        for language, row in zip(languages, RIGHT, strict=True)
    ]
    for name, breaks in CHECKS.items():
        assert not breaks(table(rows)).any(), name


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (("S-S_V_AUX", "Aita joan", "zen", "ziren."), "a target ends with a full stop or a danda"),
        (("N_of_Poss_ni_A", "Kisu cha mjomba ni", "kirefu.", "m refu."), "the two targets have as many words"),
        (("S-S_V_AUX", "aita joan", "zen.", "ziren."), "a condition begins with a capital letter"),
        (
            ("N_of_Poss_V", "Ngoma ya ngoma", "ilivunjika.", "zilivunjika."),
            "no word of more than three letters stands twice in a condition",
        ),
        (
            ("S-S_DO_V_AUX", "Aitak etxea maite izan", "zuen.", "zuten."),
            BASQUE + "other arguments have the other number",
        ),
        (
            ("S-S_DO_V_AUX", "Aitak etxeak maite izan", "zuen.", "zuten."),
            BASQUE + "the right auxiliary agrees with every argument",
        ),
        (
            ("S-S_DO_V_AUX", "Aitak etxeak maite izan", "zituen.", "zuten."),
            BASQUE + "the wrong auxiliary differs in the number of the focus alone",
        ),
        (
            ("S-S_DO_V_AUX", "Aitak etxeak maite izan", "zituen.", "dituzte."),
            BASQUE + "the wrong auxiliary differs in the number of the focus alone",
        ),
        (("S_O_V", "बेटी चश्मा", "फेंकी है।", "फेंकती है।"), HINDI + "one aspect against the other, all else equal"),
        (("S_O_V", "बेटी चश्मा", "फेंकती है।", "फेंका है।"), HINDI + "one aspect against the other, all else equal"),
        (("S_O_V", "बेटी चश्मा", "फेंकती है।", "फेंकी थी।"), HINDI + "one aspect against the other, all else equal"),
        (("S_O_V", "बेटी ने चश्मा", "फेंकती है।", "फेंकी है।"), HINDI + "ne stands in its suites and in no others"),
        (
            ("S_ne_O_V", "बेटी ने घड़ी को", "फेंकी है।", "फेंकती है।"),
            HINDI + "after ne, a marked object has a verb in the masculine singular",
        ),
        (
            ("S_PossPRN_O_V", "बेटी मेरा चश्मे को", "फेंकती है।", "फेंकी है।"),
            HINDI + "the word before the object agrees with it",
        ),
        (
            ("S_ne_PossPRN_O_V", "बेटी ने मेरे चश्मा", "फेंका है।", "फेंकता है।"),
            HINDI + "the word before the object agrees with it",
        ),
        (
            ("N_of_Poss_V", "Kisu cha mjomba", "kilivunjika.", "anavunjika."),
            SWAHILI + "two verbs differ in the subject prefix alone",
        ),
        (
            ("N_of_Poss_V", "Kisu cha mjomba", "vilivunjika.", "alivunjika."),
            SWAHILI + "the right verb agrees with the word for 'of'",
        ),
        (
            ("N_of_Poss_D_V", "Kisu cha wajomba hawa", "kilivunjika.", "alivunjika."),
            SWAHILI + "the wrong verb agrees with the possessor's demonstrative",
        ),
    ],
)
def test_a_fault_is_found_by_its_check_and_by_no_other(row, name):
    pairs = table([*RIGHT, row])
    found = {check: list(pairs.index[breaks(pairs)]) for check, breaks in CHECKS.items()}
    assert {check: rows for check, rows in found.items() if rows} == {name: [len(RIGHT)]}


def test_a_sentence_that_is_not_its_condition_and_target():
    pairs = table(RIGHT)
    pairs.loc[1, "good"] = "Aitek amonari etxeak bidali dute."
    assert (
        list(CHECKS["a sentence is its condition, a space and its target"](pairs)) == [False, True] + [False] * 5
    )


def test_a_repeated_pair():
    assert list(CHECKS["a condition and its targets stand once in a suite"](table([*RIGHT, RIGHT[2]]))) == [
        False
    ] * 7 + [True]


def test_the_published_files(shared):
    """The only exceptions are the possessives that the published code gives the wrong form, and seven repeated nouns."""
    broken = {}
    for language in ("eus", "hin", "swa"):
        pairs = load_benchmark(f"tse/{language}", shared / "benchmarks")
        broken |= {
            (language, name): int(breaks(pairs).sum()) for name, breaks in CHECKS.items() if breaks(pairs).any()
        }
    repeated = "no word of more than three letters stands twice in a condition"
    assert broken == {
        ("hin", repeated): 1,
        ("hin", "Hindi: the word before the object agrees with it"): 517,
        ("swa", repeated): 6,
    }
