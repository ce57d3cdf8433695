"""Which models are scored, and what their folders say; loads no weights and imports no torch."""
