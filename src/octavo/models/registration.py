"""Our model types in transformers' Auto classes, without importing transformers before somebody else does.

transformers and torch take seconds to import, and commands such as `octavo doctor` must be able to say that an import
fails. So the classes are registered at once where transformers is there already, and else right after the module that
holds the Auto classes has been imported.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_CONFIGS = "transformers.models.auto.configuration_auto"
_MODELS = "transformers.models.auto.modeling_auto"


def register_with_transformers() -> None:
    """Register configs and models now or as soon as transformers is imported; again changes nothing."""
    _once_imported(_CONFIGS, _register_configs)
    _once_imported(_MODELS, _register_models)


def _register_configs() -> None:
    from transformers import AutoConfig

    from octavo.models.dhara.config import CONFIGS

    for config in CONFIGS:
        AutoConfig.register(config.model_type, config, exist_ok=True)


def _register_models() -> None:
    from transformers import AutoModelForCausalLM

    from octavo.models.dhara.model import MODELS

    for model in MODELS:
        AutoModelForCausalLM.register(model.config_class, model, exist_ok=True)


def _once_imported(name: str, action: Callable[[], None]) -> None:
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        action()
    elif not any(isinstance(finder, _After) and finder.name == name for finder in sys.meta_path):
        sys.meta_path.insert(0, _After(name, action))


class _After(MetaPathFinder):
    """Finds one module as the other finders do, and has `action` run after it."""

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self.name, self.action, self._searching = name, action, False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the awaited module with its loader extended; None for every other."""
        del path, target
        if fullname != self.name or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching = False
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_act(module: ModuleType) -> None:
            execute(module)
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
            self.action()

        spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec
