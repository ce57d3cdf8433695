"""Trains, builds and describes tokenizers. Imports ``ucurve.training.corpus``."""
