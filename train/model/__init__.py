"""GPT-NeoX and models of transformers: shape, cost, weights and loss. Imports no other folder of this package."""
