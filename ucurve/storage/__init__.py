"""Files on disk: written whole or not at all, sealed by a digest, locked, found in a run folder."""
