"""A finished run as a Hugging Face repository: ``ucurve publish``. May import every package."""
