"""Writes the token stream of a corpus into the cache, once (``ucurve.token_stream.store`` reads it)."""

import contextlib
import functools
import hashlib
import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from ucurve.errors import UserError
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.huggingface.tokenizer_files import UNIGRAM_COUNTS
from ucurve.progress import log_line
from ucurve.storage.facts import HeldOutFacts, InterventionFacts
from ucurve.storage.files import new_file, read_json_or_empty, sha256_file, sha256_json, write_json
from ucurve.storage.locks import build_once
from ucurve.token_stream.joining import describe_joining
from ucurve.token_stream.store import (
    DOCUMENTS,
    HELD_OUT_TOKENS,
    INDEX,
    TOKEN_BYTES,
    StreamSize,
    TokenStore,
    is_complete_store,
    join_stores,
    open_store,
    stream_folder,
)
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.files import keep_hashes
from ucurve.training.corpus.held_out import HeldOut, OtherText
from ucurve.training.corpus.interventions import Interventions, describe_effect
from ucurve.training.corpus.parallel import count_processes
from ucurve.training.corpus.settings import CorpusSettings
from ucurve.training.data.encode import Encoded, Recipe, encode, encode_documents, make_recipe
from ucurve.training.data.read_once import is_complete_here
from ucurve.training.data.reading import Reading
from ucurve.training.data.unfinished import kept_if_unfinished, restore_progress, save_progress
from ucurve.training.tokenizer.folder import tokenizer_files
from ucurve.training.tokenizer.vocabulary import count_unknown_bytes, token_bytes, vocabulary_size

_FORMAT = 2  # a part of the key, so that streams of other formats are built again
DROPPED = "dropped.jsonl.gz"  # in the folder of a stream: the documents and sentences that interventions dropped
_LEAST_HELD_OUT, _ENOUGH_HELD_OUT = 100, 1_000  # tokens: the mean loss is uncertain by about a tenth, or by 3 %
_LARGEST_SHARE = 0.1  # of the documents that is proposed for held-out text
_SHARD_TOKENS = 2**26  # 128 MiB of 16-bit ids
_TOKENS_BETWEEN_LINES = 50_000_000  # one line of progress is logged for so many
_TOKENS_AT_ONCE = 2**22  # that are read back when a stream is gone on with


def build_token_store(
    corpus: Corpus, tokenizer_folder: Path, cache: Path, processes: int | None = None, read_all: bool = True
) -> TokenStore:
    """Tokenize a corpus and its held-out text unless the cache holds their tokens already.

    The cached stream is used if corpus (names and bytes of its files, unit, field) and tokenizer are unchanged and its
    hashes match. Processes that need the same stream build it once.

    Args:
        read_all: whether the bytes of a cached stream are checked. Without it only its index and the sizes of its files
            are, which is enough where nothing is trained on it.
    """
    if corpus.parts:
        return _join(corpus, tokenizer_folder, cache, processes, read_all)
    key = _key(corpus, tokenizer_folder)

    def build(temporary: Path) -> None:
        log_line(f"tokenizing {corpus.settings.run_name} with {tokenizer_folder.name}")
        # In a folder of this machine the text may be another one now.
        goes_on = corpus.settings.commit is not None
        with kept_if_unfinished(target, temporary) if goes_on else contextlib.nullcontext(temporary) as place:
            _build(corpus, tokenizer_folder, place, key, processes or count_processes(), goes_on)
        for line in _effects(read_json_or_empty(temporary / INDEX), target):
            log_line(line)

    def is_complete(found: Path) -> bool:
        return is_complete_here(found, key) if read_all else is_complete_store(found, key, read_all=False)

    target = stream_folder(cache, key)
    if not is_complete(target):  # without the lock of who builds it: several machines may read it at one time
        build_once(target, is_complete, build)
    keep_hashes(cache)
    return open_store(target)


def find_stream_size(corpus: Corpus, tokenizer_folder: Path, cache: Path) -> StreamSize | None:
    """Return the size of a corpus's token stream as the cache records it, without reading the stream; else None."""
    parts = [find_stream_size(part, tokenizer_folder, cache) for part in corpus.parts]
    known = [size for size in parts if size is not None]
    if parts:
        documents, length = sum(size.documents for size in known), sum(size.length for size in known)
        return StreamSize(documents, length, parts=known) if len(known) == len(parts) else None
    key = _key(corpus, tokenizer_folder)
    index = read_json_or_empty(stream_folder(cache, key) / INDEX)
    return StreamSize(index["documents"], index["length"]) if index.get("key") == key else None


def describe_interventions(corpus: Corpus, tokenizer_folder: Path | None, cache: Path) -> list[str]:
    """Say what each intervention changes: as the cache records it, or by reading the text; nothing is fetched."""
    if corpus.parts:
        return [
            f"{part.settings.run_name}: {line}"
            for part in corpus.parts
            for line in describe_interventions(part, tokenizer_folder, cache)
        ]
    if not corpus.settings.interventions:
        return []
    if tokenizer_folder is not None:
        key = _key(corpus, tokenizer_folder)
        folder = stream_folder(cache, key)
        index = read_json_or_empty(folder / INDEX)
        if index.get("key") == key:
            return _effects(index, folder)
    listed = f"{cache}/tokens-*/{DROPPED} will list what is dropped when the corpus is tokenized"
    if corpus.settings.kind == "hub":
        steps = [f"{step.name}: {step.describe()}" for step in corpus.settings.interventions]
        return [*steps, f"counted when the corpus is tokenized, as nothing is fetched; {listed}"]
    return [*map(describe_effect, _count_effects(corpus.settings)), listed]


@functools.cache
def _count_effects(settings: CorpusSettings) -> tuple[InterventionFacts, ...]:
    """Count the effects once for all cells of a grid."""
    interventions = Interventions(settings.interventions)
    for _ in Corpus(settings).documents(interventions=interventions):
        pass
    return interventions.facts()


def _effects(index: Mapping[str, Any], folder: Path) -> list[str]:
    """Say what the index of a stream in a folder records of interventions, and where what they dropped is listed."""
    facts = [InterventionFacts.model_validate(one) for one in index.get("interventions", [])]
    return [*map(describe_effect, facts), f"{folder / DROPPED} lists what was dropped"] if facts else []


def save_unigram_counts(store: TokenStore, tokenizer_folder: Path) -> None:
    """Save the counts of the training tokens, int64 of shape [vocabulary], as ``unigram_counts.npy`` in a folder."""
    with new_file(tokenizer_folder / UNIGRAM_COUNTS) as temporary:
        _save_array(temporary, store.unigram_counts)


def _save_array(path: Path, array: NDArray[np.generic]) -> None:
    """Write a ``.npy`` file; NumPy's own function does not report that the disk is full."""
    content = io.BytesIO()
    np.save(content, array)
    path.write_bytes(content.getbuffer())


def epoch_tokens(length: int, sequence: int, where: str) -> int:
    """Return the tokens of one epoch of a stream, which has whole sequences only.

    Raises:
        UserError: when the stream holds no whole sequence.
    """
    # The last sequence needs one more token, its last target.
    usable = (length - 1) // sequence * sequence
    if usable <= 0:
        raise UserError(
            f"{where} has {length:,} tokens, too few for one sequence of {sequence} and its last target; give more "
            f"text, or lower batch.length={sequence}"
        )
    return usable


def check_budget(length: int, sequence: int, tokens: int, max_epochs: int, where: str) -> None:
    """Check that a token budget does not repeat a stream of some length more often than allowed.

    Raises:
        UserError: when the stream holds no whole sequence, or the budget means more than ``max_epochs`` epochs.
    """
    usable = epoch_tokens(length, sequence, where)
    if tokens <= usable * max_epochs:
        return
    epochs = tokens / usable
    raise UserError(
        f"tokens={tokens:,} means {epochs:.2f} epochs of {where}, which has {usable:,} tokens in whole sequences; "
        f"data.max_epochs={max_epochs} allows {usable * max_epochs:,} tokens. Lower tokens, or set "
        f"data.max_epochs={math.ceil(epochs)}"
    )


def check_part_budgets(size: StreamSize, settings: CorpusSettings, sequence: int, tokens: int) -> None:
    """Check that a token budget repeats no part of a mixture or of stages more often than the part allows.

    Raises:
        UserError: naming the part.
    """
    assert settings.joining is not None, "one corpus has no parts"
    counts = settings.joining.count(tokens // sequence, sequence)
    for part, of_part, count in zip(settings.parts, size.parts, counts, strict=True):
        seen = count * sequence
        if not seen:
            log_line(
                f"warning: no token of the part {part.name} is trained on: a budget of {tokens:,} ends before it"
            )
        if part.data.parts:
            check_part_budgets(of_part, part.data, sequence, seen)
            continue
        usable, most = epoch_tokens(of_part.length, sequence, f"the part {part.name}"), part.data.max_epochs
        if seen > usable * most:
            raise UserError(
                f"the part {part.name} of data={settings.run_name} gives {seen:,} tokens, {seen / usable:.2f} epochs "
                f"of its {usable:,} tokens in whole sequences; its max_epochs={most} allows {usable * most:,}. Lower "
                f"tokens, change weight or tokens of parts, or give this one max_epochs: {math.ceil(seen / usable)}"
            )


def _key(corpus: Corpus, tokenizer_folder: Path) -> str:
    files = tokenizer_files(tokenizer_folder)
    # The held-out text counts, because its tokens lie in the folder of the stream.
    return sha256_json([_FORMAT, corpus.fingerprint(), files, *corpus.held_out_content()])


def _join(
    corpus: Corpus, tokenizer_folder: Path, cache: Path, processes: int | None, read_all: bool
) -> TokenStore:
    """Tokenize the parts of a corpus, and record how their streams follow each other."""
    stores = [build_token_store(part, tokenizer_folder, cache, processes, read_all) for part in corpus.parts]
    joining = corpus.settings.joining
    assert joining is not None, "what has parts says how they follow each other"
    keys = [_key(part, tokenizer_folder) for part in corpus.parts]
    key = _key(corpus, tokenizer_folder)
    joined = join_stores(stores, joining)

    def build(temporary: Path) -> None:
        index = {
            "format": _FORMAT,
            "key": key,
            "sha256": joined.sha256,
            "joining": describe_joining(joining),
            "parts": keys,
        }
        write_json(temporary / INDEX, index | {"index_sha256": sha256_json(index)})

    build_once(stream_folder(cache, key), lambda found: is_complete_store(found, key, read_all=False), build)
    return joined


def _build(corpus: Corpus, tokenizer_folder: Path, folder: Path, key: str, processes: int, goes_on: bool) -> None:
    """Write the stream of a corpus into a folder, after what is there of it if it ``goes_on``, and its index last."""
    tokenizer = load_tokenizer(tokenizer_folder)
    size = vocabulary_size(tokenizer)
    recipe = make_recipe(tokenizer_folder, tokenizer, "<u2" if size <= 2**16 else "<u4")
    state = restore_progress(folder, key) if goes_on else None
    writer = StreamWriter(folder, size)
    if state is not None:
        writer.go_on(recipe.dtype, state["text_bytes"])
        log_line(f"going on after {writer.length:,} tokens in {writer.documents:,} documents")
    with Reading(corpus, folder / DROPPED) as reading:
        documents = reading.marked_documents(state) if goes_on else reading.documents()
        for encoded in encode_documents(documents, recipe, processes):
            writer.append(encoded)
            if encoded.mark is not None and writer.documents:
                state = json.loads(encoded.mark) | {"text_bytes": writer.text_bytes}
                save_progress(folder, key, writer.sizes() | state["sizes"], state)
    if not writer.documents:
        raise corpus.without_text()
    held_out, interventions = reading.held_out, reading.interventions
    _save_array(folder / TOKEN_BYTES, token_bytes(tokenizer))
    _save_array(folder / UNIGRAM_COUNTS, writer.unigram_counts)
    index = writer.index() | {"format": _FORMAT, "key": key, "dtype": recipe.dtype}
    if corpus.settings.commit is not None:
        index["source"] = {"dataset": corpus.settings.dataset, "commit": corpus.settings.commit}
    if held_out is not None and (facts := _save_held_out(held_out, recipe, folder)) is not None:
        index["held_out"] = facts.model_dump()
    files = sorted(path.name for pattern in ("*.npy", DROPPED) for path in folder.glob(pattern))
    if interventions is not None:
        index["interventions"] = [one.model_dump() for one in interventions.facts()]
    # The shards are not among them; their tokens have one hash together.
    index["files"] = {name: sha256_file(folder / name) for name in (DOCUMENTS, *files)}
    write_json(folder / INDEX, index | {"index_sha256": sha256_json(index)})
    log_line(f"{writer.length:,} tokens in {writer.documents:,} documents")


def _save_held_out(held_out: HeldOut, recipe: Recipe, folder: Path) -> HeldOutFacts | None:
    """Save the tokens of the held-out text and describe it; None where it has nothing to predict."""
    texts = held_out.sample()
    where = held_out.source
    if held_out.left_out:
        where += f", without {held_out.left_out:,} documents that stand in the training text too"
    ids = encode(recipe, texts).tokens if texts else np.empty(0, dtype=recipe.dtype)
    if not np.load(folder / TOKEN_BYTES)[ids[1:]].any():
        remedy = _how_to_hold_out(held_out, len(ids))
        log_line(f"no held-out text, so no held-out loss: no document with known tokens in {where}; {remedy}")
        return None
    size = sum(len(text.encode()) for text in texts)
    _save_array(folder / HELD_OUT_TOKENS, ids)
    log_line(
        f"held-out text: {len(texts):,} document{'' if len(texts) == 1 else 's'}, {size:,} bytes, from {where}"
    )
    if len(ids) < _LEAST_HELD_OUT:
        remedy = _how_to_hold_out(held_out, len(ids))
        log_line(f"held-out text: only {len(ids)} tokens, too few for a steady loss; {remedy}")
    return HeldOutFacts(
        source=held_out.source,
        documents=len(texts),
        bytes=size,
        unknown_bytes=count_unknown_bytes(load_tokenizer(recipe.folder), texts),
        tokens=len(ids),
        left_out=held_out.left_out,
        sha256=sha256_file(folder / HELD_OUT_TOKENS),
    )


def _how_to_hold_out(held_out: HeldOut, tokens: int) -> str:
    """Say what gives enough held-out text, which has ``tokens`` tokens now: a larger share or longer files."""
    if isinstance(held_out, OtherText):
        return f"a longer {held_out.source} helps"
    share = min(held_out.share * _ENOUGH_HELD_OUT / max(tokens, 1), _LARGEST_SHARE)  # copies of a text count once
    return f"data.holdout={share:.1g} sets apart more documents"


class Shard(TypedDict):
    """A file of a token stream."""

    file: str
    tokens: int


class StreamWriter:
    """Writes a stream shard by shard into an empty folder and keeps its counts and hash."""

    def __init__(self, folder: Path, vocabulary: int) -> None:
        self._folder = folder
        self._hash = hashlib.sha256()
        self._shards: list[Shard] = []
        self._next_line = _TOKENS_BETWEEN_LINES
        self.length = self.documents = self.text_bytes = 0
        self.unigram_counts: NDArray[np.int64] = np.zeros(vocabulary, dtype=np.int64)

    def append(self, encoded: Encoded) -> None:
        """Add documents to the end of the stream."""
        # int64[documents]: where each document begins in the stream
        self._write(DOCUMENTS, (self.length + encoded.starts).astype("<i8").tobytes())
        self._hash.update(encoded.tokens.tobytes())
        self.unigram_counts += np.bincount(encoded.tokens, minlength=len(self.unigram_counts))
        self.length += len(encoded.tokens)
        self.documents += len(encoded.starts)
        self.text_bytes += encoded.text_bytes
        rest = encoded.tokens
        while len(rest):
            if not self._shards or self._shards[-1]["tokens"] == _SHARD_TOKENS:
                self._shards.append({"file": f"shard-{len(self._shards):05d}.bin", "tokens": 0})
            # A shard that a kill has left short is filled up.
            shard = self._shards[-1]
            part = rest[: _SHARD_TOKENS - shard["tokens"]]
            self._write(shard["file"], part.tobytes())
            shard["tokens"] += len(part)
            rest = rest[len(part) :]
        if self.length >= self._next_line:
            log_line(f"{self.length:,} tokens in {self.documents:,} documents so far")
            self._next_line += _TOKENS_BETWEEN_LINES

    def go_on(self, dtype: str, text_bytes: int) -> None:
        """Take what an earlier writer has written into the folder as written by this one."""
        self.text_bytes = text_bytes
        for path in sorted(self._folder.glob("shard-*.bin")):
            shard = np.memmap(path, dtype=dtype, mode="r")
            self._shards.append({"file": path.name, "tokens": len(shard)})
            self.length += len(shard)
            for first in range(0, len(shard), _TOKENS_AT_ONCE):
                tokens = shard[first : first + _TOKENS_AT_ONCE]
                self._hash.update(tokens.tobytes())
                self.unigram_counts += np.bincount(tokens, minlength=len(self.unigram_counts))
        self.documents = (self._folder / DOCUMENTS).stat().st_size // 8  # each is an int64
        self._next_line += self.length // _TOKENS_BETWEEN_LINES * _TOKENS_BETWEEN_LINES

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each file by its name."""
        names = [DOCUMENTS, *(shard["file"] for shard in self._shards)]
        return {name: (self._folder / name).stat().st_size for name in names}

    def index(self) -> dict[str, object]:
        """Describe what was written."""
        return {
            "length": self.length,
            "documents": self.documents,
            "text_bytes": self.text_bytes,
            "sha256": self._hash.hexdigest(),
            "shards": self._shards,
        }

    def _write(self, name: str, content: bytes) -> None:
        with (self._folder / name).open("ab") as file:
            file.write(content)
