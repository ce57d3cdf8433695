"""Targeted suites of Basque, Hindi and Swahili: a condition, and a target that agrees with the right word or not."""
