"""Accuracy and loss against tokens and FLOPs."""
