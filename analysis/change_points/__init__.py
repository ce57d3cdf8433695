"""Change points: where curves of accuracy and of loss change their slope, with intervals, and in which order."""
