import json
import math
from pathlib import Path

import pytest

from tests.analysis.studies import study_of
from tests.analysis.synthetic import MakeRun, score_row, write_scores
from tests.facts import change_run
from ucurve.analysis.data.runs import find_runs
from ucurve.analysis.linking.tokenizers import tokenizer_table, tokenizer_table_sections
from ucurve.errors import UserError
from ucurve.storage.files import sha256_file

CHAR = {"all": 12142, "single_character": 11116, "multi_character": 0}


def _describe(run: Path, tokens: object) -> None:
    path = run / "tokenizer" / "statistics.json"
    path.write_text(json.dumps({"tokens": tokens}))
    change_run(run, files={"tokenizer/statistics.json": sha256_file(path)})


def test_runs_of_one_tokenizer_are_one_row(make_run: MakeRun, tmp_path: Path) -> None:
    for seed in (0, 1):
        _describe(make_run([score_row(0, 0.5)], seed=seed), CHAR)
    _describe(make_run([score_row(0, 0.5)], tokenizer="word"), CHAR | {"multi_character": 7471})
    write_scores(tmp_path / "runs" / "qwen", [score_row(-1, 0.5)])
    (part,) = tokenizer_table_sections(study_of(tmp_path))
    rows = part.tables["tokenizers"].to_dict("records")
    assert rows[0] == {"tokenizer": "char", "data": "demo", **CHAR, "runs": 2}
    assert (rows[1]["tokenizer"], rows[1]["multi_character"], rows[1]["runs"]) == ("word", 7471, 1)
    assert len(rows) == 2


def test_a_run_that_does_not_say_has_the_size_of_its_vocabulary_alone(make_run: MakeRun, tmp_path: Path) -> None:
    make_run([score_row(0, 0.5)])
    (row,) = tokenizer_table(find_runs([f"{tmp_path}/runs/*"])).to_dict("records")
    assert (row["all"], row["runs"]) == (8130, 1)
    assert math.isnan(row["single_character"])


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([1], r"statistics\.json: tokens holds \[1\]"),
        ({"all": "many"}, r"statistics\.json: tokens\.all holds 'many'"),
    ],
)
def test_a_broken_record_is_named(make_run: MakeRun, tmp_path: Path, tokens, message) -> None:
    _describe(make_run([score_row(0, 0.5)]), tokens)
    with pytest.raises(UserError, match=message):
        tokenizer_table(find_runs([f"{tmp_path}/runs/*"]))
