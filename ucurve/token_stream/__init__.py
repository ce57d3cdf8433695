"""What a run is trained on: its token stream, and the order in which its batches take sequences from it."""
