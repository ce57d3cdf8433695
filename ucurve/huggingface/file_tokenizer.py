"""Tokenizers as their file has them: ``tokenizer.json``, and a SentencePiece model that nothing beside it describes.

From version 5 on, transformers builds the class that a folder names with its own normalizer and pre-tokenizer, so that
texts get other ids than the model was trained with (its issues 45812 and 45920). Here text is encoded by the tokenizer
of the file itself. Of a bare SentencePiece model, kind, rules and special tokens are read in the file.
"""

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ucurve.errors import UserError, first_line
from ucurve.huggingface.foreign_code import configuration, tokenizer_class, tokenizer_settings
from ucurve.huggingface.tokenizer_files import SENTENCEPIECE_MODEL, TOKENIZER
from ucurve.storage.files import read_json_or_empty

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast
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


_SPACE = "\u2581"  # how SentencePiece writes a space


def is_bare_sentencepiece(folder: Path) -> bool:
    """Tell whether a folder has a SentencePiece model and nothing that names its class."""
    settings = read_json_or_empty(folder / "tokenizer_config.json") | read_json_or_empty(folder / "config.json")
    named = settings.get("tokenizer_class") or settings.get("model_type")
    return (folder / SENTENCEPIECE_MODEL).is_file() and not (folder / TOKENIZER).exists() and not named


def load_unigram(folder: Path, **options: Any) -> "PreTrainedTokenizerBase | None":
    """Load a bare SentencePiece model that is unigram, with SentencePiece's own ids; return None for a BPE model."""
    from transformers import PreTrainedTokenizerFast

    model = _read_model(folder / SENTENCEPIECE_MODEL)
    spec = model.trainer_spec
    # Such a model is left to the class that transformers has for it.
    if spec.model_type == spec.BPE:
        return None
    if spec.model_type != spec.UNIGRAM or spec.treat_whitespace_as_suffix:
        raise UserError(
            f"{folder / SENTENCEPIECE_MODEL}: a SentencePiece model that is neither BPE nor unigram with spaces before "
            "words, and nothing names its class; save it as tokenizer.json, or train another"
        )
    names = {
        "bos_token": spec.bos_id,
        "eos_token": spec.eos_id,
        "unk_token": spec.unk_id,
        "pad_token": spec.pad_id,
    }
    # A number below 0 stands for a token that the model lacks.
    special = {name: model.pieces[number].piece for name, number in names.items() if number >= 0}
    unigram = _make_unigram(model)
    return PreTrainedTokenizerFast(tokenizer_object=unigram, name_or_path=str(folder), **special, **options)


def _read_model(file: Path) -> Any:
    from sentencepiece import sentencepiece_model_pb2

    try:
        return sentencepiece_model_pb2.ModelProto.FromString(file.read_bytes())  # type: ignore[attr-defined]
    except Exception as error:  # of protobuf, which has its own classes
        raise UserError(f"{file}: not a SentencePiece model ({first_line(error)})") from error


def _make_unigram(model: Any) -> "Tokenizer":
    """Make a unigram tokenizer by the rules for white space and characters that SentencePiece would follow."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    spec, rules = model.trainer_spec, model.normalizer_spec
    made = Tokenizer(
        models.Unigram([(one.piece, one.score) for one in model.pieces], spec.unk_id, spec.byte_fallback)
    )
    steps: list[Any] = [normalizers.Precompiled(rules.precompiled_charsmap)] if rules.precompiled_charsmap else []
    if rules.remove_extra_whitespaces:
        steps += [normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    made.normalizer = normalizers.Sequence(steps + [normalizers.Prepend(_SPACE)] * rules.add_dummy_prefix)
    splits = rules.remove_extra_whitespaces and spec.split_by_whitespace  # then no piece goes on after a space
    # A text that spells a special token is cut within it, or the model would take it for the token.
    unread = [one.piece for one in model.pieces if one.type in (one.UNKNOWN, one.CONTROL) and one.piece[1:]]
    spelled = Regex("|".join(f"{re.escape(name[0])}(?={re.escape(name[1:])})" for name in unread) or "(?!)")
    words = pre_tokenizers.Metaspace(prepend_scheme="never", split=splits)
    made.pre_tokenizer = pre_tokenizers.Sequence([words, pre_tokenizers.Split(spelled, "merged_with_previous")])
    to_text = [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence(to_text + [decoders.Strip(" ", 1, 0)] * rules.add_dummy_prefix)
    added = [one for one in model.pieces if one.type in (one.CONTROL, one.USER_DEFINED)]
    made.add_tokens([AddedToken(one.piece, normalized=False, special=one.type == one.CONTROL) for one in added])
    return made
