"""The room in which templates, words and phrases are written and tried."""
