"""plan.json: the memory plans of a study's packs, predicted and later measured."""

from __future__ import annotations

import json
from typing import Any

from octavo.artifacts import Folder, write_json_atomic
from octavo.training.plan import Plan


def read_plans(folder: Folder) -> dict[str, Any]:
    """plan.json's packs by name of base; empty where there is none yet."""
    if not folder.plan.exists():
        return {}
    return dict(json.loads(folder.plan.read_text(encoding="utf-8"))["packs"])


def write_plan(folder: Folder, name: str, plan: Plan) -> None:
    """Put a pack's plan beside those of the others."""
    write_json_atomic(folder.plan, {"packs": read_plans(folder) | {name: plan.to_json()}})
