"""Grids of runs: status, costs, and files that start them elsewhere."""

import ucurve  # noqa: F401 - ``python -m`` comes here first, and ucurve checks which Python it is
