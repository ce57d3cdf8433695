"""A SentencePiece model that nothing beside it describes: kind, rules and special tokens are read in the file."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ucurve.errors import UserError, first_line
from ucurve.huggingface.tokenizer_files import SENTENCEPIECE_MODEL, TOKENIZER
from ucurve.storage.files import read_json_or_empty

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

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
    names = {"bos_token": spec.bos_id, "eos_token": spec.eos_id, "unk_token": spec.unk_id, "pad_token": spec.pad_id}
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
    made = Tokenizer(models.Unigram([(one.piece, one.score) for one in model.pieces], spec.unk_id, spec.byte_fallback))
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
