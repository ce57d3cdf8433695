"""What scoring leaves below ``eval/`` of a run folder: scores with keys and rows, pairs, tables made of the rows."""
