"""The shape of learning curves: rising, U-shaped, falling, flat; and their onsets."""
