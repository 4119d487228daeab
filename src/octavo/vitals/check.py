"""The scan of saved weights: is everything finite, did each adapter move, and does it work on its base."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from octavo.errors import InputError
from octavo.vitals.adapters import WEIGHTS, read_adapter
from octavo.vitals.against_base import compare
from octavo.vitals.tensors import PICKLE_SUFFIXES


def check_adapter(path: Path | str, base: str | Literal["own"] | None = None) -> dict[str, Any]:
    """Examine saved weights: an adapter folder (ours or any PEFT), a model, a run, a study, or a safetensors file.

    Arguments:
        base: the model to reload adapters on: the embedded one, a folder, a .gguf file or a hub id. "own": the one
            that each adapter's config names, where it is on this machine. None: nothing is reloaded.

    Returns, ready for JSON, {path, adapters, tensors, nonfinite, moved, unmoved, missing, against_base, ok}:
        adapters: {name, path, tensors, elements, nan, inf, update_norm, unmoved, modules} of each file;
            modules are {name, rank, scale, update_norm, moved}. update_norm is scale * ||B A||_F; None without
            a config that gives the scale.
        tensors: {adapter, name, shape, dtype, nan, inf, norm, max_abs}; norm is Frobenius, in float64.
        nonfinite: NaN and Inf together.
        unmoved: modules whose B is all zero. moved: there is none; None where there is no LoRA.
        missing: runs of the study without an adapter or a model.
        against_base: {adapter: what `octavo.vitals.against_base.compare` found, with `base` and `reason`}.
        ok: all finite, nothing unmoved, nothing missing, LoRA weights where a config promises them, and none that
            does not load or whose model's logits are not finite.

    Raises InputError: nothing there, no weights, a pickle, a damaged file; a `base` that is given and not to be had.
    """
    path = Path(path)
    files, missing = find_weights(path)
    adapters = [read_adapter(name, file) for name, file in files.items()]
    several = len(adapters) > 1
    unmoved = [f"{one.name}: {name}" if several else name for one in adapters for name in one.unmoved]
    nonfinite = sum(one.nonfinite for one in adapters)
    has_lora = any(one.modules for one in adapters)
    # an adapter's config beside weights that hold no adapter: nothing was trained that could be loaded
    empty = [n for n, f in files.items() if (f.parent / "adapter_config.json").exists() and not has_lora]
    against = {} if base is None else compare(adapters, None if base == "own" else base)
    broken = [name for name, found in against.items() if found["reason"] is None and not found["good"]]
    return {
        "path": str(path),
        "adapters": [one.to_json() for one in adapters],
        "tensors": [{"adapter": one.name, **tensor.to_json()} for one in adapters for tensor in one.tensors],
        "nonfinite": nonfinite,
        "moved": not unmoved if has_lora else None,
        "unmoved": unmoved,
        "missing": missing,
        "against_base": against,
        "ok": nonfinite == 0 and not unmoved and not missing and not empty and not broken,
    }


def find_weights(path: Path) -> tuple[dict[str, Path], list[str]]:
    """({name: safetensors file}, runs that exported nothing) of a file, or below an adapter, model, run or study."""
    if not path.exists():
        raise InputError(
            f"{path}: there is nothing here; give an adapter, a run, a study or a safetensors file"
        )
    if path.is_file():
        return {path.name: path}, []
    if (path / WEIGHTS).is_file():
        return {path.name: path / WEIGHTS}, []
    if (path / "adapter" / WEIGHTS).is_file():
        return {path.name: path / "adapter" / WEIGHTS}, []
    if (path / "model" / "config.json").is_file():
        return _model_files(path.name, path / "model"), []
    if (path / "runs").is_dir():
        runs = sorted(run for run in (path / "runs").iterdir() if run.is_dir())
        found: dict[str, Path] = {}
        missing = []
        for run in runs:
            files = _of_run(run)
            found |= files
            missing += [] if files else [run.name]
        if found:
            return found, missing
        raise InputError(f"{path}: none of its {len(runs)} runs has an adapter or a model yet; train first")
    return {file.name: file for file in _loose(path)}, []


def _of_run(run: Path) -> dict[str, Path]:
    """What a run has exported: an adapter, or a model of one or more files; empty where it has nothing yet."""
    if (run / "adapter" / WEIGHTS).is_file():
        return {run.name: run / "adapter" / WEIGHTS}
    return _model_files(run.name, run / "model")


def _model_files(name: str, folder: Path) -> dict[str, Path]:
    files = sorted(folder.glob("*.safetensors"))
    return {name: files[0]} if len(files) == 1 else {f"{name}: {file.name}": file for file in files}


def _loose(path: Path) -> list[Path]:
    """The safetensors files of any other folder, as of a merged model."""
    files = sorted(path.glob("*.safetensors"))
    if files:
        return files
    pickles = sorted(file.name for file in path.iterdir() if file.suffix.lower() in PICKLE_SUFFIXES)
    if pickles:
        raise InputError(
            f"{path}: holds {', '.join(pickles[:3])}, which are pickles and can run code when opened; "
            "only safetensors are read"
        )
    raise InputError(f"{path}: no {WEIGHTS} and no runs here; give an adapter, run or study folder")
