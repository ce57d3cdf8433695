"""Ways to score a sentence, one file each, and what they share."""
