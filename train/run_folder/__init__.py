"""What a training run leaves on disk and continues from. Imports ``train.engine`` and what comes before it."""
