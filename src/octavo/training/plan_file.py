"""plan.json: the memory plans of a study's packs, predicted and later measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from octavo.artifacts import Folder, write_json_atomic
from octavo.training.plan import Plan


def read_plans(folder: Folder) -> dict[str, Any]:
    """plan.json's packs by name (of the base, or as in `replica_plan`); empty where there is none yet."""
    if not folder.plan.exists():
        return {}
    return dict(json.loads(folder.plan.read_text(encoding="utf-8"))["packs"])


def stored_plan(folder: Folder, name: str) -> Plan | None:
    """The pack's plan as an earlier call left it."""
    stored = read_plans(folder).get(name)
    return None if stored is None else Plan(**stored)


def plans_of(plans: Mapping[str, Any], base: str) -> list[Any]:
    """The packs of one base: the fused one, then those of its replicas."""
    return [plan for name, plan in plans.items() if name == base or name.startswith(f"{base}/")]


def least(plans: Sequence[Mapping[str, Any]], key: str) -> int | None:
    """The smallest number that the plans have under a key: all of them have found that much to fit; None without."""
    return min((int(plan[key]) for plan in plans if plan.get(key) is not None), default=None)


def write_plan(folder: Folder, name: str, plan: Plan) -> None:
    """Put a pack's plan beside those of the others."""
    write_json_atomic(folder.plan, {"packs": read_plans(folder) | {name: plan.to_json()}})
