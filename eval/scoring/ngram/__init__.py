"""N-gram models of the tokens that a run had seen: counted once in training order, scored like models."""
