"""The score files and tables below ``eval/`` of a run folder, their checksums and their repair."""
