"""Accuracy and loss against training tokens and FLOPs, one module per figure.

Imports ``data``, ``plotting`` and ``report``.
"""
