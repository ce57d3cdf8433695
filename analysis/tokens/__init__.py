"""Surprisal of single tokens over training: of the region in which the members of a pair differ, and after it."""
