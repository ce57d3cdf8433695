"""Linking functions, length bias, tokenizers, and people's ratings."""
