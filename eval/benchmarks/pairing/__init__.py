"""From rows of files to pairs, as a card says: which rows make a pair, and which columns it has."""
