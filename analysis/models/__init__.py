"""Models side by side: tests against chance and against each other, categories, sizes, prompts, several benchmarks."""
