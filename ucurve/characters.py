"""Text as code points, and tokenizers whose tokens are single characters as tables of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ANY_CHARACTER = r"[\s\S]"
CODE_POINTS = 0x110000


def code_points(text: str) -> NDArray[np.uint32]:
    """Return the code points of a text, shape [characters]."""
    return np.frombuffer(text.encode("utf-32-le"), dtype="<u4")


def character_table(pipeline: dict[str, Any]) -> NDArray[np.int64] | None:
    """Return the id of every code point, when a pipeline's tokens are single characters; else None.

    Looking 21 million characters up takes a second, splitting them by a regular expression twenty. The ids are those
    of text in which no special token is read.

    Args:
        pipeline: the content of ``tokenizer.json``.
    """
    splitter = {"type": "Split", "pattern": {"Regex": ANY_CHARACTER}, "behavior": "Isolated", "invert": False}
    model, special = pipeline["model"], {token["content"] for token in pipeline["added_tokens"]}
    if any(not token["special"] for token in pipeline["added_tokens"]):
        return None
    plain = (pipeline["normalizer"], pipeline["pre_tokenizer"], model["type"]) == (None, splitter, "WordLevel")
    if not plain or any(len(token) != 1 for token in model["vocab"] if token not in special):
        return None
    table = np.full(CODE_POINTS, model["vocab"][model["unk_token"]], dtype=np.int64)
    for token, number in model["vocab"].items():
        if token not in special:
            table[ord(token)] = number
    return table
