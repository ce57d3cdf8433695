"""Kinds of pairs: lengths, subsets, filtering, factors of certainty."""
