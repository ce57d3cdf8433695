"""Trains, builds and describes tokenizers. Imports ``train.corpus``."""
