"""Small repositories like those that ``python train.py model=160m tokens=3B`` reads.

``python -m tests.hub_repositories DIR`` writes them and ``python -m tests.hub DIR`` serves them. The text and the pairs
are those of the embedded grammar.
"""

import gzip
import io
import json
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import sentencepiece

from ucurve.templates.demo import demo_pairs, training_text

CORPUS, TOKENIZER, BENCHMARK = "allenai/c4", "hfl/chinese-llama-lora-7b", "Junrui1202/zhoblimp"
_C4_CARD = """---
configs:
- config_name: en
  data_files:
  - split: train
    path: en/c4-train.*.json.gz
- config_name: zh
  data_files:
  - split: train
    path: multilingual/c4-zh.*.json.gz
---
# C4
"""


def json_lines(records: Iterable[dict]) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def corpus_files(texts: Sequence[str], shards: int = 2) -> dict[str, bytes]:
    """C4's layout: a configuration for each language, which names its files by a glob, in compressed JSON lines."""
    records = [{"text": text, "timestamp": "2020-01-01T00:00:00Z", "url": "https://x"} for text in texts]
    parts = {
        f"multilingual/c4-zh.tfrecord-{number:05d}-of-{shards:05d}.json.gz": json_lines(records[number::shards])
        for number in range(shards)
    }
    english = {
        "en/c4-train.00000-of-00001.json.gz": json_lines([{"text": "not wanted", "timestamp": "", "url": ""}])
    }
    return {"README.md": _C4_CARD.encode()} | {
        name: gzip.compress(part) for name, part in (parts | english).items()
    }


def sentencepiece_model(texts: Iterable[str], size: int = 600) -> bytes:
    """A model with the options of Llama's: BPE, byte fallback, <unk>, <s> and </s> in front, nothing normalized."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, vocab_size=size, model_type="bpe", byte_fallback=True,
        character_coverage=0.9995, normalization_rule_name="identity", remove_extra_whitespaces=False,
        split_digits=True, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    return model.getvalue()


def benchmark_files(pairs: Iterable[dict]) -> dict[str, bytes]:
    """ZhoBLiMP's layout: a file of JSON lines for each paradigm."""
    by_paradigm: dict[str, list[dict]] = {}
    for pair in pairs:
        by_paradigm.setdefault(pair["UID"], []).append(pair)
    return {f"data/{name}.jsonl": json_lines(records) for name, records in sorted(by_paradigm.items())}


def repositories(
    documents: int | None = None, pairs: int | None = None
) -> dict[tuple[str, str], dict[str, bytes]]:
    """The files of corpus, tokenizer and benchmark, by kind and name of the repository."""
    texts = list(islice(training_text(), documents))
    return {
        ("datasets", CORPUS): corpus_files(texts),
        ("models", TOKENIZER): {
            "tokenizer.model": sentencepiece_model(texts[:2000]),
            "adapter_config.json": b"{}",
        },
        ("datasets", BENCHMARK): benchmark_files(islice(demo_pairs(), pairs)),
    }


if __name__ == "__main__":  # DIR, and a file of text whose lines are the corpus in place of the grammar's
    made = repositories()
    if len(sys.argv) > 2:
        texts = [line for line in Path(sys.argv[2]).read_text(encoding="utf-8").splitlines() if line.strip()]
        made["datasets", CORPUS] = corpus_files(texts)
        made["models", TOKENIZER]["tokenizer.model"] = sentencepiece_model(texts[:20_000], 8000)
    for (kind, name), files in made.items():
        for path, content in files.items():
            target = Path(sys.argv[1], kind, name, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
