"""A tokenizer's folder: the files that count, its report, and the token that separates documents."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ucurve.errors import UserError
from ucurve.huggingface.pretrained import fetch, load_tokenizer
from ucurve.huggingface.tokenizer_files import STATISTICS, TOKENIZER_FILES, UNIGRAM_COUNTS
from ucurve.storage.files import is_leftover, read_json_or_empty, sha256_file

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

HUB_PATTERNS = ("*.json", *TOKENIZER_FILES)  # what is fetched of a tokenizer on the hub
MASK = "<mask>"  # the mask token of a tokenizer that had none
_WEIGHTS = (".safetensors", ".bin", ".pt")  # a tokenizer may lie in the folder of a model


def end_of_document(tokenizer: "PreTrainedTokenizerBase") -> int:
    """Return the id of the token that precedes every document: eos, else bos, else sep, else cls."""
    for number in (tokenizer.eos_token_id, tokenizer.bos_token_id, tokenizer.sep_token_id, tokenizer.cls_token_id):
        if number is not None:
            return int(number)
    raise UserError(
        f"the tokenizer {tokenizer.name_or_path} has no token to separate documents; it needs an eos, bos, sep or "
        "cls token in its tokenizer_config.json"
    )


def tokenizer_files(folder: Path) -> dict[str, str]:
    """Return, by name, the SHA-256 of the files that make a tokenizer what it is: no reports, no model weights."""
    there = (file for file in sorted(folder.iterdir()) if not is_leftover(file))  # another run may write its counts now
    files = [file for file in there if file.is_file() and file.suffix not in _WEIGHTS]
    return {file.name: sha256_file(file) for file in files if file.name not in (STATISTICS, UNIGRAM_COUNTS)}


def read_statistics(folder: Path) -> dict[str, Any]:
    """Return what ``statistics.json`` in a tokenizer folder says, empty where there is none that can be read."""
    return read_json_or_empty(folder / STATISTICS)


def load_foreign(path: str, revision: str | None = None) -> "PreTrainedTokenizerBase":
    """Load a tokenizer of a local folder or of the hub, so that text is never read as a special token."""
    folder = Path(path).expanduser()
    try:
        folder = folder if folder.is_dir() else fetch(path, HUB_PATTERNS, revision)
    except Exception as error:  # the hub's client raises errors of several libraries
        what = " ".join(str(error).split())
        raise UserError(f"tokenizer.path: no folder {path!r} here, and the hub does not give it ({what})") from error
    tokenizer = load_tokenizer(folder, split_special_tokens=True)
    end_of_document(tokenizer)
    return tokenizer
