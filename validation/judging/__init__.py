"""What answers say about people, items and paradigms."""
