"""Benchmarks: a card for each, readers of their published forms, the registry of names, and the user's own pairs.

Imports ``ucurve.eval.pairs`` and no other part of ``eval``.
"""
