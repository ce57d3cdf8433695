"""Log probabilities from left to right. Imports ``ucurve.eval.scoring.text`` and what the ways to score share."""
