"""Trains tokenizers, from documents and a size alone: characters, words merged from characters, and byte-level BPE.

Text is never read as a special token; the end-of-document token ``<eos>`` (id 0) is put in by id.
"""

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from ucurve.errors import UserError
from ucurve.huggingface.tokenizer_files import ANY_CHARACTER
from ucurve.training.tokenizer.characters import HAN, Survey
from ucurve.training.tokenizer.folder import MASK

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

END_OF_DOCUMENT, UNKNOWN = "<eos>", "<unk>"
_BYTES = 256  # byte-level BPE begins with so many tokens

# Characters that merges are learned from at most: memory and time of BPE training grow with the distinct words in
# them (21 M characters of books take 2.4 GB and a minute for words, and a character is three bytes for byte-level BPE).
MERGE_CHARACTERS = {"char": 2_000_000, "word": 32_000_000, "bpe": 12_000_000, "hub": 2_000_000}
_LEAST_PAIR_COUNT = 2  # a pair seen once is not evidence of a word
_MOST_CHARACTERS = 3 / 4  # of the tokens of ``word``, if no coverage is given, so that merges remain on web text
_LEAST_WORD_SIZE = 8  # a quarter of it holds the two special tokens
_LEAST_KNOWN = 0.5  # of the text; a size that does not reach it is a mistake

# The pieces within which ``word`` merges: runs of Chinese characters, of other letters, of digits, and of punctuation.
# A space or line break is a piece of its own.
_PIECES = f"[{HAN}]+|[\\p{{L}}\\p{{M}}&&[^{HAN}]]+|[\\p{{N}}&&[^{HAN}]]+|[^\\p{{L}}\\p{{M}}\\p{{N}}\\s{HAN}]+|\\s"


def train(kind: str, found: Survey, vocab_size: int | None, coverage: float | None = None) -> Tokenizer:
    """Train the tokenizer of a kind (``char``, ``word`` or ``bpe``) on what a survey of the corpus found.

    Raises:
        UserError: when ``vocab_size`` is too small.
    """
    if kind == "char":
        return train_char(found, coverage)
    assert vocab_size is not None, "settings require a size for kinds that merge"
    return train_word(found, vocab_size, coverage) if kind == "word" else train_bpe(found, vocab_size)


def train_char(found: Survey, coverage: float | None = None) -> Tokenizer:
    """Make a tokenizer whose tokens are the chosen characters of the corpus, the commonest first."""
    characters = found.choose_characters(coverage)
    vocabulary = {token: number for number, token in enumerate([END_OF_DOCUMENT, UNKNOWN, *characters])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(ANY_CHARACTER), behavior="isolated")
    return _add_special_tokens(tokenizer, [END_OF_DOCUMENT, UNKNOWN])


def check_size(kind: str, vocab_size: int) -> None:
    """Check that a vocabulary holds what a tokenizer of the kind (``word`` or ``bpe``) begins with on every corpus.

    Raises:
        UserError: saying how many tokens are needed.
    """
    given = f"tokenizer.vocab_size={vocab_size} is too small"
    if kind == "bpe" and vocab_size <= _BYTES:
        raise UserError(f"{given}: byte-level BPE needs {_BYTES + 1}")
    if kind == "word" and vocab_size < _LEAST_WORD_SIZE:
        raise UserError(f"{given}: tokenizer=word needs at least {_LEAST_WORD_SIZE}")


def train_word(found: Survey, vocab_size: int, coverage: float | None = None) -> Tokenizer:
    """Merge characters into words by BPE (ZhoBLiMP, section 3).

    The base vocabulary is that of ``train_char``. If no coverage is given and it is more than three quarters of
    ``vocab_size``, as on web text, the commonest characters fill these three quarters and the others are unknown. In
    the paper the base is 60 %: 12,142 of 20,276 tokens, if it is that of ``char``.

    Merges stay within runs of Chinese characters, of other letters, of digits and of punctuation. The paper does not
    describe its pieces, but Table 4 counts 20,276 - 11,116 - 7,471 = 1,689 tokens without a Chinese character in its
    ``word`` and 12,142 - 11,116 = 1,026 in its ``char``: 663 of the merged tokens contain no Chinese character.

    Raises:
        UserError: when ``vocab_size`` does not hold the characters that the coverage asks for, or less than half of the
            text would be known.
    """
    check_size("word", vocab_size)
    characters = _word_base(found, vocab_size, coverage)
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_PIECES), behavior="isolated")
    trainer = _trainer(vocab_size, [END_OF_DOCUMENT, UNKNOWN], sorted(characters), limit_alphabet=len(characters))
    _learn(tokenizer, found, trainer)
    return _add_special_tokens(tokenizer, [END_OF_DOCUMENT, UNKNOWN])


def _word_base(found: Survey, vocab_size: int, coverage: float | None) -> list[str]:
    """Return the characters that words are merged from; a ``UserError`` where the size does not hold them."""
    given = f"tokenizer.vocab_size={vocab_size} is too small"
    chosen = found.choose_characters(coverage)
    if coverage is None:
        chosen = chosen[: int(vocab_size * _MOST_CHARACTERS)]
    elif len(chosen) + 2 > vocab_size:
        raise UserError(
            f"{given}: tokenizer.coverage={coverage} makes {len(chosen)} characters tokens, and {END_OF_DOCUMENT} and "
            f"{UNKNOWN} are tokens too; at least {len(chosen) + 2} are needed, or lower tokenizer.coverage (null keeps "
            "what fits)"
        )
    known = 1 - found.count_unknown(set(chosen)).share
    if known < _LEAST_KNOWN:
        raise UserError(
            f"{given}: its {len(chosen)} commonest characters are only {100 * known:.0f} % of the text"
        )
    return chosen


def train_bpe(found: Survey, vocab_size: int) -> Tokenizer:
    """Train byte-level BPE: it covers every text, so it has no unknown token.

    Raises:
        UserError: when ``vocab_size`` does not hold the 256 bytes and the end-of-document token.
    """
    check_size("bpe", vocab_size)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    _learn(tokenizer, found, _trainer(vocab_size, [END_OF_DOCUMENT], alphabet))
    tokenizer = _add_special_tokens(tokenizer, [END_OF_DOCUMENT])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def as_transformers(tokenizer: Tokenizer) -> "PreTrainedTokenizerFast":
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


def add_mask(tokenizer: "PreTrainedTokenizerBase", framed: bool) -> None:
    """Add a mask token after all others.

    With ``framed`` a sentence that is given special tokens has the end-of-document token on both sides, as a document
    of one sentence has in the token stream; token streams and scores of causal models take no special tokens.
    """
    tokenizer.add_special_tokens({"mask_token": MASK})
    if framed:
        tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{END_OF_DOCUMENT} $A {END_OF_DOCUMENT}",
            special_tokens=[(END_OF_DOCUMENT, tokenizer.eos_token_id)],
        )


def _learn(tokenizer: Tokenizer, found: Survey, trainer: trainers.Trainer) -> None:
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


def _trainer(vocab_size: int, special_tokens: list[str], alphabet: list[str], **more: Any) -> trainers.BpeTrainer:
    return trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=_LEAST_PAIR_COUNT,
        special_tokens=special_tokens,
        initial_alphabet=alphabet,
        show_progress=False,
        **more,
    )


def _add_special_tokens(tokenizer: Tokenizer, special_tokens: list[str]) -> Tokenizer:
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens(special_tokens)
    return tokenizer
