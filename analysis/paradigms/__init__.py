"""Accuracy by paradigm and phenomenon, with human agreement and the excluded paradigms of a benchmark."""
