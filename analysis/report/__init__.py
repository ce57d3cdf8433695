"""Sections to one HTML page. Imports ``analysis.plotting``."""
