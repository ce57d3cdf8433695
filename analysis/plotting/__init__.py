"""How figures look. Imports no other folder of this package."""
