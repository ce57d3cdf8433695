"""What a model learns to predict: the next token, or masked tokens. Imports ``ucurve.training.model`` alone."""
