"""The source ``sweblimp``: Swedish pairs from patterns over lists of words."""
