"""From a corpus to tokens, a model and its checkpoints."""
