"""Whether a token that sentences are scored after begins or ends the messages of a chat, and what to take instead."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


_BETWEEN_DOCUMENTS = ("<|endoftext|>", "<|end_of_text|>", "<|begin_of_text|>", "<s>", "<bos>", "</s>", "<eos>")
_ROLES = ("bos", "eos", "unk", "pad", "cls", "sep")
_MESSAGES = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]


def delimits_messages(tokenizer: "PreTrainedTokenizerBase", token: str) -> bool:
    """Tell whether the chat template writes a token at every message, as ChatML's ``<|im_start|>``.

    A base model was trained with another token between documents, and its chat model saw this one before a role. A
    template that writes a token by its name alone (``bos_token``) does not count: such a token is the base model's.
    """
    template = chat_template(tokenizer)
    if token not in template:
        return False
    try:
        short, long = (
            str(tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False)).count(token)
            for messages in (_MESSAGES[:1], _MESSAGES)
        )
    except Exception:
        return True
    return bool(short < long)


def between_documents(tokenizer: "PreTrainedTokenizerBase") -> str | None:
    """Return a special token that the chat template does not write, as a base model has between documents, if any."""
    template, special = chat_template(tokenizer), [str(token) for token in tokenizer.added_tokens_decoder.values()]
    named = [getattr(tokenizer, f"{role}_token") for role in _ROLES]
    others = [token for token in (*_BETWEEN_DOCUMENTS, *named) if token in special and token not in template]
    return others[0] if others else None


def chat_template(tokenizer: "PreTrainedTokenizerBase") -> str:
    """Return the chat template, or "" where the tokenizer has none."""
    try:
        return str(tokenizer.get_chat_template())
    except (AttributeError, ValueError):  # the tokenizer has none, or several without a default
        return ""
