"""Grids of runs: status, costs, and files that start them elsewhere."""
