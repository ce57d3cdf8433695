"""Turns run folders into figures, tables and a report. Reads files only and needs neither a model nor an accelerator.

Imports ``ucurve``, ``eval``, ``train.factors`` and two modules of ``generation``. ``run`` is the command, ``api`` is
for notebooks, ``sections`` has the order of the report.
"""

import ucurve  # noqa: F401 - ``python -m`` comes here first, and ucurve checks which Python it is
