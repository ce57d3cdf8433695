"""The shape of learning: rising, U-shaped, falling or flat; onsets; the order of acquisition."""
