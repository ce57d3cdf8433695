"""Makes minimal pairs: sources of candidates, checks with named reasons, a seeded sample, a writer."""
