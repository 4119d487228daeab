"""Saved adapters against the base that they were trained on: which base that is, and what each comes to on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.errors import InputError
from octavo.vitals.adapters import CONFIG, WEIGHTS, Adapter

if TYPE_CHECKING:
    from octavo.vitals.reload import LoadedBase


def compare(adapters: Sequence[Adapter], given: str | None) -> dict[str, dict[str, Any]]:
    """Reload adapters with plain `peft`; those of one base share it.

    Arguments:
        given: the base of all of them; None: the one that each config names, if it is embedded or a folder here.

    Returns:
        {adapter: {base, reason, good, ...}}, ready for JSON: what `octavo.vitals.reload.reload` found. `reason` says
        why an adapter could not be compared; nothing is wrong with it then. good: it loads, and the model's logits
        are finite; None where it was not compared.

    Raises:
        InputError: the given base is not to be had.
    """
    found: dict[str, dict[str, Any]] = {}
    loaded: dict[str, LoadedBase | str] = {}
    for one in adapters:
        if one.path.name != WEIGHTS or not (one.path.parent / CONFIG).is_file():
            continue
        base = given or _named(one.path.parent / CONFIG)
        if base is None:
            found[one.name] = _not_compared(None, "its config names no base; give one with --base")
            continue
        if base not in loaded:
            loaded.clear()  # one base in memory at a time
            loaded[base] = _load(base, given is not None)
        found[one.name] = _on(loaded[base], one, base)
    return found


def _on(base: LoadedBase | str, adapter: Adapter, name: str) -> dict[str, Any]:
    from octavo.artifacts import json_safe
    from octavo.vitals.reload import reload

    if isinstance(base, str):
        return _not_compared(name, base)
    figures = reload(base, adapter.path.parent, adapter.nonfinite == 0)
    error = figures.pop("reason")
    good = figures["loaded"] and figures["answer"] is not None
    return json_safe({"base": name, "reason": None, "good": good, "error": error, **figures})


def _not_compared(base: str | None, reason: str) -> dict[str, Any]:
    return {"base": base, "reason": reason, "good": None}


def _named(config: Path) -> str | None:
    """The base that an adapter's config names."""
    name = json.loads(config.read_text(encoding="utf-8")).get("base_model_name_or_path")
    return name if isinstance(name, str) and name else None


def _load(name: str, asked_for: bool) -> LoadedBase | str:
    """The base, or why there is none: nothing is downloaded that the user has not asked for."""
    import torch

    from octavo.models.embedded import EMBEDDED
    from octavo.models.resolve import resolve_base
    from octavo.settings import Base
    from octavo.vitals.reload import load_base

    if not asked_for and name not in EMBEDDED and not Path(name).expanduser().exists():
        return f"its base {name} is not on this machine; to take it from elsewhere give it with --base"
    try:
        source = resolve_base(Base.model_validate({"model": name}), Path.cwd())
        return load_base(source, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    except InputError as error:
        if asked_for:
            raise
        return str(error)
