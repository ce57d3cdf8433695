"""n-gram models beside a run: agreement at each checkpoint, and how much of a dip their errors account for."""
