"""The ways to score a sentence, and what they share."""
