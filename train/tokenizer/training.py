"""Trains tokenizers: characters, words merged from characters, and byte-level BPE.

A trained tokenizer is a function of the documents and the size alone. Text is never read as a special token, and no
special token is ever added to it: the end-of-document token ``<eos>`` (id 0) is put in by id.
"""

import threading
from concurrent.futures import Future
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from train.tokenizer.characters import HAN, Survey
from ucurve.errors import UserError
from ucurve.huggingface.tokenizer_files import ANY_CHARACTER

END_OF_DOCUMENT, UNKNOWN = "<eos>", "<unk>"
_BYTES = 256

# Characters that merges are learned from at most: memory and time of BPE training grow with the distinct words in
# them (21 M characters of books take 2.4 GB and a minute for words, and a character is three bytes for byte-level BPE).
MERGE_CHARACTERS = {"char": 2_000_000, "word": 32_000_000, "bpe": 12_000_000, "hub": 2_000_000}
_LEAST_PAIR_COUNT = 2  # a pair seen once is not evidence of a word


def train(kind: str, found: Survey, vocab_size: int | None) -> Tokenizer:
    """Train the tokenizer of a kind (``char``, ``word`` or ``bpe``) on what a survey of the corpus found.

    Raises:
        UserError: when ``vocab_size`` is too small.
    """
    if kind == "char":
        return train_char(found)
    assert vocab_size is not None, "settings require a size for kinds that merge"
    return train_word(found, vocab_size) if kind == "word" else train_bpe(found, vocab_size)


def train_char(found: Survey) -> Tokenizer:
    """Make a tokenizer whose tokens are the characters of the corpus, every one, the commonest first."""
    vocabulary = {token: number for number, token in enumerate([END_OF_DOCUMENT, UNKNOWN, *found.counts])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(ANY_CHARACTER), behavior="isolated")
    return _add_special_tokens(tokenizer, [END_OF_DOCUMENT, UNKNOWN])


def check_size(kind: str, vocab_size: int, characters: int, where: str = "the corpus") -> None:
    """Check that a vocabulary holds what a tokenizer of the kind (``word`` or ``bpe``) begins with.

    Args:
        vocab_size: tokens at most.
        characters: different characters, as far as they are known.
        where: what has these characters, for the message.

    Raises:
        UserError: saying how many tokens are needed.
    """
    given = f"tokenizer.vocab_size={vocab_size} is too small"
    if kind == "bpe" and vocab_size <= _BYTES:
        raise UserError(f"{given}: byte-level BPE needs {_BYTES + 1}")
    if kind == "word" and vocab_size < characters + 2:
        raise UserError(
            f"{given}: {where} has {characters} characters and {END_OF_DOCUMENT} and {UNKNOWN} are tokens too; "
            f"at least {characters + 2} are needed"
        )


def train_word(found: Survey, vocab_size: int) -> Tokenizer:
    """Merge characters into words by BPE (ZhoBLiMP, section 3), but within runs of Chinese characters only.

    The base vocabulary is every character of the corpus, so it has the single characters of ``train_char``. Text in
    other scripts stays in characters; the paper's tokenizer merges it too, by the counts of Table 4.

    Raises:
        UserError: when the characters alone are more than ``vocab_size``.
    """
    check_size("word", vocab_size, len(found.counts))
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(f"[{HAN}]+|[^{HAN}]"), behavior="isolated")
    trainer = _trainer(vocab_size, [END_OF_DOCUMENT, UNKNOWN], sorted(found.counts))
    _learn(tokenizer, found, trainer)
    return _add_special_tokens(tokenizer, [END_OF_DOCUMENT, UNKNOWN])


def train_bpe(found: Survey, vocab_size: int) -> Tokenizer:
    """Train byte-level BPE: it covers every text, so it has no unknown token.

    Raises:
        UserError: when ``vocab_size`` does not hold the 256 bytes and the end-of-document token.
    """
    check_size("bpe", vocab_size, len(found.counts))
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    _learn(tokenizer, found, _trainer(vocab_size, [END_OF_DOCUMENT], alphabet))
    tokenizer = _add_special_tokens(tokenizer, [END_OF_DOCUMENT])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def as_transformers(tokenizer: Tokenizer) -> Any:
    """Wrap a trained tokenizer as the class that ``AutoTokenizer`` loads."""
    from transformers import PreTrainedTokenizerFast

    unknown = {"unk_token": UNKNOWN} if tokenizer.token_to_id(UNKNOWN) is not None else {}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=END_OF_DOCUMENT,
        eos_token=END_OF_DOCUMENT,
        clean_up_tokenization_spaces=False,
        split_special_tokens=True,
        **unknown,
    )


def _learn(tokenizer: Tokenizer, found: Survey, trainer: Any) -> None:
    """Train on a survey's sample, in a thread, so that the main one can answer a signal within the minute it takes."""
    done: Future[None] = Future()

    def work() -> None:
        try:
            tokenizer.train_from_iterator(found.sample, trainer)
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(None)

    threading.Thread(target=work, daemon=True).start()
    done.result()


def _trainer(vocab_size: int, special_tokens: list[str], alphabet: list[str]) -> Any:
    return trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=_LEAST_PAIR_COUNT,
        special_tokens=special_tokens,
        initial_alphabet=alphabet,
        show_progress=False,
    )


def _add_special_tokens(tokenizer: Tokenizer, special_tokens: list[str]) -> Tokenizer:
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens(special_tokens)
    return tokenizer
