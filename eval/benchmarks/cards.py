"""The cards of the benchmarks."""

from functools import partial

from eval.benchmarks.card import Benchmark
from eval.benchmarks.forms import blimp, blimp_nl, multiblimp, read_blimp_nl, read_swe_blimp, rublimp, sling, swe_blimp
from eval.benchmarks.readers import read_json, read_tables
from eval.benchmarks.sources import demo, json_lines, published, undescribed
from eval.benchmarks.suites import read_clams, read_climp, read_tse
from eval.pairs import Keys

_MULTIBLIMP = """
abk aln amh apu aqz arb azz bel ben bho bor bre bua bul cat ces chu cym dan deu egy ell eng est eus fao fas fin fra frm
fro gla gle glg got grc guj hbo hbs heb hin hit hsb hun hye hyw isl ita kat kaz kir kmr koi kpv krl kxh lat lav lij lit
mar mdf mkd myv nds nhi nld olo orv ota pcm pol por quc ron rus sah san slk slv sme sms spa sqi swe tam tpn ttc tur uig
ukr urb urd uzb vep wbp wol xcl xnr xpg yrl
"""  # the configurations of the hub data set
MULTIBLIMP = tuple(_MULTIBLIMP.split())
CLAMS = {"deu": "de", "eng": "en", "fra": "fr", "heb": "he", "rus": "ru"}  # and the codes of the published folders
TSE = {"eus": "basque", "hin": "hindi", "swa": "swahili"}  # and the heads of the published file names

OURS = Keys("paradigm", "phenomenon")
_ZHOBLIMP = "Liu et al., ZhoBLiMP: a Systematic Assessment of Language Models with Linguistic Minimal Pairs in Chinese"
_ZHOBLIMP_PROTOCOL = (
    "SLLN-LP with alpha 0.5 over whole sentences, strict comparison; the overall accuracy is the mean over paradigms "
    "(all have 300 pairs); accuracies by length split in the tokens of the model."
)
_RUBLIMP_TEXT = ("source_sentence", "target_sentence", "source_word", "target_word", "PID", "phenomenon")
_MULTIBLIMP_TEXT = ("sen", "wrong_sen", "phenomenon", "feature_vals")

CARDS: tuple[Benchmark, ...] = (
    Benchmark(
        name="zhoblimp",
        language="zho",
        load=json_lines,
        linking="slln_lp",
        license="not stated",
        citation=_ZHOBLIMP,
        source="Junrui1202/zhoblimp",
        pairs=118 * 300,
        paradigms=118,
        phenomena=15,
        protocol=_ZHOBLIMP_PROTOCOL,
        quirks=("85 pairs stand in two paradigms; they are kept.",),
    ),
    Benchmark(
        name="zhoblimp-excluded",
        language="zho",
        load=json_lines,
        linking="slln_lp",
        license="not stated",
        citation=f"{_ZHOBLIMP}, appendix B: the 11 paradigms people agreed too little on",
        pairs=11 * 300,
        paradigms=11,
        phenomena=8,
        protocol="As zhoblimp; appendix B gives the accuracies.",
        quirks=("One paradigm is published without a phenomenon; its pairs get 'unnamed'.",),
    ),
    Benchmark(
        name="blimp",
        language="eng",
        load=published(read_json, blimp),
        linking="lp",
        masked_scorer="pll_l2r",
        license="CC-BY-4.0",
        citation="Warstadt et al. 2020, BLiMP: The Benchmark of Linguistic Minimal Pairs for English",
        source="nyu-mll/blimp",
        pairs=67_000,
        paradigms=67,
        phenomena=12,
        protocol="Log probability of the whole sentence ('simple LM method'), strict comparison.",
        quirks=(
            "13 values of linguistics_term for the paper's 12 phenomena: s-selection counts as argument_structure, "
            "which gives the paper's 9 paradigms of it; linguistics_term is kept.",
            "field is spelt syntax_semantics and syntax/semantics; subfield has the first spelling only.",
            "7 pairs have two identical sentences (2 in passive_1, 5 in principle_A_case_2); no accuracy counts them.",
            "1 pair stands in two paradigms; it is kept.",
        ),
        keys=OURS,
    ),
    Benchmark(
        name="sling",
        language="zho",
        load=published(read_json, sling),
        linking="ppl",
        license="MIT",
        citation="Song et al. 2022, SLING: Sino Linguistic Evaluation of Large Language Models",
        pairs=40 * 1000 + 14 * 40,
        paradigms=54,
        phenomena=10,
        protocol="Perplexity of causal and pseudo-perplexity of masked models, lower is right; 38 paradigms.",
        quirks=(
            "Several files publish one paradigm name (12 say Plural): the paradigm is the file name, and the published "
            "one is published_paradigm.",
            "14 files spell Paradigm and Phenomenon with capitals and write pair_ID as text; both forms are read.",
            "54 files, the paper counts 38: in_paper marks them (as in the authors' code, the first versions of two "
            "classifier paradigms are left out, and so are the 14 files of 40 pairs on reflexives, added later). "
            "Every aggregate here is over all 54.",
            "24 pairs have two identical sentences (16 in zai_le, 4 in cl_simple_noun, 4 in cl_adj_simple_noun); no "
            "accuracy counts them.",
            "8 pairs are duplicates; they are kept.",
        ),
        files=("**/*.jsonl",),
        form="JSON lines in a folder for each phenomenon",
        keys=OURS,
    ),
    Benchmark(
        name="climp",
        language="zho",
        load=published(read_climp),
        linking="lp",
        license="not stated",
        citation="Xiang et al. 2021, CLiMP: A Benchmark for Chinese Language Model Evaluation",
        pairs=16_000,
        paradigms=16,
        phenomena=9,
        protocol="Probability of the whole sentence, pseudo-log-likelihood with BERT, strict comparison.",
        quirks=(
            "Two rows a pair, the grammatical one first; ba_construction has no header and no label.",
            "The phenomenon is the head of the file name, the paradigm the file name without _1000.",
        ),
        files=("**/*.csv", "*.zip"),
        form="CSV, unpacked or in the published CLiMP_corpus.zip",
        keys=OURS,
    ),
    Benchmark(
        name="jblimp",
        language="jpn",
        load=json_lines,
        linking="lp",
        license="not stated",
        citation="Someya and Oseki 2023, JBLiMP: Japanese Benchmark of Linguistic Minimal Pairs",
        source="polm-stability/jblimp",
        pairs=331,
        paradigms=37,
        phenomena=11,
        masked_scorer="pll",
        protocol="Accuracy of the higher score over whole sentences; the normalisation was not checked in the paper.",
        quirks=(
            "The files have 37 paradigms, two less than the paper's 39.",
            "phenomenon-2, a second phenomenon of some pairs, is kept as a column.",
        ),
        files=("**/validated_minimal_pairs.jsonl", "*.jsonl"),
        form="JSON lines, validated_minimal_pairs.jsonl",
        keys=Keys("paradigm", "phenomenon", "good_sentence", "bad_sentence"),
    ),
    Benchmark(
        name="blimp-nl",
        language="nld",
        load=published(read_blimp_nl, blimp_nl),
        linking="mean_lp",
        masked_scorer="pll_l2r",
        license="CC-BY-4.0",
        citation="Suijkerbuijk et al. 2025, BLiMP-NL: A Corpus of Dutch Minimal Pairs and Acceptability Judgments for "
        "Language Model Evaluation",
        source="juletxara/blimp-nl",
        pairs=8_400,
        paradigms=84,
        phenomena=22,
        protocol="SLOR over whole sentences. The default here is mean_lp, which needs no unigram counts and is the "
        "least biased on it (ZhoBLiMP, section 4.5).",
        quirks=(
            "Files without the columns linguistic_phenomenon and paradigm are named phenomenon__paradigm.",
            "Two phenomena may share a paradigm name (island, resumptive_prolepsis).",
        ),
        files=("*.jsonl", "*.csv"),
        form="JSON lines or CSV",
        keys=OURS,
    ),
    Benchmark(
        name="rublimp",
        language="rus",
        load=published(partial(read_tables, delimiter=",", text=_RUBLIMP_TEXT), rublimp),
        linking="ppl",
        license="Apache-2.0",
        citation="Taktasheva et al. 2024, RuBLiMP: Russian Benchmark of Linguistic Minimal Pairs",
        source="RussianNLP/rublimp",
        pairs=45_000,
        paradigms=45,
        phenomena=12,
        protocol="Perplexity of causal and pseudo-perplexity of masked models, lower is right; the average is the mean "
        "over phenomena. Pairs were chosen by MIN-K% PROB.",
        quirks=(
            "The paradigm is PID; subtype differs from it in 11 paradigms and is kept.",
            "9 pairs are duplicates; they are kept.",
        ),
        files=("**/*.csv",),
        form="CSV, a file for each paradigm",
        keys=Keys("paradigm", "phenomenon", "source_sentence", "target_sentence"),
    ),
    Benchmark(
        name="swe-blimp",
        language="swe",
        load=published(read_swe_blimp, swe_blimp),
        linking="ppl",
        masked_scorer="pll_l2r",
        license="not stated",
        citation="Sjons, Heinat and Kurfali, The Swedish Benchmark of Linguistic Minimal Pairs (Swe-BLiMP)",
        pairs=2_500,
        paradigms=25,
        phenomena=25,
        protocol="Negative log-likelihood per token, lower is right; two prompts in Swedish besides (section 5).",
        quirks=(
            "The file has 2,600 rows: ELLIPSIS1 stands in two blocks, of which the second is the paper's. Of a "
            "category with several blocks the last one is kept.",
            "handmade marks the 10 hand-made pairs that head each block; the others were generated.",
            "A category is a paradigm and a phenomenon of its own.",
            "51 pairs stand in another category before, 2 have a final full stop on one member only; they are kept.",
        ),
        files=("*.csv",),
        form="one CSV with semicolons",
        keys=OURS,
    ),
    *(
        Benchmark(
            name=f"multiblimp/{_language}",
            language=_language,
            load=published(partial(read_tables, delimiter="\t", text=_MULTIBLIMP_TEXT), multiblimp),
            linking="lp",
            license="CC-BY-4.0",
            citation="Jumelet et al. 2025, MultiBLiMP 1.0: A Massively Multilingual Benchmark of Linguistic Minimal "
            "Pairs",
            source="jumelet/multiblimp",
            masked_scorer="pll_l2r",
            protocol="Summed log probability of the whole sentence, strict comparison, accuracy over pairs; Delta is "
            "the mean difference of the log probabilities (section 6.3).",
            quirks=(
                "The paper counts 128,321 pairs of 101 languages and 6 phenomena; the hub has fewer, from 7 pairs to "
                "some 4,600 a language.",
                "The paradigm is the phenomenon with the values of the feature, as SV-# SG -> PL.",
            ),
            files=(f"{_language}/*.tsv", f"{_language}.tsv"),
            form="tab-separated, LANGUAGE/data.tsv or LANGUAGE.tsv",
            keys=Keys("paradigm", "phenomenon", "sen", "wrong_sen"),
            part=_language,
        )
        for _language in MULTIBLIMP
    ),
    *(
        Benchmark(
            name=f"clams/{_language}",
            language=_language,
            load=published(read_clams),
            linking="lp",
            license="Apache-2.0",
            citation="Mueller et al. 2020, Cross-Linguistic Syntactic Evaluation of Word Prediction Models",
            paradigms=22 if _language == "eng" else 7,
            phenomena=3 if _language == "eng" else 1,
            masked_scorer="pll_l2r",
            protocol="Probability of the whole sentence, strict comparison.",
            quirks=(
                "Sentences have no final punctuation and mostly no capitals; the authors add an end of sentence, and "
                "capitals for BERT. They are read as published.",
                "An ungrammatical line pairs with the grammatical line before it, as in the authors' code.",
            ),
            files=(f"{_code}_evalset/*.txt", f"{_language}/*.txt"),
            form="text lines True or False, tab, sentence, in en_evalset, fr_evalset, ... or eng, fra, ...",
            keys=OURS,
        )
        for _language, _code in CLAMS.items()
    ),
    *(
        Benchmark(
            name=f"tse/{_language}",
            language=_language,
            load=published(read_tse),
            linking="lp",
            license="not stated",
            citation="Kryvosheieva and Levy, Controlled Evaluation of Syntactic Knowledge in Multilingual Language "
            "Models",
            pairs=6_000 if _language == "hin" else 8_000,
            paradigms=6 if _language == "hin" else 8,
            phenomena=3 if _language == "eus" else 2,
            scorer="conditional",
            masked_scorer="pll_conditional",
            protocol="Log probability of the target given the condition (section 2), strict comparison; the authors' "
            "code takes the mean per token. Binomial tests against chance, uncorrected.",
            quirks=(
                "A sentence is the condition, a space and the target; all three are columns.",
                "Phenomena are what the paper varies: the focused argument (Basque), the aspect (Hindi), the kind of "
                "predicate (Swahili). Hindi targets are two words.",
                "human_check_failed marks the two Swahili suites that failed the paper's human check (section 3.5).",
            ),
            files=(f"{_name}-*.json",),
            form="JSON, a file for each suite",
            keys=OURS,
        )
        for _language, _name in TSE.items()
    ),
    Benchmark(
        name="demo",
        language="zho",
        load=demo,
        linking="slln_lp",
        license="Apache-2.0",
        citation="the embedded demo of ucurve",
        protocol="As zhoblimp.",
        form="generated; JSON lines in a folder of that name come first",
    ),
    Benchmark(
        name="custom",
        language="und",
        load=undescribed,
        linking="lp",
        license="not stated",
        citation="the pairs of the user",
        protocol="None.",
        form="JSON lines, CSV, tab-separated or parquet, with a column map",
    ),
)
