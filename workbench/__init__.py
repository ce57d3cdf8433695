"""The workbench: write templates, look into curves and judge pairs in a browser. It imports the other packages."""

import ucurve  # noqa: F401 - ``python -m`` comes here first, and ucurve checks which Python it is
