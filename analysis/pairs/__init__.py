"""Accuracy by properties of pairs: length, attractors, subsets, MIN-K% filtering, and factors of certainty."""
