"""The base classes of the ways to score: one object for one model and the pairs of one benchmark.

Modules that define one do not import torch, so that a mistake in a command is reported before torch is loaded.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from ucurve.errors import RunError, UserError
from ucurve.eval.models.folder import (
    Kind,
    Start,
    StartToken,
    between_documents,
    context_length,
    delimits_messages,
    start_token,
)
from ucurve.eval.models.model_info import ModelInfo, Unigrams
from ucurve.eval.models.unigram import unseen
from ucurve.eval.pairs import TOO_LONG, identical, in_accuracies
from ucurve.eval.scoring.loading import Device, Dtype, Workspace, check_vocabulary, int8_method, load_model
from ucurve.eval.scoring.text.layout import TokenLayout, make_layout
from ucurve.eval.scoring.text.sentences import (
    Advance,
    NotFiniteError,
    Scores,
    Sentences,
    check_length,
    describe,
    describe_unknown,
)
from ucurve.eval.scoring.text.spans import Part
from ucurve.eval.scoring.text.tokenize import WORD_MARKS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ScoreColumns = dict[str, npt.NDArray[np.int64] | npt.NDArray[np.float64]]
Loaded = Any  # what a scorer loads and scores with: a PreTrainedModel, or counts of n-grams
# Takes the part that counts, and whether sentences are read without a start token.
Encode = Callable[[Part, bool], Sentences]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class PromptSettings:
    """How the scorer ``prompt`` asks."""

    # Of the questions, ISO 639-3; None for the benchmark's, or English where there is no text of that.
    language: str | None
    # A user's own texts of the two questions, with `{a}` and `{b}` where the sentences go.
    own: dict[str, str] | None


@dataclass(frozen=True, config=ConfigDict(extra="forbid"), kw_only=True)
class ScorerSettings:
    """The settings that the ways to score read; conf/eval/default.yaml describes them."""

    leading_space: bool
    dtype: Dtype
    device: Device
    prompt: PromptSettings
    bow_correction: bool
    add_k: Annotated[float, Field(gt=0, allow_inf_nan=False)]

    def start(self) -> Start:
        """Return the policy for the token before every sentence, or the token."""
        return "auto"


class Scorer(ABC):
    """A way to score, for one model and the pairs of one benchmark; making one finds what is wrong without weights."""

    name: ClassVar[str]  # in configurations, run folders and `accuracy.csv`
    kind: ClassVar[Kind] = "causal"  # of the models it is for
    part: ClassVar[Part] = "whole"  # of a sentence, that counts
    linking: ClassVar[tuple[str, ...]] = ()  # linking functions of its own
    fits_parameters: ClassVar[bool] = True  # whether parameters of linking functions can be fitted to its scores
    loads: ClassVar[str] = "model"  # the kind of what `load` returns
    shared: ClassVar[bool] = False  # whether several processes can share a score (`sharing.py`)
    revision: ClassVar[int] = 2  # of the way it scores; part of every key

    def __init__(self, info: ModelInfo, pairs: pd.DataFrame, settings: ScorerSettings, encode: Encode) -> None:
        self.info, self.pairs, self.settings = info, pairs, settings
        self.start = self.choose_start()
        self.sentences = encode(self.part, self.start.rule == "none")
        check_vocabulary(info.target.folder, info.config, info.tokenizer, self.sentences)
        check_length(pairs, self.sentences, self.context(), info.target.ours, self.around())

    @classmethod
    def linkings(cls, usual: tuple[str, ...]) -> tuple[str, ...]:
        """Return the linking functions for its scores where the settings name none."""
        return (*usual, *cls.linking)

    @classmethod
    def columns(cls, unigrams: bool) -> set[str]:  # noqa: ARG003 - for those that have them
        """Return the columns of each member of a pair, with or without unigram probabilities."""
        return {"lp", "n", "unk", "chars", "bytes"}

    def load(self, workspace: Workspace, sentences: Collection[Sentences]) -> Loaded:  # noqa: ARG002 - for n-grams
        """Load what ``score`` takes for these and all other sentences, or return it if the workspace has it."""
        target, given = self.info.target, self.settings
        return workspace.get(
            self.loads,
            target.folder,
            lambda: load_model(target.folder, self.info.kind, given.dtype, given.device, target.weights),
            f"{self.loads} {target.folder.name}",
        )

    @abstractmethod
    def score(
        self, model: Loaded, batch_tokens: int, advance: Advance | None = None
    ) -> tuple[pd.DataFrame, dict[str, object]]:
        """Score all pairs with what ``load`` returns; a score that is not finite is a ``RunError`` that names the item.

        ``advance`` is called after each batch with the number of units done, of ``size``. A row per pair has ``pair``,
        then ``lp, n, unigram, unk, chars, bytes`` and columns of its own, each as ``_good`` and ``_bad``. ``lp`` is a
        natural log summed in float64, ``n`` counts scored tokens, ``unigram`` is NaN without counts, ``chars`` and
        ``bytes`` (UTF-8) measure what is scored. Beside the rows, facts about them are returned for the key file.
        """

    def choose_start(self) -> StartToken:
        """Choose the token that sentences are read after."""
        return start_token(self.info.tokenizer, self.info.target.ours, self.settings.start())

    def context(self) -> int | None:
        """Return the most tokens that the model can read; None without a limit."""
        return context_length(self.info.config)

    def around(self) -> int:
        """Return how many more tokens than its own are read of a sentence: its last one is not, a start token is."""
        return -1 if self.start.rule == "none" else 0

    @property
    def unigrams(self) -> Unigrams:
        """The unigram probabilities that scores are stored with."""
        return Unigrams()

    @property
    def size(self) -> int:
        """How many units there are to score: sentences, or chats."""
        return len(self.sentences.texts)

    def key_settings(self) -> dict[str, object]:
        """Return the settings that scores depend on, as a JSON object."""
        common = {
            "scorer": self.name,
            "revision": self.revision,
            "dtype": self.settings.dtype,
            "start_id": self.start.id,
            "start_rule": self.start.rule,
            "unk_id": self.info.tokenizer.unk_token_id,
            "ids_without_unigram": sorted(self.info.special),
        }
        if self.settings.dtype == "int8":
            common["int8"] = int8_method(self.settings.device)
        common |= self.reading()
        unigrams = {"unigrams_sha256": self.unigrams.sha256, "add_k": self.unigrams.add_k}
        return {**common, **self.own_key_settings(), **unigrams}

    def reading(self) -> dict[str, object]:
        """Return how sentences are read, for the key; nothing for the usual way."""
        return {"leading_space": True} if self.settings.leading_space else {}

    def own_key_settings(self) -> dict[str, object]:
        """Return the part of ``key_settings`` that only this way to score has."""
        return {}

    def notes(self) -> dict[str, object]:
        """Return facts about the sentences for the reader of the key file."""
        sentences = self.sentences
        first = sentences.tokens[sentences.starts[:-1]]
        notes: dict[str, object] = {
            "start_token": self.start.text,
            "leading_space": _has_leading_space(self.info.tokenizer, sentences),
            "pairs": len(self.pairs),
            "identical_pairs": int(identical(self.pairs).sum()),
            "pairs_with_other_first_tokens": float((first[sentences.good] != first[sentences.bad]).mean()),
            "sentences_with_a_token_across_a_border": sentences.straddling,
        }
        if self.unigrams.seen is not None:
            scored = sentences.tokens[sentences.scored]
            notes["unseen_tokens"], notes["unseen_types"] = unseen(self.unigrams.seen, scored)
        if TOO_LONG in self.pairs.attrs:
            notes["pairs_too_long"] = self.pairs.attrs[TOO_LONG]
        if "commit" in self.pairs.attrs:
            notes["benchmark_commit"] = self.pairs.attrs["commit"]
        return notes

    def token_messages(self) -> Iterable[str]:
        """Yield what a user should know about the tokens of the sentences."""
        return ()

    def score_messages(self, scores: pd.DataFrame) -> Iterable[str]:  # noqa: ARG002 - for those that have some
        """Yield what a user should know about a score besides its accuracies."""
        return ()


class TokenScorer(Scorer):
    """A way to score that adds up log probabilities of tokens."""

    @classmethod
    def columns(cls, unigrams: bool) -> set[str]:
        """Return the columns of each member of a pair, with or without unigram probabilities."""
        return super().columns(unigrams) | ({"unigram"} if unigrams else set())

    @property
    def unigrams(self) -> Unigrams:
        """The unigram probabilities of the model's tokens."""
        return self.info.unigrams

    @abstractmethod
    def token_log_probabilities(self, model: Loaded, batch_tokens: int, advance: Advance | None) -> Scores:
        """Compute natural logs, float64[tokens]; one that is not finite and counts is a ``NotFiniteError``."""

    def score(
        self, model: Loaded, batch_tokens: int, advance: Advance | None = None
    ) -> tuple[pd.DataFrame, dict[str, object]]:
        """Score all pairs by the sums over the tokens of their sentences."""
        return self.score_tokens(model, batch_tokens, advance)[:2]

    def score_tokens(
        self, model: Loaded, batch_tokens: int, advance: Advance | None = None
    ) -> tuple[pd.DataFrame, dict[str, object], Scores]:
        """Score all pairs, and return the log probabilities of the tokens as well."""
        try:
            values = self.token_log_probabilities(model, batch_tokens, advance)
            columns = self.sentence_columns(values, model, batch_tokens)
        except NotFiniteError as error:
            item = describe(self.pairs, self.sentences, error.sentence)
            raise RunError(f"{self.info.target.folder}: the score is not finite; {item}") from error
        sides = {"good": self.sentences.good, "bad": self.sentences.bad}
        taken = {
            f"{name}_{side}": values[index] for name, values in columns.items() for side, index in sides.items()
        }
        return pd.DataFrame({"pair": self.pairs["pair"].to_numpy(), **taken}), self.notes(), values

    @property
    def same_tokens(self) -> int:
        """How many counted pairs have two sentences of the same tokens, and so of the same score."""
        return int((self.sentences.same_tokens() & in_accuracies(self.pairs).to_numpy()).sum())

    def notes(self) -> dict[str, object]:
        """Return facts about the sentences, with the number of pairs that have the same tokens."""
        same = self.same_tokens
        return super().notes() | ({"pairs_with_the_same_tokens": same} if same else {})

    def token_layout(self) -> TokenLayout:
        """Return the layout of the sentences' tokens, made once for all models with one tokenizer."""
        return self.sentences.once(
            "layout", lambda: make_layout(self.sentences, self.info.tokenizer, self._divided())
        )

    def check_word_corrections(self) -> None:
        """Raise a ``UserError`` where ``word_corrections`` cannot be computed."""
        raise UserError(f"bow_correction=true: {self.name} predicts no next token; leave it out")

    def word_corrections(self, model: Loaded, batch_tokens: int) -> Scores | None:  # noqa: ARG002 - for causal ones
        """Compute what ``bow_correction=true`` adds to the log probability of each word; None where it does not fit."""
        return None

    def _divided(self) -> dict[str, str] | None:
        """Return each sentence with spaces between its words, where columns of the pairs have that."""
        if not {"words_good", "words_bad"} <= set(self.pairs):
            return None
        return {
            text: str(words)
            for side in ("good", "bad")
            for text, words in self.pairs[[side, f"words_{side}"]].itertuples(index=False)
        }

    def sentence_columns(self, values: Scores, model: Loaded, batch_tokens: int) -> ScoreColumns:  # noqa: ARG002 - for others
        """Compute what is stored of every sentence."""
        sentences, logs, unknown = self.sentences, self.unigrams.logs, self.info.tokenizer.unk_token_id
        texts = sentences.scored_texts()
        return {
            "lp": sentences.sums(values),
            "n": sentences.counts(),
            "unigram": np.full(len(texts), np.nan) if logs is None else sentences.sums(logs[sentences.tokens]),
            "unk": sentences.sums((sentences.tokens == (-1 if unknown is None else unknown)).astype(np.int64)),
            "chars": np.array([len(text) for text in texts]),
            "bytes": np.array([len(text.encode()) for text in texts]),
        }

    def token_messages(self) -> Iterator[str]:
        """Yield what the start token, the borders of the part and unseen tokens mean for the scores."""
        notes = self.notes()
        tokenizer = self.info.tokenizer
        token = self.start.text
        chosen_here = self.settings.start() == "auto" and not self.info.target.ours
        if chosen_here and token is not None and delimits_messages(tokenizer, token):
            other = between_documents(tokenizer)
            remedy = (
                "bos=TOKEN takes another" if other is None else f"bos='{other}' takes one that it does not write"
            )
            yield (
                f"warning: sentences are scored after {token!r}, which the chat template writes at every message, and "
                f"which no plain text may have followed in training; {remedy}"
            )
        if self.start.rule == "none":
            differ = notes["pairs_with_other_first_tokens"]
            yield (
                f"no start token, so the first token of a sentence has no score; {differ:.1%} of the pairs differ in it"
            )
        if across := notes["sentences_with_a_token_across_a_border"]:
            yield f"{across:,} sentences have a token across a border of what is scored; it counts"
        if tokens := notes.get("unseen_tokens"):
            types = notes["unseen_types"]
            yield (
                f"{tokens:,} tokens ({types:,} different ones) never occur in the training text; linking functions "
                "that read unigram probabilities give them the smallest one (add_k)"
            )
        yield from describe_unknown(self.sentences, tokenizer)

    def score_messages(self, scores: pd.DataFrame) -> Iterator[str]:
        """Warn of a foreign model that is no better than a uniform guess, as with the tokenizer of another model."""
        target, vocabulary = self.info.target, len(self.info.tokenizer)
        # Before its training, no model is better.
        if target.ours or target.step == 0 or self.part != "whole":
            return
        nats = float(-scores["lp_good"].sum() / scores["n_good"].sum())
        if nats >= math.log(vocabulary):
            yield (
                f"{target.folder}: warning: {nats:.2f} nats per token on {self.pairs['benchmark'].iloc[0]}, no better "
                f"than a uniform guess among {vocabulary:,} tokens ({math.log(vocabulary):.2f}): is this the tokenizer "
                "of the model?"
            )


def _has_leading_space(tokenizer: "PreTrainedTokenizerBase", sentences: Sentences) -> bool:
    """Tell whether the tokenizer puts a space before a sentence that does not begin with one."""
    kinds, places = np.unique(sentences.tokens[sentences.starts[:-1]], return_inverse=True)
    pieces = tokenizer.convert_ids_to_tokens(kinds.tolist())
    marked = np.array([piece.startswith(WORD_MARKS) for piece in pieces])[places]
    texts = ((sentences.texts[place], pieces[places[place]]) for place in np.flatnonzero(marked))
    return any(not text.startswith((" ", piece[0])) for text, piece in texts)
