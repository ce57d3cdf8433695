"""Log probabilities from left to right. Imports ``eval.scoring.text`` and what the ways to score share."""
