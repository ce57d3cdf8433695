"""Makes the architectures of this package known to transformers as soon as somebody imports its automatic classes.

``import ucurve`` shall not import transformers, which takes seconds.
"""

import importlib.util
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_AUTOMATIC_CLASSES = "transformers.models.auto.modeling_auto"


def register_when_imported() -> None:
    """Register the architectures now if transformers' automatic classes are imported, otherwise after they are."""
    if _AUTOMATIC_CLASSES in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _AutomaticClasses())


def register() -> None:
    """Make the architectures known to transformers; a second time does nothing."""
    import_module("ucurve.huggingface.lstm")


class _AutomaticClasses(MetaPathFinder):
    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _AUTOMATIC_CLASSES:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Registering(spec.loader)
        return spec


class _Registering(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        register()
