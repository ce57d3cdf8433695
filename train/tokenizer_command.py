"""``tokenizers/build.py``: build one tokenizer alone and print what came out."""

from pathlib import Path
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from train.corpus import Corpus, CorpusSettings
from train.text import TokenizerSettings, build_tokenizer, check_tokenizer, read_statistics
from train.tokens import build_token_store, save_unigram_counts
from ucurve.config import check


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class BuildPaths:
    """Folders written to: tokenized corpora and built tokenizers."""

    cache: str
    tokenizers: str


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class BuildSettings:
    """One tokenizer on one corpus."""

    tokenizer: TokenizerSettings
    data: CorpusSettings
    paths: BuildPaths


def build_command(values: dict[str, Any]) -> None:
    """Build the tokenizer a composed configuration asks for, with the counts of its training tokens beside it.

    Raises:
        UserError: for a mistake in the configuration or in the files it names.
    """
    settings = check(BuildSettings, values)
    Corpus(settings.data).require_files()
    check_tokenizer(settings.tokenizer, settings.data)
    folder = build_tokenizer(settings.tokenizer, settings.data, Path(settings.paths.tokenizers))
    store = build_token_store(Corpus(settings.data), folder, Path(settings.paths.cache))
    save_unigram_counts(store, folder)
    counts = read_statistics(folder)["tokens"]
    print(  # noqa: T201 - what was asked for
        f"{folder}\n"
        f"{'tokenizer':<16}{'all':>10}{'single-char':>14}{'multi-char':>14}\n"
        f"{settings.tokenizer.name:<16}{counts['all']:>10,}{counts['single_character']:>14,}"
        f"{counts['multi_character']:>14,}"
    )
