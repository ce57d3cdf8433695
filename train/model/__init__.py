"""GPT-NeoX and models of transformers: shape, cost, initialization and loss. Imports no other folder of this package."""
