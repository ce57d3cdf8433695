"""What all packages need: errors, files, counts, the command line and provenance."""

from ucurve.interpreter import check_interpreter

__version__ = "0.1.0"

check_interpreter()
