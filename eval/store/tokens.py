"""Log probabilities of tokens beside the scores of pairs: what all checkpoints share once, the values for each.

``eval/BENCHMARK/sentences-HASH.parquet`` has a row for each distinct sentence: its text, its tokens and the pairs it is
a member of. ``eval/BENCHMARK/SCORER/tokens-step00000512.parquet`` has the log probabilities of one step in the order of
these rows. The key beside the scores of the step holds the SHA-256 of the second file and the name of the first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ucurve.errors import DamagedError
from ucurve.eval.scoring.text.layout import TokenLayout, Words
from ucurve.eval.scoring.text.sentences import Flags, Ids, Scores
from ucurve.eval.store.keys import find_key
from ucurve.eval.store.scores import pairs_path, score_path
from ucurve.storage.faults import file_faults
from ucurve.storage.files import new_file, sha256_file, sha256_json
from ucurve.storage.run_folder import STEPS
from ucurve.storage.score_key import ScoreInputs, TokenFacts, read_key, write_key

_PAGE = 1 << 26
_ADVICE = "python score.py ... tokens=true scores it again; without tokens=true, score.py drops the file"


@dataclass(frozen=True, eq=False)
class StoredSentences:
    """The distinct sentences of a benchmark, read back."""

    texts: list[str]
    tokens: Ids  # int64[tokens], the ids of all sentences one after the other
    starts: Ids  # int64[sentences + 1], where each sentence begins in ``tokens``
    scored: Flags  # bool[tokens], the tokens that the scores of the pairs add up
    # int64[tokens, 2], a token's characters in its sentence; None where the tokenizer did not say
    places: Ids | None
    # int64[tokens], the number of each token's word in its sentence, by ``str.split`` or the columns ``words_good`` and
    # ``words_bad``; None where nothing delimits words
    words: Ids | None
    members: pd.DataFrame  # ``pair``, and as ``good`` and ``bad`` the sentences that are its members


@dataclass(frozen=True, eq=False)
class StoredTokens:
    """The log probabilities of a step."""

    sentences: str  # name of the file that describes the sentences
    values: Scores  # float64[tokens], natural logs; NaN where a token has none
    words: Scores | None  # float64[words], sums over words in the order of the sentences; None where not stored
    word_starts: Ids | None  # int64[sentences + 1], where those of each sentence begin


def token_path(scores: Path) -> Path:
    """Return where the log probabilities of tokens are, beside the scores of a step."""
    return scores.with_name(f"tokens-{scores.name}")


def sentences_path(folder: Path, benchmark: str, name: str) -> Path:
    """Return where a description of sentences is, below the run folder ``folder``."""
    return pairs_path(folder, benchmark).with_name(name)


def keep_sentences(
    folder: Path, benchmark: str, inputs: ScoreInputs, make_layout: Callable[[], TokenLayout], pairs: pd.DataFrame
) -> str:
    """Store what the tokens of a benchmark are, unless it is stored, and return the name of the file."""
    name = f"sentences-{sha256_json([inputs.data_sha256, inputs.tokenizer_sha256, inputs.tokens_sha256])[:12]}.parquet"
    path = sentences_path(folder, benchmark, name)
    if _is_known(path):
        return name
    layout = make_layout()
    sentences = layout.sentences
    starts = sentences.starts
    columns = {
        "text": pa.array(sentences.texts),
        "token": _lists(starts, sentences.tokens.astype(np.int32)),
        "scored": _lists(starts, sentences.scored),
    }
    if layout.places is not None:
        for at, column in enumerate(("first", "end")):
            columns[column] = _lists(starts, layout.places[:, at].astype(np.int32))
    if layout.words is not None:
        words = layout.words.owner - layout.words.starts[sentences.owner]
        columns["word"] = _lists(starts, words.astype(np.int32))
    for side, index in (("good", sentences.good), ("bad", sentences.bad)):
        edges = np.concatenate([[0], np.cumsum(np.bincount(index, minlength=len(sentences.texts)))])
        columns[f"{side}_of"] = _lists(edges, pairs["pair"].to_numpy()[np.argsort(index, kind="stable")])
    with new_file(path) as temporary:
        _write(pa.table(columns), temporary)
    return name


def _is_known(sentences: Path) -> bool:
    """Tell whether a description of sentences is one that the key of a score has the hash of."""
    stored = (_facts(file.with_suffix(".parquet")) for file in sentences.parent.glob(f"*/{STEPS}.json"))
    known = {
        facts.sentences_sha256 for facts in stored if facts is not None and facts.sentences == sentences.name
    }
    return sentences.is_file() and sha256_file(sentences) in known


def write_tokens(
    scores: Path, name: str, starts: Ids, values: Scores, words: Words | None, corrections: Scores | None = None
) -> TokenFacts:
    """Store the log probabilities of a step's tokens as float32, and return what the key has to say of them.

    ``name`` is the file of the sentences; their tokens begin at ``starts``, int64[sentences + 1], in ``values``,
    float64[tokens]. Sums over ``words`` are stored too, where given, with ``corrections`` added, float64[words].
    """
    columns = {"lp": _lists(starts, values.astype(np.float32))}
    if words is not None:
        sums = words.sums(values) + (0 if corrections is None else corrections)
        columns["word_lp"] = _lists(words.starts, sums.astype(np.float32))
    path = token_path(scores)
    with new_file(path) as temporary:
        _write(pa.table(columns), temporary)
    described = sha256_file(scores.parents[1] / name)
    facts = {"words": words is not None, "corrected": corrections is not None}
    return TokenFacts(sentences=name, sentences_sha256=described, sha256=sha256_file(path), **facts)


def record_tokens(scores: Path, facts: TokenFacts | None) -> None:
    """Let the key beside scores say what is stored of their tokens; None for nothing."""
    key = read_key(scores)
    if key.token_scores != facts:
        write_key(scores, key.model_copy(update={"token_scores": facts}))


def token_faults(scores: Path) -> list[str]:
    """Name what is wrong with the log probabilities of a step's tokens; nothing also where none are stored."""
    facts, path = _facts(scores), token_path(scores)
    if facts is None:
        return [f"{path}: the key beside the scores does not name it; {_ADVICE}"] if path.exists() else []
    recorded = {path: facts.sha256, scores.parents[1] / facts.sentences: facts.sentences_sha256}
    return [f"{problem}; {_ADVICE}" for problem in file_faults(recorded)]


def has_tokens(scores: Path, words: bool, corrected: bool = False) -> bool:
    """Tell whether undamaged log probabilities of a step's tokens are stored, and of its words as these are wanted."""
    facts = _facts(scores)
    if facts is None or token_faults(scores):
        return False
    return (facts.words or not words) and (facts.corrected or not corrected)


def read_tokens(folder: Path, benchmark: str, scorer: str, step: int) -> StoredTokens | None:
    """Read the log probabilities of a step's tokens; None where none are stored."""
    scores = score_path(folder, benchmark, scorer, step)
    facts = _facts(scores)
    if facts is None:
        return None
    if problems := token_faults(scores):
        raise DamagedError(problems[0])
    table = pq.read_table(token_path(scores))
    words = _values(table, "word_lp").astype(np.float64) if facts.words else None
    starts = _starts(table, "word_lp") if facts.words else None
    return StoredTokens(facts.sentences, _values(table, "lp").astype(np.float64), words, starts)


def read_sentences(folder: Path, benchmark: str, name: str) -> StoredSentences:
    """Read the description of sentences that ``StoredTokens.sentences`` names."""
    path = sentences_path(folder, benchmark, name)
    if not _is_known(path):
        raise DamagedError(f"{path}: not what was written; {_ADVICE}")
    table = pq.read_table(path)
    places = None
    if "first" in table.column_names:
        places = np.stack([_values(table, "first"), _values(table, "end")], axis=1).astype(np.int64)
    sides = {}
    for side in ("good", "bad"):
        edges = _starts(table, f"{side}_of")
        owner = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        sides[side] = pd.Series(owner, index=_values(table, f"{side}_of"))
    return StoredSentences(
        table["text"].to_pylist(),
        _values(table, "token").astype(np.int64),
        _starts(table, "token"),
        _values(table, "scored"),
        places,
        _values(table, "word").astype(np.int64) if "word" in table.column_names else None,
        pd.DataFrame(sides).rename_axis("pair").reset_index(),
    )


def _facts(scores: Path) -> TokenFacts | None:
    key = find_key(scores)
    return None if key is None else key.token_scores


def _write(table: pa.Table, path: Path) -> None:
    # One page for each column, so that zstd finds the contexts which the members of a pair share.
    pq.write_table(table, path, compression="zstd", use_dictionary=False, data_page_size=_PAGE)


def _lists(starts: Ids, values: npt.NDArray[Any]) -> pa.ListArray:
    """Make a list of each part of an array without copying or looking at the values."""
    return pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), pa.array(values))


def _values(table: pa.Table, column: str) -> npt.NDArray[Any]:
    return np.asarray(table[column].combine_chunks().flatten().to_numpy(zero_copy_only=False))


def _starts(table: pa.Table, column: str) -> Ids:
    return np.asarray(table[column].combine_chunks().offsets.to_numpy()).astype(np.int64)
