"""Run folders and the user's files to frames. Imports no other folder of this package."""
