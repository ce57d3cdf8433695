"""From a corpus to tokens, a model and its checkpoints."""

import ucurve  # noqa: F401 - ``python -m`` comes here first, and ucurve checks which Python it is
