"""Questionnaires: which of the two sentences of a pair people find acceptable."""
