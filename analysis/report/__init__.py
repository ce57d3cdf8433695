"""Sections of texts, tables and figures, and the HTML page that they make (Jinja2 templates)."""
