"""Reads run folders, score files and the user's tables into data frames.

Imports no other folder of ``analysis``.
"""
