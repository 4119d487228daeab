"""Facts about saved LoRA adapters: did each module move, and how large is the change of its weight."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.errors import InputError
from octavo.vitals.tensors import TensorFacts, examine, opened, plain

if TYPE_CHECKING:
    from torch import Tensor

WEIGHTS = "adapter_model.safetensors"
CONFIG = "adapter_config.json"
# model.layers.0.self_attn.q_proj.lora_A.weight; PEFT may put the adapter's name before `weight`, and leaves
# `weight` out for embeddings.
PAIR = re.compile(
    r"^(?P<module>.+)\.lora_(?P<embedding>embedding_)?(?P<side>[AB])(?:\.(?!bias$)(?P<rest>[^.]+))?(?:\.weight)?$"
)


@dataclass(frozen=True)
class Module:
    """A module's update: `update_norm` is scale * ||B A||_F; both are None where no config tells the scale.

    `moved` is whether B holds a finite number other than 0: B starts at 0, so a B of zeros was never trained.
    """

    name: str
    rank: int
    scale: float | None
    update_norm: float | None
    moved: bool


@dataclass(frozen=True)
class Adapter:
    """One safetensors file: all its tensors, and its modules if it holds LoRA pairs."""

    name: str
    path: Path
    tensors: list[TensorFacts]
    modules: list[Module]

    @property
    def nonfinite(self) -> int:
        """NaN and Inf in all tensors together."""
        return sum(tensor.nan + tensor.inf for tensor in self.tensors)

    @property
    def unmoved(self) -> list[str]:
        """Modules whose B is zero."""
        return [module.name for module in self.modules if not module.moved]

    def to_json(self) -> dict[str, Any]:
        """Totals of the file, and its modules."""
        updates = [module.update_norm for module in self.modules]
        known = [update for update in updates if update is not None]
        return {
            "name": self.name,
            "path": str(self.path),
            "tensors": len(self.tensors),
            "elements": sum(tensor.elements for tensor in self.tensors),
            "nan": sum(tensor.nan for tensor in self.tensors),
            "inf": sum(tensor.inf for tensor in self.tensors),
            # Modules are disjoint blocks of the model, so their squares add up.
            "update_norm": plain(math.hypot(*known)) if known and len(known) == len(updates) else None,
            "unmoved": self.unmoved,
            "modules": [
                {key: plain(value) for key, value in asdict(module).items()} for module in self.modules
            ],
        }


def read_adapter(name: str, path: Path) -> Adapter:
    """Examine every tensor of a safetensors file, one in memory at a time (two for a LoRA pair).

    Raises InputError for a file that cannot be read, or a LoRA pair with only one of its two matrices.
    """
    config = _config(path.parent / CONFIG) if path.name == WEIGHTS else None
    with opened(path) as file:
        names = list(file.keys())
        pairs = _pairs(names, path)
        facts = {name: examine(name, file.get_tensor(name)) for name in names}
        modules = [
            _module(module, file.get_tensor(a), file.get_tensor(b), facts[b].nonzero > 0, config)
            for module, (a, b) in pairs.items()
        ]
    return Adapter(name, path, [facts[name] for name in names], modules)


def _pairs(names: list[str], path: Path) -> dict[str, tuple[str, str]]:
    """{module: (name of A, name of B)}; an adapter's own name, if keys carry one, goes behind the module."""
    sides: dict[str, dict[str, str]] = {}
    for name in names:
        match = PAIR.match(name)
        if match:
            rest = match["rest"] if match["rest"] not in (None, "weight", "default") else ""
            sides.setdefault(match["module"] + (f" [{rest}]" if rest else ""), {})[match["side"]] = name
    for module, found in sides.items():
        if len(found) == 1:
            missing = "B" if "A" in found else "A"
            raise InputError(
                f"{path}: {module} has no lora_{missing}; the file is incomplete, export it again"
            )
    return {module: (found["A"], found["B"]) for module, found in sides.items()}


def _module(name: str, a: Tensor, b: Tensor, moved: bool, config: Mapping[str, Any] | None) -> Module:
    a, b = a.double(), b.double()
    if a.shape[0] != b.shape[1]:
        raise InputError(
            f"{name}: lora_A is {tuple(a.shape)} and lora_B {tuple(b.shape)}, their ranks differ"
        )
    rank = a.shape[0]
    a, b = a.reshape(rank, -1), b.transpose(0, 1).reshape(rank, -1)  # convolutions have more dimensions
    # ||BA||_F^2 = tr((B^T B)(A A^T)): r x r products, never the full weight.
    square = float(((b @ b.T) * (a @ a.T)).sum())
    scale = _scale(name, rank, config)
    norm = square if math.isnan(square) else math.sqrt(max(square, 0.0))
    return Module(name, rank, scale, None if scale is None else scale * norm, moved)


def _scale(module: str, rank: int, config: Mapping[str, Any] | None) -> float | None:
    """alpha / r, or alpha / sqrt(r) where rank-stabilised; `alpha_pattern` is matched as PEFT does."""
    if config is None or not isinstance(config.get("lora_alpha"), (int, float)):
        return None
    alpha = float(config["lora_alpha"])
    for pattern, value in (config.get("alpha_pattern") or {}).items():
        if re.match(rf"(?:.*\.)?(?:{pattern})$", module):
            alpha = float(value)
            break
    return alpha / math.sqrt(rank) if config.get("use_rslora") else alpha / rank


def _config(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON ({error}); export the adapter again") from error
    if not isinstance(config, dict):
        raise InputError(f"{path}: not an adapter config; export the adapter again")
    return config
