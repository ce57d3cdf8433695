"""Questions to chat models. Imports ``eval.scoring.text`` and what the ways to score share."""
