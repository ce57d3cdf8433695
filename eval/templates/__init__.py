"""Makes minimal pairs from templates, and holds the grammar of the embedded demo."""
