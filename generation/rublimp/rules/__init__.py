"""The rules of the 45 paradigms, by what they change."""
