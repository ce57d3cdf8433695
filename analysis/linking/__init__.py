"""Linking functions: accuracy by length split, length bias by alpha, tokenizers, and human ratings of sentences."""
