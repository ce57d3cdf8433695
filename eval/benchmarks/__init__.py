"""Benchmarks: a card for each, readers of their published forms, the registry of names, and the user's own pairs.

Imports ``ucurve.eval.pairs``, ``ucurve.eval.templates`` for the demo, and no other folder of ``eval``.
"""
