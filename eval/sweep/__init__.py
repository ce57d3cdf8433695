"""Many checkpoints, benchmarks and scorers, each scored once. Imports every other folder of this package."""
