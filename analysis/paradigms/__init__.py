"""Accuracy by paradigm and phenomenon, beside people."""
