"""The shape of learning curves (rising, U-shaped, falling, flat), onsets, and the order of acquisition."""
