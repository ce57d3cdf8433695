"""Attention of which transformers is told no way to make a mask.

Compiled, it would make one that rules out the fastest kernels, and not compiled it would wait for the device in each
pass, to look for packed texts. Causal attention over rows without padding needs neither.
"""

_NAME = "sdpa_without_mask"


def register_without_mask() -> str:
    """Make the attention known to transformers, and return the name by which a configuration takes it."""
    from transformers import AttentionInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    AttentionInterface.register(_NAME, sdpa_attention_forward)
    return _NAME
