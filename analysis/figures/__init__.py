"""Figures of lines as data, and the two pictures of each: with matplotlib for paper, with Altair for pages.

Imports ``plotting`` and ``charts``.
"""
