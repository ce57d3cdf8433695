"""The script that looks for what a filter should have taken out finds it where nothing was filtered."""

import ast
import json
from pathlib import Path

from measurements.training import filtered
from tests.settings import corpus_settings, tokenizer_settings
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.data.store import build_token_store
from ucurve.training.tokenizer.build import build_tokenizer

STEP = {"name": "no_yu", "do": "drop", "unit": "sentence", "pattern": "宇宙"}


def count(place, steps):
    (place / "a.jsonl").write_text(
        "".join(json.dumps({"text": one}) + "\n" for one in ["天地。宇宙。玄黄。", "日月。", "天宇宙"])
    )
    corpus = corpus_settings(kind="text", path=str(place), interventions=steps)
    folder = build_tokenizer(tokenizer_settings("char", coverage=1.0), corpus, place / "tokenizers")
    store = build_token_store(Corpus(corpus), folder, place / "cache")
    (place / "run").mkdir()
    (place / "run" / "tokenizer").symlink_to(folder.absolute())
    facts = {"vocabulary": len(store.token_bytes), "data_sha256": store.sha256}
    (place / "run" / "run.json").write_text(json.dumps(facts))
    return filtered.count_matches(place / "run", place / "cache", "宇宙")


def test_a_filtered_corpus_has_no_match_left(tmp_path):
    plain, without = tmp_path / "plain", tmp_path / "without"
    for place in (plain, without):
        place.mkdir()
    assert count(plain, []) == (3, 2, ["天地。宇宙。玄黄。", "天宇宙"])
    assert count(without, [STEP])[1:] == (0, [])


def test_it_shares_no_code_with_the_filter():
    tree = ast.parse(Path(filtered.__file__).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= {
        *("argparse", "hashlib", "json", "re", "sys", "pathlib", "numpy", "tokenizers"),
    }
