"""Small models of all families, as the words of train.py that choose them: two layers of a width of 32, or ``tiny``."""

_LAYERS = ("model.config.hidden_size=32", "model.config.num_hidden_layers=2")
TINY = {
    "14m": ("model=tiny",),
    "gpt2-14m": ("model=gpt2-14m", "model.config.n_embd=32", "model.config.n_layer=2"),
    "llama-14m": ("model=llama-14m", *_LAYERS),
    "qwen3-14m": ("model=qwen3-14m", *_LAYERS, "model.config.head_dim=8"),
    "olmo2-14m": ("model=olmo2-14m", *_LAYERS),
    "mamba-14m": ("model=mamba-14m", *_LAYERS, "model.config.state_size=8"),
    "lstm-14m": ("model=lstm-14m", *_LAYERS),
    "bert-14m": ("model=bert-14m", *_LAYERS),
    "roberta-14m": ("model=roberta-14m", *_LAYERS),
    "modernbert-14m": ("model=modernbert-14m", *_LAYERS),
}
