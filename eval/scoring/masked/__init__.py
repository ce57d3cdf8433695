"""Pseudo-log-likelihoods of masked models. Imports ``eval.scoring.text`` and what the ways to score share."""
