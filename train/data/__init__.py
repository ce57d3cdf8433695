"""Documents to token shards to batches. Imports ``train.corpus`` and ``train.tokenizer``."""
