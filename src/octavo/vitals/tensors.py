"""Facts about saved tensors, read one at a time from safetensors files; no other format is opened."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.errors import InputError

if TYPE_CHECKING:
    import torch

CHUNK = 1 << 22  # elements turned into float64 at a time: 32 MiB, whatever the tensor's size
PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")


@dataclass(frozen=True)
class TensorFacts:
    """One tensor: its counts of NaN and Inf, and `nonzero`, the count of finite elements other than 0.

    `norm` (Frobenius) and `max_abs` are over all elements, so they are NaN or infinite where an element is;
    `max_abs` of an empty tensor is None.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    nan: int
    inf: int
    nonzero: int
    norm: float
    max_abs: float | None

    @property
    def elements(self) -> int:
        """How many numbers the tensor holds."""
        return math.prod(self.shape)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object: non-finite figures become "nan" and "inf"."""
        return {key: plain(value) for key, value in asdict(self).items() if key != "nonzero"} | {
            "shape": list(self.shape)
        }


def plain(value: Any) -> Any:
    """A float that JSON can hold: non-finite ones by name."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def examine(name: str, tensor: torch.Tensor) -> TensorFacts:
    """Count and measure a tensor of any shape and dtype, in float64."""
    import torch

    flat = tensor.reshape(-1)
    nan = inf = nonzero = 0
    square, largest = 0.0, None if flat.numel() == 0 else 0.0
    for start in range(0, flat.numel(), CHUNK):
        part = flat[start : start + CHUNK]
        # float8 types know no arithmetic; by way of float32 nothing is lost.
        part = (
            part.abs().double()
            if part.is_complex()
            else part.float().double()
            if _tiny(part)
            else part.double()
        )
        nan += int(part.isnan().sum())
        inf += int(part.isinf().sum())
        nonzero += int((part.isfinite() & (part != 0)).sum())
        peak = float(part.abs().max())
        largest = peak if largest is None or math.isnan(peak) or peak > largest else largest
        # Scaled, so that the squares of large float64 values do not overflow.
        scale = peak if math.isfinite(peak) and peak > 0 else 1.0
        square = math.hypot(square, scale * float(torch.linalg.vector_norm(part / scale)))
    if nan:
        square = largest = math.nan
    dtype = str(tensor.dtype).removeprefix("torch.")
    return TensorFacts(name, tuple(tensor.shape), dtype, nan, inf, nonzero, square, largest)


def _tiny(part: torch.Tensor) -> bool:
    return part.is_floating_point() and part.element_size() == 1


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A safetensors file opened for reading (`keys()`, `get_tensor(name)`, on the CPU).

    Raises InputError for a pickle, a file that is missing, unreadable, cut short or otherwise no safetensors.
    """
    from safetensors import SafetensorError, safe_open

    _refuse_pickle(path)
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise InputError(
            f"{path}: not a whole safetensors file ({error}), perhaps cut short; copy or export it again"
        ) from error


def _refuse_pickle(path: Path) -> None:
    try:
        with path.open("rb") as file:
            start = file.read(9)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); give a path to saved weights"
        ) from error
    # A pickle begins with 0x80, a torch archive is a zip file; both can run code when opened. A safetensors
    # file may begin with the same bytes (its header's length), but has a brace in the ninth place.
    known = start[:1] == b"\x80" or start[:2] == b"PK"
    if path.suffix.lower() in PICKLE_SUFFIXES or (known and start[8:] != b"{"):
        raise InputError(
            f"{path}: is a pickle, which can run code when opened; only safetensors are read. "
            "Save the weights as safetensors where you trust the file."
        )
