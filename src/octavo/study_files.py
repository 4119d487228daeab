"""Finding study files: by path, in a study folder, or by the name of a ready study in the package."""

from __future__ import annotations

import os
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
    from the working folder. Names of embedded and hub models stay as they are.
    """
    if not isinstance(data, dict):
        return
    for path, holder, key in _path_places(data):
        shell = any(path[: len(prefix)] == prefix for prefix in from_shell)
        folder = Path.cwd() if shell else directory
        value = holder[key]
        if key == "model":
            holder[key] = _anchor_model(value, folder)
        elif value != "builtin" and not value.startswith("hf:"):
            holder[key] = str(_join(folder, value))


def _path_places(data: dict[str, Any]) -> list[tuple[KeyPath, Any, Any]]:
    """Where a study names files: (path, holder, key) of every text there."""
    places: list[tuple[KeyPath, Any, Any]] = []
    for section, key in (("bases", "model"), ("variants", "data")):
        items = data.get(section)
        for index, item in enumerate(items if isinstance(items, list) else []):
            places.append(((section, index, key), item, key))
    corpus = data.get("corpus")
    places.append((("corpus", "source"), corpus, "source"))
    sources = corpus.get("source") if isinstance(corpus, dict) else None
    for index, item in enumerate(sources if isinstance(sources, list) else []):
        places.append((("corpus", "source", index, "source"), item, "source"))
    return [
        place for place in places if isinstance(place[1], dict) and isinstance(place[1].get(place[2]), str)
    ]


def _anchor_model(model: str, folder: Path) -> str:
    """An absolute path for what is or must be a file or folder; a hub id or embedded name stays."""
    path = _join(folder, model)
    written_as_path = model.startswith((".", "~", "/")) or model.endswith(".gguf")
    return str(path) if written_as_path or (path / "config.json").is_file() else model


def _join(folder: Path, path: str) -> Path:
    return Path(os.path.normpath(folder / Path(path).expanduser()))
