"""The suites, one file each: a module of this folder with `SUITES` (and `ALIASES`) is one, no other file names it."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from octavo.errors import InputError
from octavo.evaluation.suite import Suite
from octavo.explain import nearest

HELDOUT = "heldout"  # its items are the variants' own data: see octavo.evaluation.heldout


@cache
def all_suites() -> dict[str, tuple[Suite, ...]]:
    """{name that a study can write: what is measured under it}."""
    found: dict[str, tuple[Suite, ...]] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        suites: tuple[Suite, ...] = module.SUITES
        for name in (info.name, *getattr(module, "ALIASES", ())):
            found[name] = suites
    return found


def suites_named(name: str, where: str = "evaluate.suites") -> tuple[Suite, ...]:
    """What a name of a study's suites stands for.

    Raises:
        InputError: there is no suite of that name.
    """
    known = all_suites()
    if name not in known:
        names = [HELDOUT, *known]
        near = nearest(name, names)
        hint = f"; did you mean {near}?" if near else ""
        raise InputError(f"{where}: there is no suite '{name}'{hint}. There are {', '.join(sorted(names))}.")
    return known[name]
