"""Small files in the forms in which benchmarks are published, each read by the card of its benchmark."""

import csv
import json

import pytest

from ucurve.eval.benchmarks.load import load_benchmark


def write_lines(file, rows):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_table(file, rows, delimiter=","):
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0], delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_text(file, lines):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def held(pairs, *columns):
    """The pairs as tuples of these columns."""
    return list(pairs[list(columns)].itertuples(index=False, name=None))


def turkish(good, bad, **more):
    cues = {"good_cue": good.split()[0], "bad_cue": "∅", "critical_region": "-"}
    return {"good_sentence": good, "bad_sentence": bad, **cues, **more}


def test_turblimp_takes_its_phenomena_from_the_files(tmp_path):
    base = tmp_path / "turblimp" / "base"
    rows = [turkish("Bu ölür.", "Bu öler.", phenomenon="irregular_forms  ")]
    write_table(base / "augmented_irregular_forms.csv", rows, ";")
    rows = [
        turkish("Bize kızdı, dün.", "Bizi kızdı, dün.", phenomenon="argument_structure", subtype="transitive")
    ]
    write_table(base / "augmented_argument_structure_transitive.csv", rows, ";")
    pairs = load_benchmark("turblimp", tmp_path)
    assert held(pairs, "paradigm", "phenomenon", "good", "bad", "bad_cue") == [
        ("argument_structure_transitive",) * 2 + ("Bize kızdı, dün.", "Bizi kızdı, dün.", "∅"),
        ("irregular_forms",) * 2 + ("Bu ölür.", "Bu öler.", "∅"),
    ]
    assert set(pairs["published_phenomenon"].str.strip()) == {"argument_structure", "irregular_forms"}


def test_turblimps_experiments_lie_beside_its_base(tmp_path):
    rows = [
        turkish("Eda ona bayıldı.", "Eda onu bayıldı.", phenomenon="argument_structure", subtype="transitive")
    ]
    for name in ("transitive_SOV", "ditransitive_dik"):
        write_table(tmp_path / "turblimp" / "experimental" / f"argument_structure_{name}.csv", rows)
    pairs = load_benchmark("turblimp-experimental", tmp_path)
    assert held(pairs, "paradigm", "phenomenon", "manipulation") == [
        ("ditransitive_dik", "argument_structure_ditransitive", "dik"),
        ("transitive_SOV", "argument_structure_transitive", "SOV"),
    ]


def test_qfrblimp_has_two_sentences_and_a_label(tmp_path):
    rows = [
        {"sentence_a": "À lui.", "sentence_b": "À leur.", "category": "morphology", "type": 10, "subcat": 84.0, "label": 0.0},
        {"sentence_a": "Je vas.", "sentence_b": "Je vais.", "category": "syntax", "type": 2, "subcat": None, "label": 1.0},
    ]  # fmt: skip
    write_lines(tmp_path / "qfrblimp" / "qfrblimp.jsonl", rows)
    assert held(load_benchmark("qfrblimp", tmp_path), "good", "bad", "paradigm", "phenomenon", "category") == [
        ("À lui.", "À leur.") + ("agreement in idiomatic expressions",) * 2 + ("morphology",),
        ("Je vais.", "Je vas.") + ("verb inflection",) * 2 + ("syntax",),
    ]


def test_xcomps_has_a_json_array_for_each_language(tmp_path):
    (tmp_path / "xcomps").mkdir()
    rows = [{"acceptable_sent": "Een hond blaft.", "unacceptable_sent": "Een kat blaft.", "property": "blaft"}]
    (tmp_path / "xcomps" / "comps_nl.json").write_text(json.dumps(rows))
    pairs = load_benchmark("xcomps/nld", tmp_path)
    assert held(pairs, "language", "good", "bad", "paradigm", "property") == [
        ("nld", "Een hond blaft.", "Een kat blaft.", "property knowledge", "blaft")
    ]


def test_bl2mp_is_read_from_one_of_its_files(tmp_path):
    row = {"sentence_good": "Hori da.", "sentence_bad": "Horiek da.", "type": "E1: Deklinabidea", "level": "A"}
    for name in ("bl2mp", "bl2mp_type", "bl2mp_level"):
        write_lines(tmp_path / "bl2mp" / f"{name}.jsonl", [row])
    pairs = load_benchmark("bl2mp", tmp_path)
    assert held(pairs, "paradigm", "phenomenon", "level") == [("E1: Deklinabidea", "E1: Deklinabidea", "A")]


@pytest.mark.parametrize("folder", ["", "minimal_pair_format"])
def test_icelandic_pairs(tmp_path, folder):
    row = {
        "pairID": 1,
        "sentence_good": "Það er gott.",
        "sentence_bad": "Það er góð.",
        "category": "predicate_agreement",
    }
    write_lines(tmp_path / "ice-pairs" / folder / "ice_minimal_pairs.jsonl", [row])
    pairs = load_benchmark("ice-pairs", tmp_path)
    assert held(pairs, "good", "bad", "paradigm", "pairID") == [
        ("Það er gott.", "Það er góð.", "predicate_agreement", 1)
    ]


def test_zorro_has_two_lines_a_pair_the_bad_one_first(tmp_path):
    folder = tmp_path / "zorro"
    write_text(folder / "filler-gap-wh_question_object.txt", ["who what saw .", "what who saw ."])
    write_text(
        folder / "irregular-verb.txt", ["he had took it .", "he had taken it .", "he seen it .", "he saw it ."]
    )
    assert held(load_benchmark("zorro", tmp_path), "paradigm", "phenomenon", "good", "bad") == [
        ("filler-gap-wh_question_object", "filler-gap", "what who saw .", "who what saw ."),
        ("irregular-verb", "irregular", "he had taken it .", "he had took it ."),
        ("irregular-verb", "irregular", "he saw it .", "he seen it ."),
    ]


def test_freq_blimp_keeps_the_window_of_frequency_and_not_the_swaps(tmp_path):
    row = {"phenomenon": "binding", "subtask": "principle_A_c_command", "field": "syntax", "idx": 3}
    row |= {"good_original": "He saw himself.", "good_freq": "He vexed himself.", "bad_freq": "He vexed herself."}
    write_lines(
        tmp_path / "freq-blimp" / "freq_blimp_zipf2.jsonl", [row | {"meta": {"g_swaps": [{"old": "saw"}]}}]
    )
    pairs = load_benchmark("freq-blimp", tmp_path)
    assert held(pairs, "good", "bad", "paradigm", "phenomenon", "window", "good_original") == [
        (
            "He vexed himself.",
            "He vexed herself.",
            row["subtask"],
            "binding",
            "freq_blimp_zipf2",
            "He saw himself.",
        )
    ]
    assert "meta" not in pairs


@pytest.mark.parametrize(
    "row",
    [
        {
            "sentence_good": "“好”有“女”。",
            "sentence_bad": "“好”有“马”。",
            "task": "component",
            "meta_structure": "⿰",
        },
        {"sent_good": "“好”有“女”。", "sent_bad": "“好”有“马”。", "condition": "component", "Structure": "⿰"},
    ],
)
def test_hanzi_structure_in_both_published_forms(tmp_path, row):
    write_lines(tmp_path / "hanzi-structure" / "hanzi_structure_open.jsonl", [row])
    pairs = load_benchmark("hanzi-structure", tmp_path)
    assert held(pairs, "good", "bad", "paradigm", "phenomenon") == [
        ("“好”有“女”。", "“好”有“马”。", "component", "⿰")
    ]
    assert "condition" not in pairs


def test_a_column_called_condition_is_no_condition_in_hanzi_pinyin(tmp_path):
    row = {"sentence_good": "“帮”和“邦”同音。", "sentence_bad": "“帮”和“碰”同音。", "condition": "same_all"}
    write_lines(tmp_path / "hanzi-pinyin" / "hanzi_pinyin_open_2000.jsonl", [row])
    pairs = load_benchmark("hanzi-pinyin", tmp_path)
    assert held(pairs, "paradigm", "phenomenon", "published_condition") == [("same_all",) * 3]
    assert "condition" not in pairs


def test_zhoblimp_2026_names_a_paradigm_by_its_file_where_it_has_no_other_name(tmp_path):
    row = {"sentence_good": "他来了。", "sentence_bad": "他了来。"}
    write_lines(
        tmp_path / "zhoblimp-2026" / "a.jsonl", [row | {"UID": "BA_deletion", "phenomenon": "BA construction"}]
    )
    write_lines(tmp_path / "zhoblimp-2026" / "word_order.jsonl", [row])
    assert held(load_benchmark("zhoblimp-2026", tmp_path), "paradigm", "phenomenon") == [
        ("BA_deletion", "BA construction"),
        ("word_order", "unnamed"),
    ]


def test_ewok_gives_two_pairs_for_each_row(tmp_path):
    row = {"Domain": "spatial-relations", "ConceptA": "left", "ConceptB": "right"}
    row |= {"Context1": "A is left of B.", "Context2": "A is right of B."}
    row |= {"Target1": "B is right of A.", "Target2": "B is left of A.", "ContextType": "direct"}
    write_lines(tmp_path / "ewok" / "spatial-relations.jsonl", [row])
    pairs = load_benchmark("ewok", tmp_path)
    assert held(pairs, "condition_good", "condition_bad", "target", "paradigm") == [
        (row["Context1"], row["Context2"], row["Target1"], "spatial-relations"),
        (row["Context2"], row["Context1"], row["Target2"], "spatial-relations"),
    ]
    assert held(pairs, "good", "bad") == [
        ("A is left of B. B is right of A.", "A is right of B. B is right of A."),
        ("A is right of B. B is left of A.", "A is left of B. B is left of A."),
    ]


def test_comps_is_one_property_of_two_concepts(tmp_path):
    row = {"id": 1, "property": "can fly", "similarity": 0.7, "negative_sample_type": "taxonomic"}
    row |= {"prefix_acceptable": "a robin", "prefix_unacceptable": "an emu", "property_phrase": "can fly."}
    for name in ("comps_base", "comps_wugs_dist-before"):
        write_lines(tmp_path / "comps" / f"{name}.jsonl", [row])
    pairs = load_benchmark("comps", tmp_path)
    assert held(pairs, "good", "bad", "condition_good", "condition_bad", "target")[0] == (
        "a robin can fly.", "an emu can fly.", "a robin", "an emu", "can fly.",
    )  # fmt: skip
    assert held(pairs, "paradigm", "phenomenon") == [
        ("base", "property knowledge"),
        ("wugs_dist-before", "property inheritance"),
    ]


def test_the_supplement_to_blimp_names_its_paradigms_by_files(tmp_path):
    row = {"sentence_good": "A: Who slept? B: David.", "sentence_bad": "A: Who slept? B: A chair."}
    for name in ("qa_congruence_easy", "turn_taking"):
        write_lines(tmp_path / "blimp-supplement" / "supplement_filtered" / f"{name}.jsonl", [row])
    assert held(load_benchmark("blimp-supplement", tmp_path), "paradigm", "phenomenon") == [
        ("qa_congruence_easy", "supplement"),
        ("turn_taking", "supplement"),
    ]


@pytest.mark.parametrize("name", ["turblimp", "turblimp-experimental", "qfrblimp"])
def test_the_published_files_have_the_numbers_of_the_card(shared, name, capsys):
    if not (shared / "benchmarks" / name.removesuffix("-experimental")).is_dir():
        pytest.skip(f"the published files of {name} are not here")
    pairs = load_benchmark(name, shared / "benchmarks")
    assert len(pairs) == {"turblimp": 16_000, "turblimp-experimental": 2_200, "qfrblimp": 1_761}[name]
    assert (pairs["good"] == pairs["bad"]).sum() == {"turblimp": 20, "turblimp-experimental": 10, "qfrblimp": 18}[
        name
    ]
    assert capsys.readouterr().err == ""  # no number that is checked on loading differs
