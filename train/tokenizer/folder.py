"""A tokenizer's folder: the files that count, its report, and the token that separates documents."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ucurve.errors import UserError, did_you_mean
from ucurve.huggingface.pretrained import fetch, load_tokenizer
from ucurve.huggingface.tokenizer_files import (
    STATISTICS,
    TOKENIZER_FILES,
    UNIGRAM_COUNTS,
    has_tokenizer,
    no_tokenizer,
    one_file_tokenizer,
)
from ucurve.storage.files import contents, is_leftover, read_json_or_empty, sha256_file

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

HUB_PATTERNS = ("*.json", *TOKENIZER_FILES)  # what is fetched of a tokenizer on the hub
MASK = "<mask>"  # the mask token of a tokenizer that had none
_IN_NO_VOCABULARY = "\U000f0000"  # a character for private use
_WEIGHTS = (".safetensors", ".bin", ".pt")  # a tokenizer may lie in the folder of a model


def end_of_document(tokenizer: "PreTrainedTokenizerBase") -> int:
    """Return the id of the token that precedes every document: eos, else bos, else sep, else cls.

    Raises:
        UserError: when the tokenizer has none of them.
    """
    for number in (
        tokenizer.eos_token_id,
        tokenizer.bos_token_id,
        tokenizer.sep_token_id,
        tokenizer.cls_token_id,
    ):
        if number is not None:
            return int(number)
    special = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
    raise UserError(
        f"the tokenizer {tokenizer.name_or_path} does not say which token separates documents: it names no eos, bos, "
        f"sep or cls token. tokenizer.document_token=TOKEN names one; its special tokens: {' '.join(special) or 'none'}"
    )


def tokenizer_files(folder: Path) -> dict[str, str]:
    """Return, by name, the SHA-256 of the files that make a tokenizer what it is: no reports, no model weights."""
    there = (file for file in contents(folder) if not is_leftover(file))  # another run may write its counts now
    files = [file for file in there if file.is_file() and file.suffix not in _WEIGHTS]
    return {file.name: sha256_file(file) for file in files if file.name not in (STATISTICS, UNIGRAM_COUNTS)}


def local_files(path: str) -> dict[str, str] | None:
    """Return the names and hashes of a tokenizer that is a folder or a file here; None for anything else."""
    place = Path(path).expanduser()
    if place.is_file():
        return {name: sha256_file(file) for name, file in one_file_tokenizer(place).items()}
    if place.is_dir() and not has_tokenizer(place):
        raise UserError(f"tokenizer.path: {no_tokenizer(place)}")
    return tokenizer_files(place) if place.is_dir() else None


def read_statistics(folder: Path) -> dict[str, Any]:
    """Return what ``statistics.json`` in a tokenizer folder says, empty where there is none that can be read."""
    return read_json_or_empty(folder / STATISTICS)


def load_foreign(
    path: str, revision: str | None = None, document_token: str | None = None
) -> "PreTrainedTokenizerBase":
    """Load a tokenizer of a local folder or file or of the hub, so that text is never read as a special token.

    Of one that names no token for it, ``document_token`` separates documents.

    Raises:
        UserError: when there is no such tokenizer, or it has no token to separate documents or for unknown text.
    """
    with _foreign_folder(path, revision) as folder:
        tokenizer = load_tokenizer(folder, split_special_tokens=True)
    tokenizer.name_or_path = path
    try:
        tokenizer(_IN_NO_VOCABULARY, add_special_tokens=False)
    except Exception as error:  # of the library tokenizers, which has no class for it
        raise UserError(
            f"tokenizer.path={path}: the tokenizer has no token for text that it does not know ({error}); its model "
            "needs an unk_token, or an unk_id (Unigram), that is in its vocabulary"
        ) from error
    if document_token is not None:
        known = tokenizer.get_vocab()
        if document_token not in known:
            hint = did_you_mean(document_token, known)
            raise UserError(
                f"tokenizer.document_token={document_token}: no token of tokenizer.path={path}.{hint}"
            )
        tokenizer.add_special_tokens({"eos_token": document_token})
    end_of_document(tokenizer)
    return tokenizer


@contextmanager
def _foreign_folder(path: str, revision: str | None) -> Iterator[Path]:
    """Give the folder of a tokenizer: of a file a temporary one, in which it has the name that libraries look for."""
    place = Path(path).expanduser()
    if place.is_file():
        with tempfile.TemporaryDirectory() as temporary:
            for name, file in one_file_tokenizer(place).items():
                shutil.copyfile(file, Path(temporary) / name)
            try:
                yield Path(temporary)
            except UserError as error:  # begins with the place of the copy, which is gone when it is read
                raise UserError(f"{path}: {str(error).partition(': ')[2]}") from error
        return
    try:
        folder = place if place.is_dir() else fetch(path, HUB_PATTERNS, revision)
    except Exception as error:  # the hub's client raises errors of several libraries
        what = " ".join(str(error).split())
        raise UserError(
            f"tokenizer.path: no folder {path!r} here, and the hub does not give it ({what})"
        ) from error
    yield folder
