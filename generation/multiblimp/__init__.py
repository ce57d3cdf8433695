"""Pairs of agreement from a treebank of any language, after MultiBLiMP (Jumelet et al. 2025)."""
