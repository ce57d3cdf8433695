"""A finished run as a Hugging Face repository: ``python -m launch.publish``. May import every package."""
