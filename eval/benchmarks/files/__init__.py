"""Files of pairs: which ones patterns stand for, unpacking, and reading them into rows."""
