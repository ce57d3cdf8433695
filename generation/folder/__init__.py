"""The source ``folder``: the pairs of a benchmark that is there already."""
