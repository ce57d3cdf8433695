"""The chats of the scorer ``prompt``: two sentences in random order and a question, in the model's chat template."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ucurve.errors import UserError
from ucurve.eval.models.folder import chat_template
from ucurve.eval.scoring.prompt.questions import QUESTIONS, Letter, PromptQuestions
from ucurve.eval.scoring.text.sentences import Flags, Ids
from ucurve.eval.scoring.text.spans import describe_pair
from ucurve.eval.scoring.text.tokenize import WORD_MARKS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ANSWER_TOKENS = 16  # most tokens of an answer; a preamble has to fit
_SPACES = ("", " ", *WORD_MARKS)  # what vocabularies write before a letter that follows a space


@dataclass(frozen=True, eq=False)
class Prompts:
    """Every chat of a benchmark, up to where the model answers."""

    pairs: pd.DataFrame
    questions: PromptQuestions
    seed: int  # of the order of the two sentences
    good_first: Flags  # bool[pairs], whether the good sentence is A
    ids: list[Ids]  # tokens of the chats: those of all pairs with the first question, then with the second
    letters: tuple[Ids, Ids]  # the tokens that spell A, and those that spell B
    template_sha256: str  # of the tokenizer's chat template
    sha256: str  # of what the answers and their reading depend on, beside model and tokenizer


def good_is_first(good: str, bad: str, seed: int) -> bool:
    """Draw the order of two sentences from the seed and the sentences alone, independent of all other pairs."""
    return hashlib.sha256(f"{seed}\n{good}\n{bad}".encode()).digest()[0] % 2 == 0


def chat_prompts(
    tokenizer: "PreTrainedTokenizerBase", pairs: pd.DataFrame, questions: PromptQuestions, seed: int
) -> Prompts:
    """Write the chats of all pairs, one for each pair and question, with the model's chat template."""
    template = chat_template(tokenizer)
    if not template:
        raise UserError(
            f"{tokenizer.name_or_path}: the tokenizer has no chat template; the scorer 'prompt' is for chat models"
        )
    letters = _letter_tokens(tokenizer, "A"), _letter_tokens(tokenizer, "B")
    members = list(zip(pairs["good"], pairs["bad"], strict=True))
    good_first = [good_is_first(good, bad, seed) for good, bad in members]
    ordered = [both if first else both[::-1] for both, first in zip(members, good_first, strict=True)]
    asked = [questions.ask(question, *both) for question in QUESTIONS for both in ordered]
    chats = [_chat(tokenizer, text) for text in asked]
    for token in tokenizer.all_special_tokens:  # such as one that `tokenizer.json` lacks
        number = tokenizer.convert_tokens_to_ids(token)
        if token in chats[0] and number not in tokenizer(token, add_special_tokens=False)["input_ids"]:
            raise UserError(
                f"{tokenizer.name_or_path}: the chat template writes the special token {token!r}, which the tokenizer "
                "reads as text; in tokenizer.json, special tokens are among added_tokens"
            )
    encoded = tokenizer(chats, add_special_tokens=False, return_attention_mask=False)["input_ids"]
    ids = [np.array(row, dtype=np.int64) for row in encoded]
    read = [*map(str, letters), str(ANSWER_TOKENS), *questions.answer]
    hashes = [hashlib.sha256("\0".join(texts).encode()).hexdigest() for texts in ([template], [*chats, *read])]
    return Prompts(pairs, questions, seed, np.array(good_first, dtype=bool), ids, letters, *hashes)


def _chat(tokenizer: "PreTrainedTokenizerBase", text: str) -> str:
    """Write a chat up to where the model answers."""
    messages = [{"role": "user", "content": text}]
    try:
        # Where a template asks: one date, so that scores do not depend on the day, and no thinking before the letter.
        chat = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, date_string="26 Jul 2024", enable_thinking=False
        )
    except Exception as error:  # a template may raise what it likes
        raise UserError(
            f"{tokenizer.name_or_path}: the chat template fails ({type(error).__name__}: {error})"
        ) from error
    return str(chat)


def _letter_tokens(tokenizer: "PreTrainedTokenizerBase", letter: Letter) -> Ids:
    """Return the tokens that spell a letter, with or without a space before it."""
    vocabulary = tokenizer.get_vocab()
    tokens = {vocabulary[space + letter] for space in _SPACES if space + letter in vocabulary}
    for space in ("", " "):
        ids = tokenizer(space + letter, add_special_tokens=False)["input_ids"]
        tokens.update(ids if len(ids) == 1 and ids[0] != tokenizer.unk_token_id else [])
    if not tokens:
        raise UserError(
            f"{tokenizer.name_or_path}: no token spells the letter {letter!r}, which answers are read for"
        )
    return np.array(sorted(tokens), dtype=np.int64)


def check_prompt_length(prompts: Prompts, context: int | None) -> None:
    """Refuse chats that the model's context cannot hold together with an answer; nothing is ever cut."""
    lengths = np.array([len(ids) for ids in prompts.ids])
    needed = int(lengths.max()) + ANSWER_TOKENS - 1  # the last token of an answer is not read
    if context is not None and needed > context:
        item = describe_chat(prompts, int(lengths.argmax()))
        raise UserError(
            f"{item}: the question has {lengths.max()} tokens and an answer up to {ANSWER_TOKENS}, "
            f"but the model's context holds {context}"
        )


def describe_chat(prompts: Prompts, place: int) -> str:
    """Name the pair and the question that a chat is about."""
    question, row = divmod(place, len(prompts.pairs))
    return f"{describe_pair(prompts.pairs, row)}, {QUESTIONS[question]}"
