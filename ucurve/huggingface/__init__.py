"""Models and tokenizers of others: checked for code that they would run, then loaded."""
