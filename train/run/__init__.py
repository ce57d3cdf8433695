"""One run, from settings to a finished folder. Imports every folder above except ``ucurve.training.grid``."""
