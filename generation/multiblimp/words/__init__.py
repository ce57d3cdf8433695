"""Words of treebanks and UniMorph: their features, and the lexicon of a language."""
