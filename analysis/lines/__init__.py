"""Lines of runs side by side, where they are equal in tokens, FLOPs or loss."""
