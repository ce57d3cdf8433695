"""The benchmarks: a card each, loaders for the forms they are published in, and the user's own pairs."""

from eval.benchmarks import cards  # noqa: F401 - fills the registry
from eval.benchmarks.custom import CustomBenchmark, CustomColumns, load_custom
from eval.benchmarks.load import load_benchmark
from eval.benchmarks.registry import (
    REGISTRY,
    Benchmark,
    benchmark_names,
    expand_benchmarks,
    families,
    find_benchmark,
    register,
)
from eval.benchmarks.sources import json_lines

__all__ = [
    "REGISTRY",
    "Benchmark",
    "CustomBenchmark",
    "CustomColumns",
    "benchmark_names",
    "expand_benchmarks",
    "families",
    "find_benchmark",
    "json_lines",
    "load_benchmark",
    "load_custom",
    "register",
]
