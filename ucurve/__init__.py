"""What notebooks and programs import: ``open`` run folders, ``score`` and ``compare`` models, ``train`` runs.

The modules of this package are what all other packages need: errors, files, counts, the command line and provenance.
"""

import warnings
from importlib import import_module

from ucurve.errors import UserError as UserError
from ucurve.errors import short_traceback
from ucurve.interpreter import check_interpreter

__version__ = "0.1.0"

check_interpreter()
warnings.filterwarnings("ignore", "IProgress not found")  # of tqdm, which transformers imports, in a notebook

# Found when they are first used, so that importing this package loads neither torch nor pandas. __init__.pyi tells them
# to type checkers.
_FUNCTIONS = {
    "open": "ucurve.analysis.api:open_study",
    "score": "ucurve.eval.api:score",
    "compare": "ucurve.eval.api:compare",
    "train": "ucurve.training.api:train",
}


def __getattr__(name: str) -> object:
    """Find a function of another package by its name here."""
    if name not in _FUNCTIONS:
        raise AttributeError(f"module 'ucurve' has no attribute {name!r}")
    module, _, function = _FUNCTIONS[name].partition(":")
    globals()[name] = found = short_traceback(getattr(import_module(module), function))
    return found


def __dir__() -> list[str]:
    return sorted({*_FUNCTIONS, "UserError", "__version__"})
