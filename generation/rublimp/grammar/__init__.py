"""What rules know of Russian: forms, agreement, nouns, verbs, and the lists of words."""
