"""Benchmarks of many languages."""
