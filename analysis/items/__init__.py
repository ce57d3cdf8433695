"""What becomes of each pair over training: learned, forgotten, relearned; and how far runs agree on pairs."""
