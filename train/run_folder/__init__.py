"""What a training run leaves on disk and continues from. Imports ``engine`` and what comes before it."""
