"""What the other packages stand on: errors, files, counts, the command line and provenance.

Nothing here imports ``train``, ``eval`` or ``analysis``.
"""

from ucurve.interpreter import check_interpreter

__version__ = "0.1.0"

check_interpreter()
