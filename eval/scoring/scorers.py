"""The ways to score, by name: causal and masked models, n-grams, questions. Torch is imported when they score."""

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from ucurve.errors import UserError, unknown_name
from ucurve.eval.linking import PROMPT_READINGS
from ucurve.eval.models.folder import Kind, StartToken, context_length
from ucurve.eval.models.model_info import ModelInfo
from ucurve.eval.scoring.base import Encode, ScoreColumns, Scorer, ScorerSettings, TokenScorer
from ucurve.eval.scoring.loading import Workspace
from ucurve.eval.scoring.masked.frame import (
    SentenceFrame,
    check_knows_words,
    masked_context_length,
    number_words,
    read_frame,
)
from ucurve.eval.scoring.mink import WithMinK
from ucurve.eval.scoring.ngrams import ORDERS, SMOOTHING, SeenNgrams
from ucurve.eval.scoring.prompt.chats import chat_prompts, check_prompt_length
from ucurve.eval.scoring.prompt.questions import EXCLUDED_ABOVE, QUESTIONS, WORDINGS, questions_for
from ucurve.eval.scoring.text.sentences import Advance, Ids, Scores, Sentences
from ucurve.huggingface.tokenizer_files import tokenizer_sha256
from ucurve.storage.files import sha256_file
from ucurve.storage.run_folder import TOKENIZER
from ucurve.token_stream.run import RunTokens

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class WholeSentence(TokenScorer):
    """The log probability of the whole sentence."""

    name, shared = "sentence", True
    _computed: Mapping[str, object] = MappingProxyType({})

    def token_log_probabilities(
        self, model: "PreTrainedModel", batch_tokens: int, advance: Advance | None
    ) -> Scores:
        """Score every token given the tokens before it."""
        from ucurve.eval.scoring.causal import log_probabilities

        self._computed = dict[str, object]()
        return log_probabilities.token_log_probabilities(
            model, self.sentences, self.start.id, batch_tokens, advance, self._computed
        )

    def check_word_corrections(self) -> None:
        """Check the tokenizer, the start token and the context, of which the whole sentence is read."""
        from ucurve.eval.scoring.causal.bow_correction import check_all_words

        check_all_words(self.info.tokenizer, self.sentences, self.start.id, context_length(self.info.config))

    def word_corrections(self, model: "PreTrainedModel", batch_tokens: int) -> Scores | None:
        """Compute what ``bow_correction=true`` adds to the log probability of each word of ``token_layout``."""
        from ucurve.eval.scoring.causal import bow_correction

        words = self.token_layout().words
        if words is None or not self.settings.bow_correction:
            return None
        assert self.start.id is not None, "the words were checked"
        return bow_correction.word_corrections(
            model, self.info.tokenizer, self.sentences, words, self.start.id, batch_tokens
        )

    def notes(self) -> dict[str, object]:
        """Return facts about the sentences, and how the model that was scored last was read if not as usual."""
        return {**super().notes(), **self._computed}


class Conditional(WholeSentence):
    """The log probability of the target given the condition."""

    name, part = "conditional", "target"


class Region(WholeSentence):
    """The log probability of a span of characters given what precedes it."""

    name, part = "region", "region"

    def __init__(self, info: ModelInfo, pairs: pd.DataFrame, settings: ScorerSettings, encode: Encode) -> None:
        super().__init__(info, pairs, settings, encode)
        if settings.bow_correction:
            from ucurve.eval.scoring.causal.bow_correction import check_words

            check_words(info.tokenizer, encode(self.part, False), self.start.id, context_length(info.config))

    def own_key_settings(self) -> dict[str, object]:
        """Return whether regions are corrected."""
        return {"bow_correction": self.settings.bow_correction}

    def sentence_columns(self, values: Scores, model: "PreTrainedModel", batch_tokens: int) -> ScoreColumns:
        """Compute what is stored of every sentence; ``bow`` is the correction that ``lp`` includes."""
        columns = super().sentence_columns(values, model, batch_tokens)
        if self.settings.bow_correction:
            from ucurve.eval.scoring.causal.bow_correction import bow_corrections

            columns["bow"] = bow_corrections(
                model, self.info.tokenizer, self.sentences, self.start.id, batch_tokens
            )
            columns["lp"] = columns["lp"] + columns["bow"]
        return columns


class MinK(WithMinK, WholeSentence):
    """The log probability of the whole sentence, and the mean of its least probable tokens (MIN-K% PROB)."""

    name = "mink"


class PseudoLogLikelihood(TokenScorer):
    """The sum over tokens, one token masked at a time (Salazar et al. 2020)."""

    name, kind, shared = "pll", "masked", True

    def choose_start(self) -> StartToken:
        """Return no token: a masked model always reads its own frame."""
        return StartToken(None, None, "frame")

    @cached_property
    def frame(self) -> SentenceFrame:
        """What the tokenizer puts around a sentence."""
        return read_frame(self.info.tokenizer, self.info.config)

    def context(self) -> int | None:
        """Return the most tokens that the model can read; None without a limit."""
        return masked_context_length(self.info.config)

    def around(self) -> int:
        """Return how many tokens the frame has."""
        return len(self.frame.before) + len(self.frame.after)

    def own_key_settings(self) -> dict[str, object]:
        """Return the frame, and where a token is predicted if that is not its place."""
        frame = [list(self.frame.before), list(self.frame.after), self.frame.mask]
        return {"frame": frame} | ({"back": self.frame.back} if self.frame.back else {})

    def words(self) -> Ids | None:
        """Return the word of each token, int64[tokens], if the rest of its word is masked with it."""
        return None

    def token_log_probabilities(
        self, model: "PreTrainedModel", batch_tokens: int, advance: Advance | None
    ) -> Scores:
        """Score every token that counts given all others, or all but the rest of its word."""
        from ucurve.eval.scoring.masked import log_probabilities

        return log_probabilities.token_log_probabilities(
            model, self.sentences, self.frame, self.words(), batch_tokens, advance
        )


class PseudoMinK(WithMinK, PseudoLogLikelihood):
    """The sum over tokens, and the mean of the least probable ones (MIN-K% PROB of masked models: RuBLiMP 2.4)."""

    name = "pll_mink"


class WithinWords(PseudoLogLikelihood):
    """The sum over tokens, the later tokens of the same word masked as well (Kauf and Ivanova 2023)."""

    name = "pll_l2r"

    def __init__(self, info: ModelInfo, pairs: pd.DataFrame, settings: ScorerSettings, encode: Encode) -> None:
        super().__init__(info, pairs, settings, encode)
        check_knows_words(info.tokenizer)

    def words(self) -> Ids:
        """Return the word of each token, int64[tokens]."""
        return self.sentences.once("words", lambda: number_words(self.info.tokenizer, self.sentences))


class ConditionalWithinWords(WithinWords):
    """The sum over the tokens of the target as ``pll_l2r`` takes it, the condition in view."""

    name, part = "pll_conditional", "target"


class Ngram(TokenScorer):
    """The log probability of the whole sentence by an n-gram model of the training tokens so far."""

    order: ClassVar[int]  # tokens of an n-gram
    loads = "n-grams"
    fits_parameters = False

    def __init__(self, info: ModelInfo, pairs: pd.DataFrame, settings: ScorerSettings, encode: Encode) -> None:
        run = info.target.run
        if run is None:
            raise UserError(
                f"{info.target.folder}: the scorer {self.name!r} counts the training tokens of a run, in the order in "
                "which it saw them; it goes with run=RUN, not with model="
            )
        of_run, of_checkpoint = tokenizer_sha256(run / TOKENIZER), tokenizer_sha256(info.target.folder)
        if of_run != of_checkpoint:  # then token ids may not be those of the training tokens
            raise UserError(
                f"{info.target.folder}: its tokenizer, {of_checkpoint[:16]}, is not the one that the training tokens "
                f"are made with, {of_run[:16]} in {run / TOKENIZER}; n-grams can be counted with that one alone"
            )
        self.training = RunTokens.of(run)
        super().__init__(info, pairs, settings, encode)

    def key_settings(self) -> dict[str, object]:
        """Return what n-grams depend on: the training tokens up to the step, and not how a model is computed."""
        return {
            "scorer": self.name,
            "revision": self.revision,
            "smoothing": SMOOTHING,
            "order": self.order,
            "training_tokens": self.training.key(),
            "step": self.info.target.step,
            "start_id": self.start.id,
            "start_rule": self.start.rule,
            **self.reading(),
            "unk_id": self.info.tokenizer.unk_token_id,
            "ids_without_unigram": sorted(self.info.special),
            "unigrams_sha256": self.unigrams.sha256,
            "unigrams_add_k": self.unigrams.add_k,
            "add_k": self.settings.add_k,
        }

    def load(self, workspace: Workspace, sentences: Collection[Sentences]) -> SeenNgrams:
        """Count n-grams up to the step, continuing from an earlier step of the same training tokens."""

        def list_all() -> SeenNgrams:
            batches = self.training.batches(self.training.open_stream("scorer=ngram"))
            return SeenNgrams(batches, sentences, self.start.id, self.info.vocabulary, self.info.special)

        key = (*self.training.key().values(), self.start.id, frozenset(sentences))
        return workspace.get(self.loads, key, list_all).up_to(self.info.target.step)

    def token_log_probabilities(self, model: SeenNgrams, batch_tokens: int, advance: Advance | None) -> Scores:  # noqa: ARG002
        """Score every token given the tokens before it."""
        scores = model.log_probabilities(self.sentences, self.order, self.settings.add_k)
        if advance is not None:
            advance(self.size)
        return scores


def _of_order(number: int) -> type[Ngram]:
    class OfOrder(Ngram):
        name, order = f"ngram-{number}", number

    return OfOrder


NGRAMS = tuple(map(_of_order, ORDERS))


_ORDER_SEED = 0  # of the two sentences in a prompt


class Prompt(Scorer):
    """The answers of a chat model that is shown both sentences of a pair and asked which is better."""

    name, shared = "prompt", True
    linking = PROMPT_READINGS
    fits_parameters = False

    def __init__(self, info: ModelInfo, pairs: pd.DataFrame, settings: ScorerSettings, encode: Encode) -> None:
        if settings.leading_space:
            raise UserError(
                "leading_space=true is for scorers that read a sentence; scorer=prompt asks about two of them"
            )
        super().__init__(info, pairs, settings, encode)
        asked, own = settings.prompt.language, settings.prompt.own
        if asked and own is None and asked not in WORDINGS:
            raise unknown_name("language", asked, WORDINGS, "prompt.language")
        language = asked or str(pairs["language"].iloc[0])
        self.prompts = chat_prompts(info.tokenizer, pairs, questions_for(language, own), _ORDER_SEED)
        check_prompt_length(self.prompts, context_length(info.config))

    @classmethod
    def linkings(cls, usual: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG003 - an answer has no log probability
        """Return its own linking functions alone: an answer has no log probability of a sentence."""
        return cls.linking

    @classmethod
    def columns(cls, unigrams: bool) -> set[str]:
        """Return the columns of each member of a pair; an answer has no unigram probability."""
        return super().columns(unigrams) | {*cls.linking}

    def choose_start(self) -> StartToken:
        """Return no token: a chat always begins as its template says."""
        return StartToken(None, None, "chat template")

    @property
    def size(self) -> int:
        """How many chats there are."""
        return len(self.prompts.ids)

    def own_key_settings(self) -> dict[str, object]:
        """Return the hash of the chats, and of the file that names further tokens that end an answer."""
        ends = self.info.target.folder / "generation_config.json"
        hashes = {"prompts_sha256": self.prompts.sha256, "order_seed": self.prompts.seed}
        return {**hashes, "generation_config_sha256": sha256_file(ends) if ends.is_file() else None}

    def score(
        self, model: "PreTrainedModel", batch_tokens: int, advance: Advance | None = None
    ) -> tuple[pd.DataFrame, dict[str, object]]:
        """Ask both questions about all pairs; the columns are those of ``answers.prompt_table``."""
        from ucurve.eval.scoring.prompt.answers import ask_pairs, prompt_notes, prompt_table

        asked = ask_pairs(model, self.info.tokenizer, self.prompts, batch_tokens, advance)
        return prompt_table(asked), self.notes() | prompt_notes(asked)

    def score_messages(self, scores: pd.DataFrame) -> Iterator[str]:
        """Yield the share of answers without a letter, and whether it excludes the model (Swe-BLiMP, footnote 4)."""
        invalid = {
            name: 100 * float((scores[f"{name}_good"] + scores[f"{name}_bad"] == 0).mean()) for name in QUESTIONS
        }
        shares = ", ".join(f"{name} {share:.1f} %" for name, share in invalid.items())
        excluded = f"; over {EXCLUDED_ABOVE} %, so that the model is excluded, as in the paper"
        yield (
            f"step {self.info.target.step} {self.pairs['benchmark'].iloc[0]} {self.name}: invalid answers: {shares}"
            f"{excluded if max(invalid.values()) > EXCLUDED_ABOVE else ''}"
        )


_ALL: tuple[type[Scorer], ...] = (
    WholeSentence, Conditional, Region, MinK,
    PseudoLogLikelihood, WithinWords, ConditionalWithinWords, PseudoMinK,
    Prompt, *NGRAMS,
)  # fmt: skip
SCORERS = {scorer.name: scorer for scorer in _ALL}
GROUPS = {"ngram": tuple(scorer.name for scorer in NGRAMS)}  # names that stand for several ways


def expand_scorers(names: object) -> object:
    """Expand group names: ``ngram`` becomes ``ngram-1`` to ``ngram-5``. What is not a list is returned unchanged."""
    if not isinstance(names, list | tuple):
        return names
    return tuple(
        one for name in names for one in (GROUPS.get(name, (name,)) if isinstance(name, str) else (name,))
    )


def find_scorer(name: str) -> type[Scorer]:
    """Return the way to score of a name."""
    if name not in SCORERS:
        raise unknown_name("scorer", name, (*SCORERS, *GROUPS))
    return SCORERS[name]


def check_kind(scorer: type[Scorer], kind: Kind, folder: Path) -> None:
    """Check that a way to score is for a model's kind."""
    if kind not in (scorer.kind, "hybrid"):
        fit = ", ".join(name for name, other in SCORERS.items() if other.kind == kind and other.loads == "model")
        raise UserError(
            f"{folder}: a {kind} model by its config.json; the scorer {scorer.name!r} is for {scorer.kind} ones; "
            f"allowed here: {fit}"
        )
