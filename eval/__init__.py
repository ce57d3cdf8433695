"""Minimal pairs in, scores and accuracies out."""

import ucurve  # noqa: F401 - ``python -m`` comes here first, and ucurve checks which Python it is
