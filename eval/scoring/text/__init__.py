"""Sentences to tokens and to the spans that are scored."""
