"""One optimizer step, on one or several processes. Imports ``ucurve.training.model`` and the settings."""
