"""GPT-NeoX: its shape, cost, initialization and loss. Imports no other folder of this package."""
