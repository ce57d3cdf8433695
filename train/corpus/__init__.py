"""Where the text comes from, document by document. Imports no other folder of this package."""
