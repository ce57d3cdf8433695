"""Builds the tokenizer of a configuration once for a corpus, into a Hugging Face folder."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, PositiveInt, model_validator
from pydantic.dataclasses import dataclass

from ucurve.errors import UserError, may_be_hub_id, missing_folder
from ucurve.huggingface.pretrained import load_tokenizer
from ucurve.huggingface.revisions import pin_commit
from ucurve.huggingface.tokenizer_files import STATISTICS, TOKENIZER, has_tokenizer, no_tokenizer
from ucurve.progress import log_line
from ucurve.storage.files import sha256_json, write_json
from ucurve.storage.locks import build_once
from ucurve.training.corpus.corpus import Corpus
from ucurve.training.corpus.settings import CorpusSettings
from ucurve.training.tokenizer.characters import survey
from ucurve.training.tokenizer.folder import HUB_PATTERNS, MASK, load_foreign, read_statistics, tokenizer_files
from ucurve.training.tokenizer.vocabulary import vocabulary_size

_FORMAT = 1  # raised when the same settings and corpus would give another tokenizer
_CHARACTER_KINDS = ("char", "word")  # whose base is a choice of characters


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class TokenizerSettings:
    """Which tokenizer; conf/tokenizer/ describes every key but ``commit``, which is what ``pin_tokenizer`` found."""

    kind: Literal["char", "word", "bpe", "hub"]
    name: Annotated[str, Field(pattern=r"^\w+$")]
    vocab_size: PositiveInt | None = None  # for ``char`` and ``hub`` only what a dry run expects before it is built
    coverage: Annotated[float, Field(gt=0, le=1)] | None = None  # see ``Survey.choose_characters``
    path: str | None = None
    revision: str | None = None
    commit: str | None = None

    @model_validator(mode="after")
    def _fields_fit_the_kind(self) -> "TokenizerSettings":
        if self.kind == "hub" and not self.path:
            raise ValueError("path: no tokenizer given; tokenizer=hub needs tokenizer.path=FOLDER or ID")
        for key in ("path", "revision"):
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
    """
    corpus = Corpus(corpus_settings)
    folder = _folder(settings, corpus, folder_root, with_mask)

    def build(temporary: Path) -> None:
        log_line(f"building the tokenizer {folder.name}")
        _build(settings, corpus, temporary, with_mask)

    return build_once(folder, _is_complete, build)


def check_tokenizer(settings: TokenizerSettings) -> None:
    """Check a tokenizer as far as possible before the corpus is read, writing and fetching nothing."""
    from ucurve.training.tokenizer.training import check_size

    _source(settings)
    if settings.vocab_size is not None:
        check_size(settings.kind, settings.vocab_size)


def pin_tokenizer(settings: TokenizerSettings, online: bool = True) -> TokenizerSettings:
    """Find the commit of a tokenizer of the hub and fetch its files; offline, an unknown commit stays None."""
    if settings.path is None:
        return settings
    if isinstance(_source(settings), dict):
        if settings.revision is not None:
            raise UserError(f"tokenizer.revision is for the hub; tokenizer.path={settings.path} is a folder here")
        return settings
    commit = pin_commit("tokenizer.path", settings.path, "model", settings.revision, HUB_PATTERNS, online)
    return replace(settings, commit=commit)


def expected_vocabulary(settings: TokenizerSettings, folder: Path | None) -> tuple[int, str]:
    """Return the size of a vocabulary, of the folder that ``find_tokenizer`` found or else expected, with a note."""
    if folder is not None:
        return int(read_statistics(folder)["tokens"]["all"]), f"(of {folder})"
    if isinstance(_source(settings), dict):  # it is a folder here, which only need be read
        assert settings.path is not None
        return vocabulary_size(load_foreign(settings.path)), f"(of {settings.path})"
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
    size = settings.vocab_size if settings.kind in ("word", "bpe") else None
    parts: list[object] = [_FORMAT, settings.kind, size, _source(settings), corpus.fingerprint()]
    if settings.kind in _CHARACTER_KINDS:
        parts.append({"coverage": settings.coverage})
    if settings.kind == "hub":  # the ids are those of ``tokenizer.json`` and not of the class that the folder names
        parts.append({"ids": TOKENIZER})
    if with_mask:
        parts.append({"mask": MASK})
    key = sha256_json(parts)
    return root / f"{settings.name}{'_mask' * with_mask}-{corpus.settings.run_name}-{key[:8]}"


def _source(settings: TokenizerSettings) -> str | list[str] | dict[str, str] | None:
    """Identify a tokenizer that is not trained here: a folder by its content, another by id and commit on the hub."""
    if settings.path is None:
        return None
    folder = Path(settings.path).expanduser()
    if not folder.is_dir() and not may_be_hub_id(settings.path):
        raise missing_folder("tokenizer.path", folder)
    if not folder.is_dir():
        return settings.path if settings.commit is None else [settings.path, settings.commit]
    if not has_tokenizer(folder):
        raise UserError(f"tokenizer.path: {no_tokenizer(folder)}")
    return tokenizer_files(folder)


def _is_complete(folder: Path) -> bool:
    return folder.is_dir() and read_statistics(folder).get("files") == tokenizer_files(folder)


def _build(settings: TokenizerSettings, corpus: Corpus, folder: Path, with_mask: bool) -> None:
    from ucurve.training.tokenizer import training
    from ucurve.training.tokenizer.statistics import tokenizer_statistics

    foreign = load_foreign(settings.path, settings.commit or settings.revision) if settings.path else None
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
