"""`octavo verify` on one base: load it in float32 on the CPU, compare, tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from octavo.corpus.encode import Encoder
from octavo.models.load import load_model, load_tokenizer
from octavo.models.resolve import resolve_base
from octavo.settings import Base
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
    found = verify(model, encoder, steps, lambda text: console.print(f"{base.name}: {text}"))
    return found, holds(found)
