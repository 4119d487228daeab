"""The scan of saved weights: is everything finite, and did each adapter move."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.errors import InputError
from octavo.vitals.adapters import WEIGHTS, read_adapter
from octavo.vitals.tensors import PICKLE_SUFFIXES

if TYPE_CHECKING:
    from rich.console import Console


def check_adapter(path: Path | str) -> dict[str, Any]:
    """Examine saved weights: an adapter folder (ours or any PEFT), a model, a run, a study, or a safetensors file.

    Returns, ready for JSON, {path, adapters, tensors, nonfinite, moved, unmoved, missing, ok}:
        adapters: {name, path, tensors, elements, nan, inf, update_norm, unmoved, modules} of each file;
            modules are {name, rank, scale, update_norm, moved}. update_norm is scale * ||B A||_F; None without
            a config that gives the scale.
        tensors: {adapter, name, shape, dtype, nan, inf, norm, max_abs}; norm is Frobenius, in float64.
        nonfinite: NaN and Inf together.
        unmoved: modules whose B is all zero. moved: there is none; None where there is no LoRA.
        missing: runs of the study without an adapter or a model.
        ok: all finite, nothing unmoved, nothing missing, and LoRA weights where a config promises them.

    Raises InputError: nothing there, no weights, a pickle, a damaged file.
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
    return {
        "path": str(path),
        "adapters": [one.to_json() for one in adapters],
        "tensors": [{"adapter": one.name, **tensor.to_json()} for one in adapters for tensor in one.tensors],
        "nonfinite": nonfinite,
        "moved": not unmoved if has_lora else None,
        "unmoved": unmoved,
        "missing": missing,
        "ok": nonfinite == 0 and not unmoved and not missing and not empty,
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


def check_table(report: Mapping[str, Any], console: Console) -> None:
    """Print what `check_adapter` found: a line an adapter, each tensor of a single one, what is wrong."""
    from rich.table import Table

    many = len(report["adapters"]) > 1
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("adapter" if many else "file", overflow="fold")
    for name in ("tensors", "numbers", "NaN", "Inf", "update norm", "unmoved"):
        table.add_column(name, justify="right")
    for one in report["adapters"]:
        bad = "red" if one["nan"] or one["inf"] or one["unmoved"] else ""
        cells = [_count(one[key]) for key in ("tensors", "elements", "nan", "inf")]
        modules = len(one["modules"])
        moved = f"{len(one['unmoved'])} of {modules}" if modules else "–"
        table.add_row(one["name"], *cells, _figure(one["update_norm"]), moved, style=bad)
    console.print(table)
    shown = [tensor for tensor in report["tensors"] if not many or tensor["nan"] or tensor["inf"]]
    if shown:
        console.print()
        console.print(_tensor_table(shown, many))
    for line in _complaints(report):
        console.print(line, style="red", markup=False, highlight=False, soft_wrap=True)
    console.print("ok" if report["ok"] else "not ok", style="green" if report["ok"] else "bold red")


def _tensor_table(tensors: list[dict[str, Any]], many: bool) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("tensor", overflow="fold")
    for name in ("shape", "type", "NaN", "Inf", "norm", "max abs"):
        table.add_column(name, justify="right")
    for tensor in tensors:
        table.add_row(
            f"{tensor['adapter']}: {tensor['name']}" if many else tensor["name"],
            "×".join(map(str, tensor["shape"])) or "scalar",
            tensor["dtype"],
            _count(tensor["nan"]),
            _count(tensor["inf"]),
            _figure(tensor["norm"]),
            _figure(tensor["max_abs"]),
            style="red" if tensor["nan"] or tensor["inf"] else "",
        )
    return table


def _complaints(report: Mapping[str, Any], most: int = 20) -> list[str]:
    lines = [f"{report['nonfinite']:,} numbers are not finite"] if report["nonfinite"] else []
    for what, names in (
        ("never moved (B is zero)", report["unmoved"]),
        ("has no adapter and no model", report["missing"]),
    ):
        lines += [f"{name} {what}" for name in names[:most]]
        lines += [f"and {len(names) - most} more"] if len(names) > most else []
    return lines


def _count(number: int) -> str:
    return f"{number:,}"


def _figure(value: float | str | None) -> str:
    return "–" if value is None else value if isinstance(value, str) else f"{value:.4g}"
