"""Minimal pairs in, scores and accuracies out."""
