"""One optimizer step, on one or several processes. Imports ``train.model`` and the settings."""
