"""Russian pairs of 45 paradigms from treebanks and plain text, after RuBLiMP (Taktasheva et al. 2024)."""
