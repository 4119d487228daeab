"""The settings of torch's GPU allocator, as the environment gives them, and one pair that must not stand together."""

from __future__ import annotations

from collections.abc import Mapping

from octavo.errors import InputError

# the first is read by torch 2.9 and later for every device, the others are its older names
NAMES = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
EXPANDABLE, SPLIT = "expandable_segments", "max_split_size_mb"


def allocator_settings(environ: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """{variable: {setting: value}} of the variables that are set."""
    found = {}
    for name in NAMES:
        if environ.get(name, "").strip():
            pairs = (part.partition(":") for part in environ[name].split(","))
            found[name] = {key.strip(): value.strip() for key, _, value in pairs if key.strip()}
    return found


def check_allocator_settings(environ: Mapping[str, str]) -> None:
    """Refuse `expandable_segments` together with `max_split_size_mb`.

    With both, ROCm's allocator has been seen to hand out memory of live tensors: they read back zeros, and a training
    goes on with them.

    Raises:
        InputError: both are set, in one variable or in two.
    """
    settings = allocator_settings(environ)
    expandable = [name for name, found in settings.items() if found.get(EXPANDABLE, "").lower() == "true"]
    split = [name for name, found in settings.items() if SPLIT in found]
    if expandable and split:
        where = " and ".join(dict.fromkeys([*expandable, *split]))
        raise InputError(
            f"{where}: {EXPANDABLE} and {SPLIT} must not be set together (live tensors have been seen to read back "
            f"zeros); take {SPLIT} out, e.g.: export {expandable[0]}={EXPANDABLE}:True"
        )
