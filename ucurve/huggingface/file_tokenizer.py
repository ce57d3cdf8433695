"""The tokenizer of ``tokenizer.json``, independent of the class that the folder names.

From version 5 on, transformers builds that class with its own normalizer and pre-tokenizer, so that texts get other ids
than the model was trained with (its issues 45812 and 45920). Here text is encoded by the tokenizer of the file itself.
"""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from ucurve.errors import UserError
from ucurve.huggingface.foreign_code import configuration, tokenizer_class, tokenizer_settings
from ucurve.huggingface.tokenizer_files import TOKENIZER
from ucurve.storage.files import read_json_or_empty

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

# A class that splits words by Python code, which the file cannot hold: the splitter that its files have instead.
_PLACEHOLDERS = {"RoFormerTokenizer": "BertPreTokenizer"}


def is_whole(folder: Path) -> bool:
    """Tell whether a folder has a ``tokenizer.json`` that is all of its tokenizer."""
    path, placeholder = folder / TOKENIZER, _PLACEHOLDERS.get(_class_name(folder).removesuffix("Fast"))
    if not path.is_file() or placeholder is None:
        return path.is_file()
    splitter = read_json_or_empty(path).get("pre_tokenizer")
    return not isinstance(splitter, dict) or splitter.get("type") != placeholder


def usual_special_tokens(folder: Path, backend: "Tokenizer") -> dict[str, str]:
    """Return the special tokens that a class has where no file names them, as far as they are in the vocabulary.

    Older folders, such as those of GPT-2 and BERT, name a class or a type of model and no special token. The keys are
    those of ``tokenizer_config.json``, such as ``bos_token``; one that is null there is left out.
    """
    from transformers import PreTrainedTokenizerBase

    roles = PreTrainedTokenizerBase.SPECIAL_TOKENS_ATTRIBUTES
    found, settings = tokenizer_class(_class_name(folder)), tokenizer_settings(folder)
    usual = inspect.signature(found).parameters if isinstance(found, type) else {}
    named = set(settings)
    if "added_tokens_decoder" not in settings:  # otherwise transformers reads this older file no more
        named |= set(read_json_or_empty(folder / "special_tokens_map.json"))
    tokens = {key: str(usual[key].default) for key in roles if key in usual and key not in named}
    return {key: token for key, token in tokens.items() if backend.token_to_id(token) is not None}


def stand_in(backend: "Tokenizer") -> "Tokenizer":
    """Return a tokenizer without tokens, from which a class copies padding and truncation before ``encode_by``."""
    from tokenizers import Tokenizer, models

    empty = Tokenizer(models.BPE())
    if backend.padding is not None:
        empty.enable_padding(**backend.padding)
    if backend.truncation is not None:
        empty.enable_truncation(**backend.truncation)
    return empty


def encode_by(tokenizer: "PreTrainedTokenizerFast", backend: "Tokenizer", folder: Path) -> None:
    """Let a tokenizer encode and decode by the one of the file, extended by the special tokens that it lacks.

    Args:
        tokenizer: with the ``stand_in``; it has the tokens that the folder's other files name. What they say about
            tokens that are in the file as well is without effect.
        backend: the tokenizer of ``tokenizer.json``.
        folder: for messages.

    Raises:
        UserError: when other files add tokens of text that ``tokenizer.json`` lacks.
    """
    added = [token for _, token in sorted(tokenizer.added_tokens_decoder.items())]
    lacking = [token for token in added if backend.token_to_id(token.content) is None]
    of_text = [repr(token.content) for token in lacking if not token.special]
    if of_text:
        raise UserError(
            f"{folder}: {TOKENIZER} lacks tokens that tokenizer_config.json or added_tokens.json adds "
            f"({', '.join(of_text[:5])}), so that it cannot be known which ids the model was trained with; save the "
            "tokenizer again, with all of its tokens in the one file"
        )
    backend.add_tokens(lacking)
    backend.encode_special_tokens = tokenizer.split_special_tokens
    tokenizer._tokenizer = backend


def _class_name(folder: Path) -> str:
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

    config = configuration(folder)
    named = tokenizer_settings(folder).get("tokenizer_class") or config.get("tokenizer_class")
    return str(named or TOKENIZER_MAPPING_NAMES.get(str(config.get("model_type"))))
