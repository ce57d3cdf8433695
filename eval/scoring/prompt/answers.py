"""The scorer ``prompt``: a chat model is shown both sentences of a pair and asked which is better.

After Swe-BLiMP, section 5: two questions, grammaticality and acceptability; the sentences in random order, as A and B;
each pair and question in a chat of its own; the greedy answer, of which one letter is read. An answer without such a
letter is invalid and counts as wrong; a model with more than 10 % of them is excluded (footnote 4). Beside the answer
stands our own second reading, the probability of either letter as the first token of the answer.
"""

import inspect
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import torch
from transformers import Cache, PreTrainedModel, PreTrainedTokenizerBase

from ucurve.errors import RunError
from ucurve.eval.models.folder import context_length
from ucurve.eval.scoring.batching import length_batches, rows_of_logits
from ucurve.eval.scoring.loading import evaluating
from ucurve.eval.scoring.output import log_prob_of_any
from ucurve.eval.scoring.prompt.chats import ANSWER_TOKENS, Prompts, check_prompt_length, describe_chat
from ucurve.eval.scoring.prompt.questions import EXCLUDED_ABOVE, QUESTIONS, Question, read_letter
from ucurve.eval.scoring.sharing import gather_shares, own_batches
from ucurve.eval.scoring.text.sentences import Advance, Scores

Choice = Literal["good", "bad", "invalid"]


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model answered to one question."""

    texts: list[str]  # the answers as they were written
    chosen: list[Choice]  # for each pair
    # float64[pairs], natural log probability that the first token spells the good sentence's letter.
    lp_good: Scores
    lp_bad: Scores

    @property
    def invalid(self) -> int:
        """The number of answers that no letter could be read from."""
        return self.chosen.count("invalid")

    @property
    def excluded(self) -> bool:
        """Whether more than 10 % are invalid, so that the paper leaves the model out."""
        return self.invalid * 100 > EXCLUDED_ABOVE * len(self.chosen)


@dataclass(frozen=True, eq=False)
class PromptScores:
    """The chats, and the answers to both questions."""

    prompts: Prompts
    answers: dict[Question, Answers]


@evaluating
def ask_pairs(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: Prompts,
    batch_tokens: int,
    advance: Advance | None = None,
) -> PromptScores:
    """Ask a chat model both questions about every pair; chats of equal length go together, and nothing is padded."""
    check_prompt_length(prompts, context_length(model.config.get_text_config().to_dict()))
    own: dict[int, tuple[str, Scores]] = {}  # of each chat that this process asks, the answer and both letters
    # Every token that ends an answer: a chat model often has another one than its tokenizer.
    named = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    known = {*(named if isinstance(named, list) else [named]), tokenizer.eos_token_id} - {None}
    ends = torch.tensor(sorted(map(int, known)), dtype=torch.int64)
    if not _takes(model, "logits_to_keep"):  # then it answers with the logits of every token
        batch_tokens = min(batch_tokens, rows_of_logits(model))
    for batch in own_batches(list(length_batches(np.array([len(ids) for ids in prompts.ids]), batch_tokens))):
        chats = torch.from_numpy(np.stack([prompts.ids[place] for place in batch])).to(model.device)
        first, answers = _answer(model, chats, ends)
        letters = np.stack([log_prob_of_any(first, tokens) for tokens in prompts.letters], axis=1)
        wrong = batch[~np.isfinite(letters).all(axis=1)]
        if len(wrong):
            raise RunError(f"{describe_chat(prompts, int(wrong[0]))}: the probability of an answer is not finite")
        for place, answer, both in zip(batch.tolist(), answers, letters, strict=True):
            own[place] = str(tokenizer.decode(answer, skip_special_tokens=True)), both
        if advance is not None:
            advance(len(batch))
    answered = {place: one for part in gather_shares(own) for place, one in part.items()}
    size = len(prompts.pairs)
    parts = {question: range(place * size, (place + 1) * size) for place, question in enumerate(QUESTIONS)}
    return PromptScores(
        prompts, {name: _judge(prompts, [answered[chat] for chat in part]) for name, part in parts.items()}
    )


def _answer(
    model: PreTrainedModel, chats: torch.Tensor, ends: torch.Tensor
) -> tuple[torch.Tensor, list[list[int]]]:
    """Answer chats of equal length greedily: the logits of the first token, [B, V], and the tokens of each answer."""
    # Not by model.generate, where a chat model's own settings (penalties, temperature) would change the answer.
    first, cache = _step(model, chats, None)
    answer, ends = first.argmax(-1, keepdim=True), ends.to(chats.device)
    while answer.shape[1] < ANSWER_TOKENS and not torch.isin(answer, ends).any(1).all():
        inputs = torch.cat([chats, answer], dim=1) if cache is None else answer[:, -1:]
        logits, cache = _step(model, inputs, cache)
        answer = torch.cat([answer, logits.argmax(-1, keepdim=True)], dim=1)
    # Chats that are answered go on with the others, and what they say from their end on is cut off.
    over = torch.isin(answer, ends).cumsum(1) > 0
    return first, [row[~past].tolist() for row, past in zip(answer, over, strict=True)]


def _step(model: PreTrainedModel, inputs: torch.Tensor, cache: Cache | None) -> tuple[torch.Tensor, Cache | None]:
    """Return the logits of the next token of each chat, [B, V], and the cache, None of a model without one."""
    options: dict[str, object] = {"logits_to_keep": 1} if _takes(model, "logits_to_keep") else {}
    if _takes(model, "past_key_values"):
        options |= {"past_key_values": cache, "use_cache": True}
    output = model(input_ids=inputs, **options)
    return output.logits[:, -1], getattr(output, "past_key_values", None)


def _takes(model: PreTrainedModel, name: str) -> bool:
    return name in inspect.signature(model.forward).parameters


def _judge(prompts: Prompts, answered: list[tuple[str, Scores]]) -> Answers:
    """Read the answers to one question, and tell from the order of the sentences which one each letter is."""
    texts, letters = [text for text, _ in answered], np.array([both for _, both in answered])
    chosen: list[Choice] = []
    for text, good_first in zip(texts, prompts.good_first, strict=True):
        letter = read_letter(text, prompts.questions.answer)
        chosen.append("invalid" if letter is None else "good" if (letter == "A") == good_first else "bad")
    good = np.where(prompts.good_first, letters[:, 0], letters[:, 1])
    bad = np.where(prompts.good_first, letters[:, 1], letters[:, 0])
    return Answers(texts, chosen, good, bad)


def prompt_table(scores: PromptScores) -> pd.DataFrame:
    """Lay the answers out as a score table.

    ``lp`` is that of a sentence's letter under the grammaticality question. For each question Q, ``Q_good`` and
    ``Q_bad`` are 1 for the chosen sentence, else 0 (an invalid answer is a tie), and ``Q_p_good`` and ``Q_p_bad`` the
    probabilities of the two letters, scaled to sum to one.
    """
    first = scores.answers[QUESTIONS[0]]
    columns: dict[str, object] = {"pair": scores.prompts.pairs["pair"].to_numpy()}
    columns |= {"lp_good": first.lp_good, "lp_bad": first.lp_bad}
    same = {"n": 1, "unigram": np.nan, "unk": 0, "chars": 1, "bytes": 1}
    columns |= {f"{name}_{side}": value for name, value in same.items() for side in ("good", "bad")}
    columns["good_first"] = scores.prompts.good_first
    for question, answers in scores.answers.items():
        chosen, either = np.array(answers.chosen), np.logaddexp(answers.lp_good, answers.lp_bad)
        columns |= {
            f"{question}_good": (chosen == "good").astype(np.float64),
            f"{question}_bad": (chosen == "bad").astype(np.float64),
            f"{question}_p_good": np.exp(answers.lp_good - either),
            f"{question}_p_bad": np.exp(answers.lp_bad - either),
            f"{question}_answer": np.array(answers.texts, dtype=object),
        }
    return pd.DataFrame(columns)


def prompt_notes(scores: PromptScores) -> dict[str, object]:
    """Return facts about the answers for the reader of the score's key file."""
    prompts = scores.prompts
    return {
        "questions": dict(prompts.questions.texts),
        "question_language": prompts.questions.language,
        "question_text": prompts.questions.source,
        "order_seed": prompts.seed,
        "good_first": float(prompts.good_first.mean()),
        "chat_template_sha256": prompts.template_sha256,
        "prompts_sha256": prompts.sha256,
        "invalid": {name: answers.invalid / len(answers.chosen) for name, answers in scores.answers.items()},
        "excluded": any(answers.excluded for answers in scores.answers.values()),
    }
