"""The signals, one file each. A file here that has `make(watched)` is a signal; nothing else has to know of it."""

from __future__ import annotations

import importlib
import pkgutil

from octavo.vitals.signal import Signal, Watched


def make_signals(watched: Watched) -> list[Signal]:
    """All signals of this folder, in the order of their files' names."""
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    return [importlib.import_module(f"{__name__}.{name}").make(watched) for name in names]
