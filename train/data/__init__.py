"""Documents to token shards to batches. Imports ``ucurve.training.corpus`` and ``ucurve.training.tokenizer``."""
