"""What the other packages stand on: errors, files, counts, the command line and provenance.

Nothing here imports ``train``, ``eval`` or ``analysis``.
"""

__version__ = "0.1.0"
