"""Finding study files: by path, in a study folder, or by the name of a ready study in the package."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from octavo.errors import InputError
from octavo.explain import nearest
from octavo.yaml_text import Path as KeyPath


def ready_studies() -> list[str]:
    """Names of the studies in the package."""
    folder = resources.files("octavo") / "studies"
    return sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml"))


def ready_text(name: str) -> str:
    """The text of a ready study."""
    return (resources.files("octavo") / "studies" / f"{name}.yaml").read_text(encoding="utf-8")


def find_study(path_or_name: str | os.PathLike[str]) -> tuple[str, str, Path]:
    """The text of a study, what to call it in messages, and the folder its relative paths start from.

    A path of a file, a study folder (its frozen `study.yaml`), or a ready study's name; the relative paths of
    a ready study start from the working folder.

    **Raises** `InputError` when there is no such study, or it cannot be read as UTF-8.
    """
    path = Path(path_or_name).expanduser()
    if path.is_dir() and (path / "study.yaml").is_file():
        path = path / "study.yaml"
    if path.is_file():
        return _read(path), str(path), path.absolute().parent
    name = os.fspath(path_or_name)
    if name in ready_studies():
        return ready_text(name), f"{name} (ready study)", Path.cwd()
    match = nearest(name, ready_studies())
    what = "is a folder without a study.yaml" if path.is_dir() else "is no file"
    hint = f"; did you mean {match}?" if match else f"; the ready ones: {', '.join(ready_studies())}."
    raise InputError(f"{name}: {what} and no ready study{hint} `octavo init` writes a file to start from")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from error
    except PermissionError as error:
        raise InputError(f"{path}: cannot be read; change its permissions") from error


def anchor_paths(data: Any, directory: Path, from_shell: set[KeyPath]) -> None:
    """Make the file paths in raw study data absolute, in place.

    A path in the file starts from the file's folder, one given with `--set` (`from_shell`: the keys set so)
    from the working folder. Names of embedded and hub models and of recipes stay as they are.
    """
    for path, holder, key in list(_texts(data, ())):
        anchor = _ANCHORS.get(".".join("*" if isinstance(part, int) else part for part in path))
        if anchor is not None:
            shell = any(path[: len(prefix)] == prefix for prefix in from_shell)
            holder[key] = anchor(holder[key], Path.cwd() if shell else directory)


def _texts(data: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any, Any]]:
    """Every text in nested lists and mappings: its path, what holds it, and its key there."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        if isinstance(value, str):
            yield (*path, key), data, key
        else:
            yield from _texts(value, (*path, key))


def _anchor_model(model: str, folder: Path) -> str:
    """An absolute path for what is or must be a file or folder; a hub id or embedded name stays."""
    path = _join(folder, model)
    written_as_path = model.startswith((".", "~", "/")) or model.endswith(".gguf")
    return path if written_as_path or Path(path, "config.json").is_file() else model


def _anchor_source(source: str, folder: Path) -> str:
    return source if source == "builtin" or source.startswith("hf:") else _join(folder, source)


def _anchor_recipe(recipe: str, folder: Path) -> str:
    return _join(folder, recipe) if recipe.endswith(".py") else recipe


def _join(folder: Path, path: str) -> str:
    return os.path.normpath(folder / Path(path).expanduser())


_ANCHORS: dict[str, Callable[[str, Path], str]] = {
    "bases.*.model": _anchor_model,
    "corpus.source": _anchor_source,
    "corpus.source.*.source": _anchor_source,
    "evaluate.suites.*.file": lambda file, folder: _join(folder, file),
    "variants.*.data": lambda data, folder: _join(folder, data),
    "variants.*.recipe": _anchor_recipe,
    "variants.*.recipe.*": _anchor_recipe,
}
