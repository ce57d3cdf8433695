"""What people say about minimal pairs: questionnaires, and the answers to them."""

import ucurve  # noqa: F401 - ``python -m`` comes here first, and ucurve checks which Python it is
