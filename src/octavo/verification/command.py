"""`octavo verify` on one base: load it in float32 on the CPU, compare, tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from octavo.corpus.encode import Encoder
from octavo.models.load import load_model, load_tokenizer
from octavo.models.resolve import resolve_base
from octavo.objectives.objective import make_objective
from octavo.settings import Base, Train
from octavo.verification.verify import holds, verify


def verify_base(base: Base, directory: Path, steps: int, quiet: bool = False) -> tuple[dict[str, Any], bool]:
    """The figures of `verify` for a base of a study, and whether they are within the bounds.

    Arguments:
        directory: that the base's path starts from.
        quiet: say nothing on the way.
    """
    console = Console(stderr=True, quiet=quiet)
    source = resolve_base(base, directory)
    encoder = Encoder(load_tokenizer(source), None, base.eos, base.pad)
    model = load_model(source, torch.float32)
    objective = make_objective(base, source, Train())
    found = verify(
        model, encoder, steps, lambda text: console.print(f"{base.name}: {text}"), objective=objective
    )
    return {"objective": base.objective, **found}, holds(found)


def under(base: Base, objective: str | None) -> Base:
    """The base as it is, or made to learn another objective: causal, or masked diffusion with full attention."""
    if objective in (None, base.objective):
        return base
    keys = {"attention": "full"} if objective == "masked_diffusion" else {}
    own = {"objective", "attention", "block_size", "prediction", "mask_token"}
    return Base.model_validate(base.model_dump(exclude=own) | {"objective": objective, **keys})
