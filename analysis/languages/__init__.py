"""Benchmarks of many languages: accuracy by language, by group, and against the frequency of a language."""
