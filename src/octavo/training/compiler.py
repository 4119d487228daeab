"""torch's compiler in the process before anything is measured, so that a plan holds the study's own bytes alone."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable
from functools import cache

import torch

from octavo.lanes.kernels import kernels_for
from octavo.models.load import read_config
from octavo.models.quiet import quiet
from octavo.models.resolve import BaseSource


def settle_compiler(sources: Iterable[BaseSource], device: torch.device) -> None:
    """Load torch's compiler where a base of these will ask for it; a second call does nothing.

    On a CPU its modules count as resident memory: measured 115 MiB at the import and 36 MiB at the first kernel,
    whatever that is; each of the ten kernels of the lanes then adds 1 to 5 MiB, which the probe sees. What a GPU
    holds does not change by it.
    """
    if device.type == "cpu" and any(kernels_for(_width(source)).compiled for source in sources):
        _compile_one()


def _width(source: BaseSource) -> int:
    with quiet():
        return int(read_config(source).get_text_config().hidden_size)


@cache
def _compile_one() -> None:
    # where no kernel can be made the lanes find out, say so and go on without
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        torch.compile(_doubled, dynamic=True, fullgraph=True)(torch.ones(3, 5))


def _doubled(x: torch.Tensor) -> torch.Tensor:
    return x + x
