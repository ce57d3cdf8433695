"""The way to score that puts questions to a chat model. Torch is imported when it scores."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from ucurve.errors import UserError
from ucurve.eval.linking import PROMPT_READINGS
from ucurve.eval.models.folder import StartToken, context_length
from ucurve.eval.models.model_info import ModelInfo
from ucurve.eval.scoring.base import Encode, Scorer, ScorerSettings
from ucurve.eval.scoring.prompt.chats import chat_prompts, check_prompt_length
from ucurve.eval.scoring.prompt.questions import EXCLUDED_ABOVE, QUESTIONS, questions_for
from ucurve.eval.scoring.text.sentences import Advance
from ucurve.storage.files import sha256_file

if TYPE_CHECKING:
    from transformers import PreTrainedModel

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
        language = settings.prompt.language or str(pairs["language"].iloc[0])
        self.prompts = chat_prompts(info.tokenizer, pairs, questions_for(language, settings.prompt.own), _ORDER_SEED)
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
