# For mypy the functions have no types here: it would check the whole suite as one circle of imports. Editors see them.
from typing import Any

from ucurve.errors import UserError as UserError

__version__: str

MYPY = False
if MYPY:
    open: Any  # noqa: A001
    score: Any
    compare: Any
    train: Any
else:
    from ucurve.analysis.api import open_study as open  # noqa: A004, F401
    from ucurve.eval.api import compare as compare
    from ucurve.eval.api import score as score
    from ucurve.training.api import train as train
