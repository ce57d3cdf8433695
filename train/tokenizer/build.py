"""Builds the tokenizer of a configuration once for a corpus, into a Hugging Face folder, with a report beside it."""

import functools
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field, PositiveInt, ValidationInfo, field_validator, model_validator
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError, may_be_hub_id, missing_folder
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.huggingface.revisions import pin_commit
from ucurve.huggingface.tokenizer_files import STATISTICS, TOKENIZER
from ucurve.progress import log_line
from ucurve.storage.files import sha256_json, write_json
from ucurve.storage.locks import build_once
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.settings import CorpusSettings, name_in_runs
from ucurve.training.tokenizer.beginning import survey_beginning
from ucurve.training.tokenizer.characters import Survey, contains_han, survey
from ucurve.training.tokenizer.folder import (
    HUB_PATTERNS,
    MASK,
    load_foreign,
    local_files,
    read_statistics,
    tokenizer_files,
)
from ucurve.training.tokenizer.vocabulary import count_tokens, vocabulary_size

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_FORMAT = 1  # raised when the same settings and corpus would give another tokenizer
_NO_CHARACTERS = 2  # tokens of ``char``: the end of a document and the unknown character
_CHARACTER_KINDS = ("char", "word")  # whose base is a choice of characters
_ONLY_HUB = ("path", "revision", "document_token")
_CHINESE_LLAMA = "hfl/chinese-llama-lora-7b"  # the tokenizer of conf/tokenizer/cllama.yaml, which is the default


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class TokenizerSettings:
    """Which tokenizer; conf/tokenizer/ describes every key but ``commit``, which is what ``pin_tokenizer`` found."""

    kind: Literal["char", "word", "bpe", "hub"]
    path: str | None = None
    name: Annotated[str, Field(pattern=r"^\w+$")]
    vocab_size: PositiveInt | None  # for ``char`` and ``hub`` only what a dry run expects before it is built
    coverage: Annotated[float, Field(gt=0, le=1)] | None = None  # see ``Survey.choose_characters``
    revision: str | None = None
    document_token: str | None = None
    commit: str | None = None

    @field_validator("name", mode="before")
    @classmethod
    def _named_after_its_path(cls, name: str | None, info: ValidationInfo) -> str:
        if name:
            return name
        place = Path(info.data.get("path") or info.data.get("kind", "hub")).expanduser()
        place = place.with_suffix("") if place.suffix in (".json", ".model") else place
        # A file mine/tokenizer.json has the name of the folder, which tells it from others.
        return name_in_runs(str(place.parent if place.stem == "tokenizer" and place.parent.name else place))

    @model_validator(mode="after")
    def _fields_fit_the_kind(self) -> "TokenizerSettings":
        if self.kind == "hub" and not self.path:
            raise ValueError("path: no tokenizer given; tokenizer=hub needs tokenizer.path=FOLDER, FILE or ID")
        for key in _ONLY_HUB:
            if self.kind != "hub" and getattr(self, key):
                raise ValueError(f"{key} is for tokenizer=hub only; this is tokenizer.kind={self.kind}")
        if self.coverage is not None and self.kind not in _CHARACTER_KINDS:
            raise ValueError(f"coverage is for tokenizer=char and word only; this is tokenizer.kind={self.kind}")
        if self.kind in ("word", "bpe") and self.vocab_size is None:
            raise ValueError(f"vocab_size: no value given; tokenizer={self.kind} needs one")
        return self


def build_tokenizer(
    settings: TokenizerSettings, corpus_settings: CorpusSettings, folder_root: Path, with_mask: bool = False
) -> Path:
    """Build a tokenizer, with its ``statistics.json``, unless there is one for these settings and this corpus.

    It is built on the text before interventions, so that runs with and without them have the same tokens. One
    ``with_mask`` has the same tokens too, and after them a mask token, unless it is of the hub and has one.

    Raises:
        UserError: when corpus or tokenizer cannot be read, ``vocab_size`` is too small, or a tokenizer of the hub has
            no token to separate documents.
    """
    corpus = Corpus(corpus_settings)
    folder = _folder(settings, corpus, folder_root, with_mask)

    def build(temporary: Path) -> None:
        log_line(f"building the tokenizer {folder.name}")
        _build(settings, corpus, temporary, with_mask)

    return build_once(folder, _is_complete, build)


def check_tokenizer(settings: TokenizerSettings) -> None:
    """Check a tokenizer as far as possible before the corpus is read, writing and fetching nothing.

    Raises:
        UserError: when its folder is missing or holds none, or ``vocab_size`` is too small for any corpus.
    """
    from ucurve.training.tokenizer.training import check_size

    _source(settings)
    if settings.vocab_size is not None:
        check_size(settings.kind, settings.vocab_size)


@functools.cache
def say_script(settings: TokenizerSettings, data: CorpusSettings) -> None:
    """Log once where the text on this machine is hardly Chinese, which Chinese-LLaMA's tokenizer is made for."""
    if settings.path != _CHINESE_LLAMA or (beginning := survey_beginning(data)) is None:
        return
    letters = {letter: count for letter, count in beginning.found.counts.items() if letter.isalpha()}
    share = sum(count for letter, count in letters.items() if contains_han(letter)) / max(
        1, sum(letters.values())
    )
    if share < 0.5:
        log_line(
            f"tokenizer={settings.name} is Chinese-LLaMA's, made for Chinese and fetched from the hub; {1 - share:.0%} "
            f"of the letters at the beginning of data={data.run_name} are of another script. tokenizer=char, word and "
            "bpe are made from your text without a network, tokenizer.path= takes one of your own"
        )


def pin_tokenizer(settings: TokenizerSettings, online: bool = True) -> TokenizerSettings:
    """Find the commit of a tokenizer of the hub and fetch its files; offline, an unknown commit stays None.

    Raises:
        UserError: when it is neither a folder nor an id, or neither the hub nor its cache gives it.
    """
    if settings.path is None:
        return settings
    if isinstance(_source(settings), dict):
        if settings.revision is not None:
            raise UserError(f"tokenizer.revision is for the hub; tokenizer.path={settings.path} is here")
        return settings
    commit = pin_commit("tokenizer.path", settings.path, "model", settings.revision, HUB_PATTERNS, online)
    return replace(settings, commit=commit)


def expected_vocabulary(
    settings: TokenizerSettings, corpus_settings: CorpusSettings, folder_root: Path, with_mask: bool = False
) -> tuple[int, str]:
    """Return the size of a vocabulary, of a tokenizer that is built already or else expected, with a note.

    Raises:
        UserError: when no size can be expected, or the tokenizer or the corpus cannot be read.
    """
    for mask in [with_mask] if settings.path else [with_mask, not with_mask]:  # which is one token more or less
        if (folder := find_tokenizer(settings, corpus_settings, folder_root, mask)) is not None:
            return int(read_statistics(folder)["tokens"]["all"]) + with_mask - mask, f"(of {folder})"
    if isinstance(_source(settings), dict):  # it is a folder here, which only need be read
        assert settings.path is not None
        return vocabulary_size(_load(settings, settings.path)), f"(of {settings.path})"
    if settings.kind == "char" and (beginning := survey_beginning(corpus_settings)) is not None:
        size = len(beginning.found.choose_characters(settings.coverage)) + _NO_CHARACTERS + with_mask
        return size, f"(expected by {beginning.read}; the tokenizer is not built yet)"
    if settings.vocab_size is None:
        raise UserError(
            f"tokenizer={settings.name} is not built yet and tokenizer.vocab_size is not set, so its size is not "
            "known; set tokenizer.vocab_size or build it with tokenizers/build.py"
        )
    return settings.vocab_size, "(expected; the tokenizer is not built yet)"


def find_tokenizer(
    settings: TokenizerSettings, corpus_settings: CorpusSettings, folder_root: Path, with_mask: bool = False
) -> Path | None:
    """Return the folder of a tokenizer that is built already, else None."""
    if not corpus_settings.has_text:
        return None
    folder = _folder(settings, Corpus(corpus_settings), folder_root, with_mask)
    return folder if _is_complete(folder) else None


def _folder(settings: TokenizerSettings, corpus: Corpus, root: Path, with_mask: bool) -> Path:
    """Return where a tokenizer is built, by a hash of all that its tokens and their ids depend on."""
    size = settings.vocab_size if settings.kind in ("word", "bpe") else None
    parts: list[object] = [_FORMAT, settings.kind, size, _source(settings), corpus.fingerprint()]
    if settings.kind in _CHARACTER_KINDS:
        parts.append({"coverage": settings.coverage})
    # The ids are those of ``tokenizer.json`` and not of the class that the folder names.
    if settings.kind == "hub":
        parts.append({"ids": TOKENIZER, "document": settings.document_token})
    if with_mask:
        parts.append({"mask": MASK})
    key = sha256_json(parts)
    return root / f"{settings.name}{'_mask' * with_mask}-{corpus.settings.run_name}-{key[:8]}"


def _source(settings: TokenizerSettings) -> str | list[str] | dict[str, str] | None:
    """Identify a tokenizer that is not trained here: a folder by its content, another by id and commit on the hub."""
    if settings.path is None:
        return None
    here = local_files(settings.path)
    if here is None and not may_be_hub_id(settings.path, old_names=True):
        raise missing_folder("tokenizer.path", Path(settings.path).expanduser())
    return here or (settings.path if settings.commit is None else [settings.path, settings.commit])


def _load(settings: TokenizerSettings, path: str) -> "PreTrainedTokenizerBase":
    return load_foreign(path, settings.commit or settings.revision, settings.document_token)


def _is_complete(folder: Path) -> bool:
    return folder.is_dir() and read_statistics(folder).get("files") == tokenizer_files(folder)


def _build(settings: TokenizerSettings, corpus: Corpus, folder: Path, with_mask: bool) -> None:
    """Write a tokenizer, trained here or taken from elsewhere, and then the report by which the folder is complete."""
    from ucurve.training.tokenizer import training

    foreign = _load(settings, settings.path) if settings.path else None
    found = survey(corpus.plain.documents(), training.MERGE_CHARACTERS[settings.kind])
    tokenizer = foreign
    if tokenizer is None:
        trained = training.train(settings.kind, found, settings.vocab_size, settings.coverage)
        tokenizer = training.as_transformers(trained)
    if with_mask and tokenizer.mask_token is None:
        training.add_mask(tokenizer, framed=foreign is None)
    tokenizer.save_pretrained(folder)
    statistics = tokenizer_statistics(load_tokenizer(folder), found)
    if settings.kind in _CHARACTER_KINDS:
        unknown = found.count_unknown(tokenizer.get_vocab())
        statistics["unknown"] = asdict(unknown)
        if unknown.kinds:
            log_line(
                f"{unknown.kinds:,} of {len(found.counts):,} different characters are unknown (tokenizer.coverage), "
                f"{100 * unknown.share:.3g} % of the text"
            )
    facts: dict[str, object] = {
        "kind": settings.kind,
        "name": settings.name,
        "data": corpus.settings.run_name,
        "source": settings.path,
    }
    if settings.commit is not None:
        facts["commit"] = settings.commit
    write_json(folder / STATISTICS, facts | statistics | {"files": tokenizer_files(folder)})


_EXAMPLES = 5  # so many texts that do not come back are shown
_EXCERPT = 20  # an example has so many characters
_CHECKED_CHARACTERS = 300_000  # at most so many of the sample are checked


def tokenizer_statistics(tokenizer: "PreTrainedTokenizerBase", found: Survey) -> dict[str, object]:
    """Describe a tokenizer, by ``tokens`` (Table 4 of ZhoBLiMP), ``corpus`` and ``round_trip``."""
    sampled = sum(map(len, found.sample))
    # Round trips are checked on an even part of the sample.
    every = math.ceil(sampled / _CHECKED_CHARACTERS)
    return {
        "tokens": count_tokens(tokenizer),
        "corpus": {
            "documents": found.documents,
            "characters": found.characters,
            "distinct_characters": len(found.counts),
            "sampled_characters": sampled,
        },
        "round_trip": {
            "documents": round_trip(tokenizer, list(found.sample[::every])),
            "characters": round_trip(tokenizer, list(found.counts)),
        },
    }


def round_trip(tokenizer: "PreTrainedTokenizerBase", texts: list[str]) -> dict[str, object]:
    """Encode and decode texts and report how many do not come back exactly, with excerpts from where some differ."""
    all_ids = tokenizer(texts, add_special_tokens=False)["input_ids"]
    decoded = [str(tokenizer.decode(ids, clean_up_tokenization_spaces=False)) for ids in all_ids]
    failed = [(text, back) for text, back in zip(texts, decoded, strict=True) if text != back]
    examples = []
    for text, back in failed[:_EXAMPLES]:
        # Where they differ, or the shorter one ends.
        place = next(
            (n for n, (a, b) in enumerate(zip(text, back, strict=False)) if a != b), min(len(text), len(back))
        )
        examples.append({"text": text[place : place + _EXCERPT], "decoded": back[place : place + _EXCERPT]})
    return {"checked": len(texts), "failed": len(failed), "examples": examples}
