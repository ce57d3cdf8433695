"""Questions to chat models. Imports ``ucurve.eval.scoring.text`` and what the ways to score share."""
